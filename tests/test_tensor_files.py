"""Files of torch.save that ask for more than they hold."""

import io
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
import zlib
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ifmixup.errors import DatasetError
from ifmixup.tensor_files import MAX_DEPTH, load_tensors

LARGE = b"\x8a\x05" + (3 * 10**9).to_bytes(5, "little")  # 3 GB, as an opcode
FLOATS = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"

HOSTILE = {
    "bytearray": b"cbuiltins\nbytearray\n" + LARGE + b"\x85R",
    "bytearray of Python 2": b"c__builtin__\nbytearray\n" + LARGE + b"\x85R",
    "UntypedStorage": b"ctorch.storage\nUntypedStorage\n" + LARGE + b"\x85R",
    "UntypedStorage, new": b"ctorch.storage\nUntypedStorage\n" + LARGE + b"\x85\x81",
    "FloatStorage": b"ctorch\nFloatStorage\n" + LARGE + b"\x85R",
    "Tensor": b"ctorch\nTensor\n" + LARGE + b"\x85R",
    "a storage larger than the file": FLOATS + LARGE + b"tQ",
    "a tensor larger than its storage": (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + FLOATS + b"K\x01tQK\x00" + LARGE + b"\x85"
        b"K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
    ),
    "bytes of protocol 5": b"\x96" + (3 * 10**9).to_bytes(8, "little"),
    "a memo of 4 billion": b"]r\xff\xff\xff\xff" + b"cos\nsystem\n",
    "nested lists": b"]" * 200_000 + b"a" * 199_999,
    "nested tuples": b")" + b"\x85" * 200_000,
    "a nested key": b"})" + b"\x85" * 200_000 + b"K\x01s",
    "nested dictionaries": b"}" + b"(K\x01}" * 200_000 + b"u" * 200_000,
    "lists that remember each other": b"]q\x00" + b"]h\x00aq\x00" * 200_000,
}


def write(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("graphs/data.pkl", b"\x80\x02" + content + b".")
        archive.writestr("graphs/version", "3\n")
        archive.writestr("graphs/data/0", b"\0" * 4)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return {name: write(folder / f"{name}.pt", each) for name, each in HOSTILE.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused(hostile, name):
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm").read_text().split()[0]
    used = int(pages) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, limits[1]))
    try:
        with pytest.raises(Exception) as error:  # noqa: PT011
            load_tensors(hostile[name])
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert not isinstance(error.value, MemoryError | RecursionError)


def test_what_is_said(hostile):
    for name, message in {
        "bytearray": "it asks for builtins.bytearray",
        "nested lists": f"nested more than {MAX_DEPTH} deep",
        "bytes of protocol 5": "opcode b'.x96' that torch.save does not write",
    }.items():
        with pytest.raises(UnpicklingError, match=message):
            load_tensors(hostile[name])


@pytest.mark.parametrize("kind", ["data", "model"])
def test_the_commands_say_it_in_one_line(hostile, kind):
    """One process for all files: it ends with 2, says one line for each, and takes no 3 GB."""
    command = ["datasets", "{}"] if kind == "data" else ["predict", "{}", "--describe"]
    code = (
        "import resource, sys; from ifmixup.cli import main; import torch_geometric\n"
        "import ifmixup.prediction.card, ifmixup.data\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"codes = [main([word.format(path) for word in {command}]) for path in sys.argv[1:]]\n"
        "print(codes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, *map(str, hostile.values())], capture_output=True, text=True
    )
    codes, _, kilobytes = found.stdout.rpartition(" ")
    assert codes == str([2] * len(HOSTILE)), found.stderr
    assert int(kilobytes) < 100_000
    lines = found.stderr.splitlines()
    assert len(lines) == len(HOSTILE)
    assert all(line.startswith("ifmixup: ") and len(line) < 700 for line in lines)


