import resource
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ifmixup.data
from ifmixup.data.raw import LoadOptions
from ifmixup.data.text_files import TextFile, floats, integers, read_files, require
from ifmixup.data.tu import read_tu
from ifmixup.errors import DatasetError, InputError


def contents(files):
    return {part: file.content.decode() for part, file in files.items()}


def test_a_zip_and_a_folder_give_the_same(tmp_path, tiny, write_folder, write_zip):
    zipped = read_files(write_zip(tmp_path / "TINY.zip", tiny), "TINY")
    unpacked = read_files(write_folder(tmp_path / "folder", tiny), "TINY")
    assert contents(zipped) == contents(unpacked) == tiny
    assert zipped["A"].where == f"{tmp_path / 'TINY.zip'}: TINY/TINY_A.txt"
    assert unpacked["A"].where == str(tmp_path / "folder" / "TINY_A.txt")


def test_members_at_the_top_of_the_zip_and_others_ignored(tmp_path):
    path = tmp_path / "TINY.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("TINY_A.txt", "1, 2\n")
        archive.writestr("TINY/README.txt", "read me")
        archive.writestr("__MACOSX/TINY/._TINY_A.txt", "\0")
        archive.writestr("OTHER/TINY_graph_labels.txt", "1\n")
        archive.writestr("TINY/TINY_secret.txt", "1\n")
    assert contents(read_files(path, "TINY")) == {"A": "1, 2\n"}


def test_attributes_are_read_only_where_there_are_no_labels(tmp_path, write_zip):
    both = write_zip(tmp_path / "both.zip", {"node_labels": "1\n", "node_attributes": "0.5\n"})
    alone = write_zip(tmp_path / "alone.zip", {"node_attributes": "0.5\n"})
    assert contents(read_files(both, "TINY")) == {"node_labels": "1\n"}
    assert contents(read_files(alone, "TINY")) == {"node_attributes": "0.5\n"}


@pytest.mark.parametrize(
    "member", ["../TINY_A.txt", "TINY/../../x.txt", "/etc/passwd", "C:\\x", "a\\..\\x", "\\\\h\\x"]
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, tiny, write_zip, member):
    path = write_zip(tmp_path / "in" / "TINY.zip", tiny)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(member, "x")
    with pytest.raises(DatasetError, match="points outside") as error:
        read_files(path, "TINY")
    assert str(path) in str(error.value)
    assert [file.name for file in tmp_path.rglob("*")] == ["in", "TINY.zip"]


def test_a_bomb_is_refused_before_it_is_read(tmp_path, monkeypatch, tiny, write_folder, write_zip):
    size = sum(map(len, tiny.values()))
    path, folder = write_zip(tmp_path / "TINY.zip", tiny), write_folder(tmp_path / "folder", tiny)
    monkeypatch.setattr("ifmixup.data.text_files.BYTES_PER_LINE", 1)
    monkeypatch.setattr("ifmixup.data.text_files.MAX_BYTES", size)
    read_files(path, "TINY")
    read_files(folder, "TINY")
    monkeypatch.setattr("ifmixup.data.text_files.MAX_BYTES", size - 1)
    for source in (path, folder):
        with pytest.raises(
            DatasetError, match=f"{size} bytes, more than the {size - 1} allowed. .*IFMIXUP_MAX_BY"
        ):
            read_files(source, "TINY")
    monkeypatch.setenv("IFMIXUP_MAX_BYTES", str(size))
    read_files(path, "TINY")
    monkeypatch.setenv("IFMIXUP_MAX_BYTES", "much")
    with pytest.raises(InputError, match=r"must be a number of bytes, such as .*; got 'much'"):
        read_files(path, "TINY")


def test_short_lines_count_as_what_they_take_in_memory(tmp_path, monkeypatch, tiny, write_zip):
    lines = sum(text.count("\n") for text in tiny.values())
    path = write_zip(tmp_path / "TINY.zip", tiny)
    monkeypatch.setattr("ifmixup.data.text_files.MAX_BYTES", 16 * lines)
    read_files(path, "TINY")
    monkeypatch.setattr("ifmixup.data.text_files.MAX_BYTES", 16 * lines - 1)
    with pytest.raises(DatasetError, match="with 16 for each short line, holds"):
        read_files(path, "TINY")


