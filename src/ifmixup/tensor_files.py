"""Untrusted files of ``torch.save``: looked through before torch loads them.

``torch.load(weights_only=True)`` runs no code of a file, but a file of 300 bytes can still make it
allocate gigabytes (``bytearray(3 * 10**9)``), or nest tuples so deeply that hashing one ends the
process. Here the opcodes of the pickle are read first, in constant memory for each. What
``torch.save`` does not write for tensors and plain values is refused, and so is a file that would
unpack to more than its own size, or that torch could read otherwise than zipfile does. Tensors then
take no more memory than the file has bytes. Lists, dictionaries and the like take up to a hundred
times the bytes that stand for them, so they are counted: at most ``MAX_TIMES`` the file's size, or
``MAX_VALUES``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from pickle import (
    APPEND,
    APPENDS,
    BINFLOAT,
    BINGET,
    BININT,
    BININT1,
    BININT2,
    BINPERSID,
    BINPUT,
    BINUNICODE,
    BUILD,
    EMPTY_DICT,
    EMPTY_LIST,
    EMPTY_SET,
    EMPTY_TUPLE,
    GLOBAL,
    LONG1,
    LONG_BINGET,
    LONG_BINPUT,
    MARK,
    NEWFALSE,
    NEWOBJ,
    NEWTRUE,
    NONE,
    PROTO,
    REDUCE,
    SETITEM,
    SETITEMS,
    SHORT_BINSTRING,
    STOP,
    TUPLE,
    TUPLE1,
    TUPLE2,
    TUPLE3,
    UnpicklingError,
)
from struct import unpack_from
from typing import IO, Any

import torch

from ifmixup.safe_io import check_size, max_bytes

MAX_DEPTH = 100  # of lists in lists, dictionaries in dictionaries, ...
# Bytes of memory that lists, dictionaries and the like may take, and for a large file as many times
# its size.
MAX_VALUES, MAX_TIMES = 2 * 1024**3, 16

_START, _END = b"PK\x03\x04", b"PK\x05\x06"  # of a zip, and of its last 22 bytes
_LOCATOR, _LARGE_END = b"PK\x06\x07", b"PK\x06\x06"  # of what may precede them
_END_SIZE, _LOCATOR_SIZE, _LARGE_END_SIZE = 22, 20, 56
# What a number takes, a list, and an object, such as a tensor or a set; about.
_BYTES_OF_NUMBER, _BYTES_OF_VALUE, _BYTES_OF_OBJECT = 40, 100, 400
_STORAGES = (
    *("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"),
    *("ComplexFloat", "ComplexDouble"),
)
_PLAIN = {
    "collections OrderedDict",
    "__builtin__ set",
    "torch Size",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    *(f"torch {kind}Storage" for kind in _STORAGES),
}
_ATOMS = {NONE: 0, NEWTRUE: 0, NEWFALSE: 0, BININT1: 1, BININT2: 2, BININT: 4, BINFLOAT: 8}
_TUPLES = {TUPLE1: 1, TUPLE2: 2, TUPLE3: 3}


def load_tensors(path: Path, classes: Collection[type] = ()) -> Any:
    """What ``torch.save`` wrote to ``path``: tensors and plain values, on the CPU.

    Args:
        path: The file.
        classes: Classes that only hold values, which the file may have instances of.

    Raises:
        UnpicklingError: If the file needs more than that.
        Exception: Nearly any, if it is damaged: of zipfile, of torch and of Python.
    """
    size = path.stat().st_size
    known = {*_PLAIN, *(f"{each.__module__} {each.__qualname__}" for each in classes)}
    with path.open("rb") as stream:
        scan(_pickled(stream, size), known, max(MAX_VALUES, MAX_TIMES * size))
        stream.seek(0)
        with torch.serialization.safe_globals(list(classes)):
            return torch.load(stream, map_location="cpu", weights_only=True)


def _pickled(stream: IO[bytes], size: int) -> bytes:
    """The pickle in the zip of a ``torch.save``, whose parts are not compressed."""
    head = stream.read(4)
    stream.seek(max(0, size - _END_SIZE))
    # Torch would read a file that starts otherwise by its older format, and one with a comment at
    # its end may look different to torch and to zipfile.
    if head != _START or stream.read(4) != _END:
        raise zipfile.BadZipFile("it is not a zip as torch.save writes it")
    _check_end(stream, size)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if any(each.compress_type != zipfile.ZIP_STORED for each in members):
            raise ValueError("it is compressed, which torch.save does not do")
        if sum(each.file_size for each in members) > size:
            raise ValueError("its parts are larger than the file")
        # Torch takes capital letters for small ones, and knows nothing of other names that a part
        # may have besides its own.
        names = [each.filename.lower() for each in members]
        pickles = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if (
            len(pickles) != 1
            or len(set(names)) < len(names)
            or any(each.filename != each.orig_filename for each in members)
        ):
            raise ValueError("it does not hold one data.pkl, and every part once")
        if any(name.endswith("/constants.pkl") for name in names):  # which is code
            raise UnpicklingError("it is a TorchScript archive")
        return archive.read(members[names.index(pickles[0])])


def _check_end(stream: IO[bytes], size: int) -> None:
    """Check that the list of parts ends where the end of the zip begins, and nothing lies between.

    Of a zip that says otherwise, zipfile reads the list that is there, and torch the one at the
    place that is said: the file would not be what we looked through.
    """
    stream.seek(max(0, size - _END_SIZE - _LOCATOR_SIZE - _LARGE_END_SIZE))
    tail = stream.read()
    found = unpack_from("<HHHHIIH", tail, len(tail) - _END_SIZE + 4)
    at, (*disks, here, total, length, offset, comment) = size - _END_SIZE, found
    locator = tail[-_END_SIZE - _LOCATOR_SIZE : -_END_SIZE]
    if locator.startswith(_LOCATOR):
        at -= _LOCATOR_SIZE + _LARGE_END_SIZE
        said = unpack_from("<IQI", locator, 4)
        large = unpack_from("<IQHHIIQQQQ", tail)
        small = tuple(map(min, large[6:], (2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1)))
        if said != (0, at, 1) or large[0] != int.from_bytes(_LARGE_END, "little"):
            raise zipfile.BadZipFile("its end is not where it says")
        if large[1] != _LARGE_END_SIZE - 12 or small != (here, total, length, offset):
            raise zipfile.BadZipFile("it has two ends that differ")
        disks += large[4:6]
        here, total, length, offset = large[6:]
    if any(disks) or comment or here != total or offset + length != at:
        raise zipfile.BadZipFile("its list of parts is not where it says")


def scan(content: bytes, known: Collection[str], usual: int) -> None:
    """Check the opcodes of a pickle: only such as ``torch.save`` writes, only classes that are
    ``known`` (``"module name"``), nothing nested deeper than ``MAX_DEPTH``, and no more values than
    take ``usual`` bytes of memory, unless the user allows more.

    On the stack is the depth of each value: 0 for a number or a text, and for a tuple one more than
    its deepest part.
    """
    stack: list[int] = []
    marks: list[int] = []  # where on the stack each open list of items begins
    memo: dict[int, int] = {}
    most = max_bytes(usual)
    taken = 0  # bytes of memory, about
    at, end = 0, len(content)
    while at < end:
        op = content[at : at + 1]
        at += 1
        if op in (BINPUT, LONG_BINPUT):  # remember the value on top
            width = 1 if op == BINPUT else 4
            memo[int.from_bytes(content[at : at + width], "little")] = stack[-1]
            at += width
            taken += _BYTES_OF_VALUE
        elif op in (BINGET, LONG_BINGET):  # a value that was remembered
            width = 1 if op == BINGET else 4
            stack.append(memo[int.from_bytes(content[at : at + width], "little")])
            at += width
        elif op in _ATOMS:
            stack.append(0)
            at += _ATOMS[op]
            taken += _BYTES_OF_NUMBER
        elif op == BINUNICODE:
            at += 4 + unpack_from("<I", content, at)[0]
            stack.append(0)
        elif op in (SHORT_BINSTRING, LONG1):
            at += 1 + content[at]
            stack.append(0)
        elif op in (EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT, EMPTY_SET):
            stack.append(1)
            taken += _BYTES_OF_VALUE
        elif op == MARK:
            marks.append(len(stack))
        elif op in _TUPLES:
            count = _TUPLES[op]
            stack[-count:] = [_deeper(stack[-count:])]
            taken += _BYTES_OF_VALUE
        elif op == TUPLE:
            start = marks.pop()
            stack[start:] = [_deeper(stack[start:])]
            taken += _BYTES_OF_VALUE
        elif op in (APPEND, BUILD, SETITEM):
            start = len(stack) - (2 if op == SETITEM else 1)
            stack[start - 1 :] = [max(stack[start - 1], _deeper(stack[start:]))]
        elif op in (APPENDS, SETITEMS):
            start = marks.pop()
            stack[start - 1 :] = [max(stack[start - 1], _deeper(stack[start:]))]
        elif op in (REDUCE, NEWOBJ):  # a class or function with its arguments
            stack[-2:] = [_deeper(stack[-1:])]
            taken += _BYTES_OF_OBJECT
        elif op == BINPERSID:  # the memory of a tensor
            stack[-1] = 0
        elif op == GLOBAL:
            middle = content.index(b"\n", at)
            stop = content.index(b"\n", middle + 1)
            name = f"{content[at:middle].decode()} {content[middle + 1 : stop].decode()}"
            if name not in known:
                raise UnpicklingError(f"it asks for {name.replace(' ', '.')}")
            stack.append(0)
            at = stop + 1
        elif op == PROTO:
            at += 1
        elif op == STOP:
            if at != end:
                raise UnpicklingError("there is data after its end")
            return
        else:
            raise UnpicklingError(f"it has an opcode {op!r} that torch.save does not write")
        if taken > most:
            check_size("what is not tensors in it", taken, usual)
        # Lists that are still open lie on the stack, each in the one below.
        if len(marks) > MAX_DEPTH or (stack and stack[-1] > MAX_DEPTH):
            raise UnpicklingError(f"its values are nested more than {MAX_DEPTH} deep")
    raise EOFError("it ends too early")


def _deeper(depths: Iterable[int]) -> int:
    return 1 + max(depths, default=0)