WHOLE = torch.arange(6.0).view(2, 3)
DTYPES = [
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "complex128",
]
VALUES = [
    torch.arange(6).view(2, 3).t(),
    torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)),
    OrderedDict(a=torch.ones(1, dtype=torch.complex64), b=torch.tensor(True)),
    {"text": "ü" * 300, 5: (1, 2.5, None, True, False, 10**30, -(2**40)), "set": {1, 2}},
    [(), [], {}, ("a",), ("a", 1), (1, 2, 3), (1, 2, 3, 4), torch.Size([1, 2])],
    [torch.ones(1)] * 2000,
    [WHOLE, WHOLE[1:, ::2], WHOLE.t(), WHOLE[:0], WHOLE[0, 0], WHOLE[0].expand(3, 3)],
    [torch.empty(0), torch.empty(3, 0, 2), torch.ones(()), torch.ones(2) > 0, WHOLE.bool()],
    [WHOLE.to(getattr(torch, name)) for name in DTYPES],
    (WHOLE * 1j).conj(),
    torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict(),
]


@pytest.mark.parametrize("value", VALUES)
def test_what_torch_saves_is_loaded(tmp_path, value):
    torch.save(value, tmp_path / "x.pt")
    assert repr(load_tensors(tmp_path / "x.pt")) == repr(value)


def ask(kind=b"Float", count=b"K\x06", number=b"0", start=b"("):
    """A storage, as torch.save asks for it; ``write`` gives it 4 bytes, ``stored`` 24."""
    text = b"X\x07\0\0\0storagectorch\n" + kind + b"Storage\nX" + struct.pack("<I", len(number))
    return start + text + number + b"X\x03\0\0\0cpu" + count + b"tQ"


def tensor(offset=b"K\0", size=b"K\x02K\x03\x86", stride=b"K\x03K\x01\x86", storage=None):
    arguments = b"(" + (storage or ask()) + offset + size + stride
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"\x89ccollections\nOrderedDict\n)RtR"
    )


MINUS = b"J\xff\xff\xff\xff"
SIX = b"K\x06q\x07\x85q\x08q\x09"  # remembered alone and in a tuple
OUTSIDE = {
    "a storage with a number too many": (ask(count=b"K\x07"), "larger than its part"),
    "a storage of larger numbers": (ask(b"Double", b"K\x04"), "larger than its part"),
    "a storage without end": (ask(count=b"\x8a\x09" + b"\0" * 8 + b"\x01"), "larger than its part"),
    "a storage of -1": (ask(count=MINUS), "larger than its part"),
    "a count from the memo": (b"(K\x07q\x01]" + ask(count=b"h\x01") + b"t", "larger than its part"),
    "a storage that is not there": (ask(number=b"1"), "larger than its part"),
    "another part of the file": (ask(number=b"../data.pkl"), "larger than its part"),
    "a count that is no number": (ask(count=b"]"), "torch.save does not write"),
    "a storage twice": (ask(count=b"K\x01") + ask() + b"\x86", "two kinds or sizes"),
    "a storage of two kinds": (ask() + ask(b"Byte") + b"\x86", "two kinds or sizes"),
    "a storage that is called": (b"ctorch\nFloatStorage\nK\x06\x85R", "calls"),
    "an id that is a list": (b"]K\x01aQ", "torch.save does not write"),
    "a row too many": (tensor(size=b"K\x03K\x03\x86"), "larger than its storage"),
    "one behind the end": (tensor(b"K\x01"), "larger than its storage"),
    "no dimensions behind the end": (tensor(b"K\x06", b")", b")"), "larger than its storage"),
    "a wide stride": (tensor(stride=b"K\x04K\x01\x86"), "larger than its storage"),
    "an offset of -1": (tensor(MINUS), "torch.save does not write"),
    "a stride of -1": (
        tensor(b"K\x05", b"K\x02\x85", MINUS + b"\x85"),
        "torch.save does not write",
    ),
    "a size of -1": (tensor(size=b"K\x02" + MINUS + b"\x86"), "torch.save does not write"),
    "fewer strides": (tensor(stride=b"K\x01\x85"), "torch.save does not write"),
    "a size that is a list": (tensor(size=b"](K\x02K\x03e"), "torch.save does not write"),
    "a size of floats": (tensor(size=b"G" + b"\0" * 8 + b"\x85"), "torch.save does not write"),
    "a size from the memo": (
        b"(" + SIX + tensor(b"K\x01", b"h\x08", b"K\x01\x85") + b"t",
        "larger than its storage",
    ),
    "an offset from the memo": (
        b"(" + SIX + tensor(b"h\x07", b"K\x01\x85", b"K\x01\x85") + b"t",
        "larger than its storage",
    ),
    "a function from the memo": (
        b"(ctorch._utils\n_rebuild_tensor_v2\nq\x01]h\x01(" + ask() + b"h\x01" + SIX + b"tRt",
        "torch.save does not write",
    ),
    "many dimensions": (tensor(size=b"(" + b"K\x01" * 65 + b"t"), "torch.save does not write"),
    "many arguments": (b"ccollections\nOrderedDict\n(" + b"N" * 8 + b"tR", "it calls"),
    "arguments in a list": (b"ctorch._utils\n_rebuild_tensor_v2\n]R", "calls"),
    "other memory for a tensor": (
        tensor() + b"(" + ask() + b"K\x00K\x09\x85K\x01\x85tb",
        "it changes what",
    ),
    "other memory for a parameter": (
        b"ctorch._utils\n_rebuild_parameter\n" + tensor() + b"\x89}\x87R}b",
        "it changes what",
    ),
    "a number in a tensor": (tensor() + b"K\x00K\x01s", "it changes what"),
    "numbers in a storage": (ask() + b"(K\x09K\x01u", "it changes what"),
    "items of a list": (b"]K\x00K\x01s", "it changes what"),
    "a state that is a tensor": (
        b"ccollections\nOrderedDict\n)R" + tensor() + b"b",
        "it changes what",
    ),
    "a dictionary of a tensor": (b"ccollections\nOrderedDict\n]" + tensor() + b"a\x85R", "reads"),
    "a set of a tensor": (b"c__builtin__\nset\n" + tensor() + b"\x85R", "reads a tensor"),
}