def test_a_small_zip_of_many_nodes_takes_little_memory(tmp_path):
    """400 MB of node lines in 1 MB: it was 18 GB of memory."""
    with zipfile.ZipFile(tmp_path / "BOMB.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for part in ("graph_indicator", "node_labels"):
            with archive.open(f"BOMB_{part}.txt", "w") as member:
                for _ in range(200):
                    member.write(b"1\n" * 2**19)
        archive.writestr("BOMB_A.txt", "1, 2\n")
    assert (tmp_path / "BOMB.zip").stat().st_size < 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DatasetError, match=r"holds 419430405 bytes, .* --max-bytes or"):
        read_files(tmp_path / "BOMB.zip", "BOMB")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_a_member_that_lies_about_its_size(tmp_path, write_zip):
    path = write_zip(tmp_path / "TINY.zip", {"A": "1, 2\n" * 1000})
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    assert struct.unpack_from("<I", content, directory + 24) == (5000,)
    struct.pack_into("<I", content, directory + 24, 5)
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"TINY\.zip is not a zip that can be read"):
        read_files(path, "TINY")


def test_a_file_that_grows_while_it_is_read(tmp_path, monkeypatch, tiny, write_folder):
    folder = write_folder(tmp_path, tiny)
    opened = Path.open

    def grown(path, mode):
        with opened(path, "ab") as stream:
            stream.write(b"1, 2\n")
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", grown)
    with pytest.raises(DatasetError, match=r"TINY_A\.txt does not have the 58 bytes"):
        read_files(folder, "TINY")


def test_a_truncated_zip(tmp_path, tiny, write_zip):
    path = write_zip(tmp_path / "TINY.zip", tiny)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetError, match=r"TINY\.zip is not a zip that can be read"):
        read_files(path, "TINY")


def test_a_wrong_checksum(tmp_path):
    path = tmp_path / "TINY.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("TINY/TINY_A.txt", "1, 2\n")
    path.write_bytes(path.read_bytes().replace(b"1, 2", b"2, 1"))
    with pytest.raises(DatasetError, match="Bad CRC-32"):
        read_files(path, "TINY")


def test_an_encrypted_zip(tmp_path, tiny, write_zip):
    path = write_zip(tmp_path / "TINY.zip", tiny)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"'TINY/TINY_A\.txt' is encrypted"):
        read_files(path, "TINY")


def test_the_same_file_twice(tmp_path, tiny, write_zip):
    path = write_zip(tmp_path / "TINY.zip", tiny)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("TINY_A.txt", "1, 2\n")
    with pytest.raises(DatasetError, match=r"holds TINY_A\.txt twice"):
        read_files(path, "TINY")


def test_a_zip_that_is_gone(tmp_path):
    with pytest.raises(DatasetError, match=r"TINY\.zip is not a zip that can be read"):
        read_files(tmp_path / "TINY.zip", "TINY")


WHOLE = Path(ifmixup.data.__file__).with_name("MUTAG.zip").read_bytes()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1),
    st.one_of(st.just(len(WHOLE)), st.integers(0, len(WHOLE))),
    st.booleans(),
)
def test_damage_of_any_kind_is_our_error_or_does_not_matter(changes, end, in_directory):
    content = bytearray(WHOLE)
    for index, value in changes:
        # Half of the time the damage goes to the table of contents at the end.
        content[-1 - index % 700 if in_directory else index] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "MUTAG.zip"
        path.write_bytes(content[:end])
        message, nodes = str(path), 3371
        try:
            nodes = read_tu(path, "MUTAG", LoadOptions())._data.num_nodes
        except DatasetError as error:
            message = str(error)
        assert str(path) in message
        assert nodes == 3371


