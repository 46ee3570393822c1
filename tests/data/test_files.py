import struct
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ifmixup.data
from ifmixup.data.files import read_files
from ifmixup.data.tu import parse
from ifmixup.errors import DatasetError


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
    monkeypatch.setattr("ifmixup.data.files.MAX_BYTES", size)
    read_files(path, "TINY")
    read_files(folder, "TINY")
    monkeypatch.setattr("ifmixup.data.files.MAX_BYTES", size - 1)
    for source in (path, folder):
        with pytest.raises(DatasetError, match=f"{size} bytes of text, more than the {size - 1}"):
            read_files(source, "TINY")


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
    monkeypatch.setattr("ifmixup.data.files._check_total", lambda *_: write_folder(folder, big))
    big = {"A": tiny["A"] * 2}
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
    for place, value in changes:
        # Half of the time the damage goes to the table of contents at the end.
        content[-1 - place % 700 if in_directory else place] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "MUTAG.zip"
        path.write_bytes(content[:end])
        message, nodes = str(path), 3371
        try:
            nodes = parse(read_files(path, "MUTAG"), str(path), "MUTAG").data.num_nodes
        except DatasetError as error:
            message = str(error)
        assert str(path) in message
        assert nodes == 3371