def stored(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02" + content + b".")
        archive.writestr("x/byteorder", "little")
        archive.writestr("x/data/0", struct.pack("<6f", *range(6)))
        archive.writestr("x/version", "3\n")
    return path


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_tensor_outside_its_part_of_the_file(tmp_path, name):
    content, message = OUTSIDE[name]
    with pytest.raises(UnpicklingError, match=message):
        load_tensors(stored(tmp_path / "x.pt", content))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (tensor(), [[0, 1, 2], [3, 4, 5]]),
        (tensor(b"K\x05", b")", b")"), 5),
        (tensor(b"K\x05", b"K\x02\x85", b"K\0\x85"), [5, 5]),
        (tensor(b"K\x01", b"K\x02K\x02\x86", b"K\x01K\x03\x86"), [[1, 4], [2, 5]]),
        (tensor(size=b"K\0K\x09\x86"), []),
        (b"}(" + SIX + tensor(b"K\0", b"h\x08", b"K\x01\x85") + b"u", {6: [0, 1, 2, 3, 4, 5]}),
    ],
)
def test_a_tensor_inside_it(tmp_path, content, expected):
    found = load_tensors(stored(tmp_path / "x.pt", content))
    plain = {6: found[(6,)].tolist()} if isinstance(found, dict) else found.tolist()
    assert plain == expected


def test_other_forms_of_zip_are_refused(tmp_path):
    path = tmp_path / "x.pt"
    torch.save([1], path, _use_new_zipfile_serialization=False)
    with pytest.raises(zipfile.BadZipFile):
        load_tensors(path)
    stream = io.BytesIO()
    torch.save([1], stream)
    for content in (
        pickle.dumps([1]) + stream.getvalue(),  # torch would read the pickle in front
        stream.getvalue() + b"comment",
        b"",
    ):
        path.write_bytes(content)
        with pytest.raises(zipfile.BadZipFile):
            load_tensors(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", b"\x80\x02]." + b"\0" * 10**6)
    with pytest.raises(ValueError, match="compressed"):
        load_tensors(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02].")
        archive.writestr("y/data.pkl", b"\x80\x02].")
    with pytest.raises(ValueError, match="one data"):
        load_tensors(path)


GOOD, EVIL = b"\x80\x02].", b"\x80\x02" + HOSTILE["bytearray"] + b"."