def file(text: str | bytes) -> TextFile:
    return TextFile("X.zip: X_A.txt", text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "1, 2\n3, 4\n",
        "1,2\n3,4",
        "1,2\r\n3, 4\r\n",
        "1, 2\n3, 4\n\n \r\n\t\n",
        "\n1, 2\n\n3, 4\n",
        "\r\n 1 ,\t2\r\n\r\n3 , 4 ",
        "1.0, 2e0\n+3, 4.",
        "1, 2\r3, 4\r",
    ],
)
def test_integers_however_they_are_written(text):
    values = integers(file(text), columns=2)
    assert values.dtype == np.int64
    assert values.tolist() == [[1, 2], [3, 4]]


def test_floats_and_any_number_of_columns():
    assert floats(file("0.5, -1e-3, .25\n1, 2, 3\n")).tolist() == [[0.5, -0.001, 0.25], [1, 2, 3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1, 2\nx, 4\n", r"line 2: 'x' is not a number"),
        ("1, 2\n\n\n3, 4_0\n", r"line 4: '4_0' is not a number"),
        ("1, 2\n3, 0x1\n", r"line 2: '0x1' is not a number"),
        ("1, 2\n3, \n", r"line 2: '' is not a number"),
        ("1, 2\n  \n3, 4\n", r"line 2: expected 2 columns, found 1: ''"),
        ("1, 2\r3, 4\r5\r", r"line 3: expected 2 columns, found 1: '5'"),
        ("1, 2\n3\n", r"line 2: expected 2 columns, found 1: '3'"),
        ("1, 2\n3, 4, 5\n", r"line 2: expected 2 columns, found 3: '3, 4, 5'"),
        ("\n1\n2\n", r"line 2: expected 2 columns, found 1: '1'"),
        ("1, 2\n3, nan\n", r"line 2: \[3\.0, nan\] is not finite"),
        ("1, inf\n", r"line 1: \[1\.0, inf\] is not finite"),
        ("1, 2\n1e999, 2\n", r"line 2: \[inf, 2\.0\] is not finite"),
        (
            "1, 2\r\n\r\n3, 4.5\r\n",
            r"line 3: expected integers up to 2\^53, not \[3\.0, 4\.5\]",
        ),
        ("1, 9223372036854775808\n", r"line 1: expected integers up to 2\^53"),
        (b"1, 2\n3, \xff\n", r"line 2: '�' is not a number"),
        (b"1, 2\n3, 4\0\n", r"line 2: '4\\x00' is not a number"),
        ("1, 2\n" + "y" * 100, r"line 2: expected 2 columns, found 1: 'y{27}\.\.\.y{28}'"),
        ("", r"is empty"),
        ("\n \r\n", r"is empty"),
    ],
)
def test_what_is_broken_is_named_with_its_line(text, message):
    with pytest.raises(DatasetError, match=r"^X\.zip: X_A\.txt(, | )" + message):
        integers(file(text), columns=2)


def test_one_column_is_not_columns():
    with pytest.raises(DatasetError, match="expected 1 column, found 2"):
        integers(file("1, 2\n"), columns=1)


def test_whole_numbers_are_exact_to_the_last():
    assert integers(file(f"{2**53}\n{-(2**53) + 1}")).tolist() == [[2**53], [-(2**53) + 1]]


def test_require_counts_lines_not_rows():
    good = np.array([[True, True], [True, False], [False, True]])
    require(file("1\n"), good[:1], str)
    with pytest.raises(DatasetError, match="line 5: row 1"):
        require(file("\n1\n\r\n\n2\n3\n"), good, lambda row: f"row {row}")


@given(st.text(alphabet="01,.-e+ \r\n\tnaix_", max_size=30))
def test_any_text_is_numbers_or_an_error_with_a_line(text):
    try:
        values = floats(file(text)).tolist()
    except DatasetError as error:
        message = str(error)
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        assert values == [[float(field) for field in line.split(",")] for line in lines]
        return
    assert ", line " in message or message.endswith("is empty.")
