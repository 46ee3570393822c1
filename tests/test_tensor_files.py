"""Files of torch.save that ask for more than they hold."""

import io
import pickle
import resource
import subprocess
import sys
import zipfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

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


VALUES = [
    torch.arange(6).view(2, 3).t(),
    torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)),
    OrderedDict(a=torch.ones(1, dtype=torch.complex64), b=torch.tensor(True)),
    {"text": "ü" * 300, 5: (1, 2.5, None, True, False, 10**30, -(2**40)), "set": {1, 2}},
    [(), [], {}, ("a",), ("a", 1), (1, 2, 3), (1, 2, 3, 4), torch.Size([1, 2])],
    [torch.ones(1)] * 2000,
]


@pytest.mark.parametrize("value", VALUES)
def test_what_torch_saves_is_loaded(tmp_path, value):
    torch.save(value, tmp_path / "x.pt")
    assert repr(load_tensors(tmp_path / "x.pt")) == repr(value)


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