def part(name, content):
    """A part of a zip, and its entry in the list of parts, which lacks where the part is."""
    check = zlib.crc32(content), len(content), len(content), len(name)
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 0, 0, 0, *check, 0) + name + content
    return local, struct.pack("<IHHHHHHIIIHHHHHI", 0x02014B50, 20, 20, 0, 0, 0, 0, *check, *[0] * 5)


def with_two_lists(large):
    """A zip with two lists of parts: where it says there is one that torch reads; zipfile takes the
    one that lies before the end. ``large``: in the form for more than 4 GB.
    """
    parts = [(b"x/data.pkl", EVIL), (b"x/filler", b"." * 900), (b"x/version", b"3\n")]
    other = [(b"x/data.pkl", GOOD), *parts[1:]]
    content, lists = b"", [b"", b""]
    for number, (name, held) in enumerate([*parts, *other]):
        local, entry = part(name, held)
        which = number // len(parts)
        moved = 3 * 46 + sum(len(name) for name, _ in parts) if which else 0  # as zipfile corrects
        lists[which] += entry + struct.pack("<I", len(content) - moved) + name
        content += local
    length, at = len(lists[0]), len(content)
    content += b"".join(lists)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 3, 3, length, at, 0)
    if large:
        end = (
            struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 3, 3, length, at)
            + struct.pack("<IIQI", 0x07064B50, 0, len(content), 1)
            + end
        )
    return content + end


@pytest.mark.parametrize("large", [False, True])
def test_a_zip_that_torch_would_read_otherwise(tmp_path, large):
    path = tmp_path / "x.pt"
    path.write_bytes(with_two_lists(large))
    with zipfile.ZipFile(path) as archive:
        assert archive.read("x/data.pkl") == GOOD
    with path.open("rb") as stream:
        assert torch._C.PyTorchFileReader(stream).get_record("data.pkl") == EVIL
    with pytest.raises(zipfile.BadZipFile, match="not where it says"):
        load_tensors(path)


@pytest.mark.parametrize("names", [("x/DATA.PKL", "x/data.pkl"), ("x/data.pkl", "x/Data.pkl")])
def test_names_that_torch_takes_for_the_same(tmp_path, names):
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD if name == "x/data.pkl" else EVIL)
        archive.writestr("x/version", "3\n")
    with pytest.raises(ValueError, match="one data"):
        load_tensors(path)


def test_torchscript_is_refused(tmp_path):
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", GOOD)
        archive.writestr("x/constants.pkl", GOOD)
    with pytest.raises(UnpicklingError, match="TorchScript"):
        load_tensors(path)


@pytest.mark.parametrize("value", [b"]", b"K\x01\x85", b"(t", b"cbuiltins\nset\n)R", b"r\0\0\0\0"])
def test_values_that_would_fill_the_memory(tmp_path, monkeypatch, value):
    """A byte of a pickle may become a hundred in memory."""
    monkeypatch.setattr("ifmixup.tensor_files.MAX_VALUES", 100_000)
    monkeypatch.setattr("ifmixup.tensor_files.MAX_TIMES", 1)
    known = value.replace(b"builtins", b"__builtin__")
    path = write(tmp_path / "x.pt", b"N" + known * 1001)
    with pytest.raises(DatasetError, match=r"more than the 100000 allowed.*IFMIXUP_MAX_BYTES"):
        load_tensors(path)
    monkeypatch.setenv("IFMIXUP_MAX_BYTES", "1000000")
    load_tensors(path)


@settings(max_examples=300)
@given(st.integers(0, 10**9), st.integers(0, 255), st.integers(0, 3))
def test_a_changed_file_is_loaded_or_an_error(saved, place, value, cut):
    content = bytearray(saved.read_bytes())
    content[place % len(content)] = value
    path = saved.with_name("changed.pt")
    path.write_bytes(content[: len(content) // cut] if cut > 1 else content)
    with (
        suppress(zipfile.BadZipFile, UnpicklingError, EOFError, ValueError, LookupError, TypeError),
        suppress(AttributeError, NotImplementedError, RuntimeError),
    ):
        load_tensors(path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "good.pt"
    torch.save({"a": torch.ones(3), "b": [1, (2, "x")]}, path)
    return path
