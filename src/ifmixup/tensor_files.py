"""Untrusted files of ``torch.save``: looked through before torch loads them.

``torch.load(weights_only=True)`` runs no code of a file, but a file of 300 bytes can still make it
allocate gigabytes (``bytearray(3 * 10**9)``), or nest tuples so deeply that hashing one ends the
process. Here the opcodes of the pickle are read first, in constant memory for each. What
``torch.save`` does not write for tensors and plain values is refused, and so is a file that would
unpack to more than its own size, or that torch could read otherwise than zipfile does. A tensor
that would lie outside its part of the file is refused too: older torch reads what follows in
memory. Tensors then take no more memory than the file has bytes. Lists, dictionaries and the like
take up to a hundred times the bytes that stand for them, so they are counted: at most ``MAX_TIMES``
the file's size, or ``MAX_VALUES``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Mapping
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
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

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
_ORDERED = "collections OrderedDict"
_TENSOR, _PARAMETER = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
_ITEM_SIZES = {
    f"torch {kind}Storage": size
    for size, kinds in {
        1: ("Char", "Byte", "Bool"),
        2: ("Half", "BFloat16", "Short"),
        4: ("Float", "Int"),
        8: ("Double", "Long", "ComplexFloat"),
        16: ("ComplexDouble",),
    }.items()
    for kind in kinds
}
_PLAIN = {"__builtin__ set", "torch Size", _ORDERED, _TENSOR, _PARAMETER, *_ITEM_SIZES}
_LONGEST = 20  # bytes of a text that can be part of a tensor, such as "storage" or its number
_MOST_ARGUMENTS, _MOST_DIMENSIONS = 7, 64
_ATOMS = {NONE: 0, NEWTRUE: 0, NEWFALSE: 0, BININT1: 1, BININT2: 2, BININT: 4, BINFLOAT: 8}
_WHOLE = (BININT1, BININT2, BININT)  # of these, whole numbers
_TUPLES = {TUPLE1: 1, TUPLE2: 2, TUPLE3: 3}
_EMPTY = {EMPTY_LIST: list, EMPTY_TUPLE: (), EMPTY_DICT: dict, EMPTY_SET: None}
# What may be changed: lists, dictionaries, and, by BUILD, an OrderedDict or an object.
_CHANGED: dict[bytes, list[Any]] = {
    **{APPEND: [list], APPENDS: [list], SETITEM: [dict], SETITEMS: [dict]},
    BUILD: [dict, None],
}


class _Storage(NamedTuple):
    """The memory of a tensor: a part of the file."""

    kind: str
    length: int  # how many numbers it holds


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
        content, parts = _pickled(stream, size)
        scan(content, parts, known, max(MAX_VALUES, MAX_TIMES * size))
        stream.seek(0)
        with torch.serialization.safe_globals(list(classes)):
            return torch.load(stream, map_location="cpu", weights_only=True)


def _pickled(stream: IO[bytes], size: int) -> tuple[bytes, dict[str, int]]:
    """The pickle in the zip of a ``torch.save``, whose parts are not compressed, and the size of
    each part by its name: ``"data/0"``.
    """
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
        # may have besides its own. All are in one folder, which may have any name.
        names = [each.filename.lower().partition("/")[2] for each in members]
        if (
            "data.pkl" not in names
            or len(set(names)) < len(names)
            or any(each.filename != each.orig_filename for each in members)
        ):
            raise ValueError("it does not hold one data.pkl, and every part once")
        if any(name.endswith("constants.pkl") for name in names):  # which is code
            raise UnpicklingError("it is a TorchScript archive")
        parts = {name: each.file_size for name, each in zip(names, members, strict=True)}
        return archive.read(members[names.index("data.pkl")]), parts


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


def scan(content: bytes, parts: Mapping[str, int], known: Collection[str], usual: int) -> None:
    """Check the opcodes of a pickle: only such as ``torch.save`` writes, only classes that are
    ``known`` (``"module name"``), nothing nested deeper than ``MAX_DEPTH``, no tensor outside the
    ``parts`` of its file, and no more values than take ``usual`` bytes of memory, unless the user
    allows more.

    On the stack is the depth of each value: 0 for a number or a text, and for a tuple one more than
    its deepest part. Beside it is the value, as far as tensors are made of it: a whole number, a
    short text as bytes, the name of a class as str, a tuple of such, or a ``_Storage``; ``Tensor``,
    ``list`` and ``dict`` stand for any of these, and None for all else.
    """
    stack: list[int] = []
    values: list[Any] = []
    marks: list[int] = []  # where on the stack each open list of items begins
    memo: dict[int, tuple[int, Any]] = {}
    storages: dict[bytes, _Storage] = {}
    most = max_bytes(usual)
    taken = 0  # bytes of memory, about
    at, end = 0, len(content)
    while at < end:
        op = content[at : at + 1]
        at += 1
        if op in (BINPUT, LONG_BINPUT):  # remember the value on top
            width = 1 if op == BINPUT else 4
            memo[int.from_bytes(content[at : at + width], "little")] = stack[-1], values[-1]
            at += width
            taken += _BYTES_OF_VALUE
        elif op in (BINGET, LONG_BINGET):  # a value that was remembered
            width = 1 if op == BINGET else 4
            depth, value = memo[int.from_bytes(content[at : at + width], "little")]
            stack.append(depth)
            values.append(value)
            at += width
        elif op in _ATOMS:
            raw, signed = content[at : at + _ATOMS[op]], op == BININT
            stack.append(0)
            values.append(int.from_bytes(raw, "little", signed=signed) if op in _WHOLE else None)
            at += _ATOMS[op]
            taken += _BYTES_OF_NUMBER
        elif op == BINUNICODE:
            start = at + 4
            at = start + unpack_from("<I", content, at)[0]
            stack.append(0)
            values.append(content[start:at] if at - start <= _LONGEST else None)
        elif op in (SHORT_BINSTRING, LONG1):
            start = at + 1
            at = start + content[at]
            stack.append(0)
            whole = int.from_bytes(content[start:at], "little", signed=True)
            values.append(whole if op == LONG1 else None)
        elif op in _EMPTY:
            stack.append(1)
            values.append(_EMPTY[op])
            taken += _BYTES_OF_VALUE
        elif op == MARK:
            marks.append(len(stack))
        elif op == TUPLE or op in _TUPLES:
            start = marks.pop() if op == TUPLE else len(stack) - _TUPLES[op]
            stack[start:] = [_deeper(stack[start:])]
            values[start:] = [tuple(values[start:])]
            taken += _BYTES_OF_VALUE
        elif op in _CHANGED:
            count = 2 if op == SETITEM else 1
            start = marks.pop() if op in (APPENDS, SETITEMS) else len(stack) - count
            # A tensor could be given other memory, or written to where it has none.
            if values[start - 1] not in _CHANGED[op] or (op == BUILD and values[-1] is not dict):
                raise UnpicklingError("it changes what torch.save does not change")
            stack[start - 1 :] = [max(stack[start - 1], _deeper(stack[start:]))]
            del values[start:]
        elif op in (REDUCE, NEWOBJ):  # a class or function with its arguments
            stack[-2:] = [_deeper(stack[-1:])]
            values[-2:] = [_result(values[-2], values[-1])]
            taken += _BYTES_OF_OBJECT
        elif op == BINPERSID:  # the memory of a tensor
            stack[-1] = 0
            values[-1] = _storage(values[-1], parts, storages)
        elif op == GLOBAL:
            middle = content.index(b"\n", at)
            stop = content.index(b"\n", middle + 1)
            name = f"{content[at:middle].decode()} {content[middle + 1 : stop].decode()}"
            if name not in known:
                raise UnpicklingError(f"it asks for {name.replace(' ', '.')}")
            stack.append(0)
            values.append(name)
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


def _storage(found: Any, parts: Mapping[str, int], storages: dict[bytes, _Storage]) -> _Storage:
    """The storage that ``("storage", kind, number, device, count)`` asks for, if it is there."""
    match found:
        case (b"storage", str(kind), bytes(number), bytes(), int(count)) if kind in _ITEM_SIZES:
            storage = _Storage(kind, count)
            # Torch takes the first that a file asks for by this number.
            if storages.setdefault(number, storage) != storage:
                raise UnpicklingError("it has a storage of two kinds or sizes")
            size = parts.get(f"data/{number.decode()}", -1) if number.isdigit() else -1
            if not 0 <= count * _ITEM_SIZES[kind] <= size:
                raise UnpicklingError("it has a storage that is larger than its part of the file")
            return storage
    raise UnpicklingError("it has a storage that torch.save does not write")


def _result(function: Any, arguments: Any) -> Any:
    """What is known of the result of a class or function."""
    is_called = type(function) is str and function not in _ITEM_SIZES
    if not is_called or type(arguments) is not tuple or len(arguments) > _MOST_ARGUMENTS:
        raise UnpicklingError("it calls what torch.save does not call")
    if function == _TENSOR:
        _check_tensor(arguments)
    elif function != _PARAMETER and (Tensor in arguments or (function == _ORDERED and arguments)):
        raise UnpicklingError("it reads a tensor")  # which may repeat one number without end
    return {_TENSOR: Tensor, _PARAMETER: Tensor, _ORDERED: dict}.get(function)


def _check_tensor(arguments: tuple[Any, ...]) -> None:
    """Check that a tensor lies inside its storage."""
    match arguments:
        case (_Storage(length=length), offset, tuple(size), tuple(stride), *_):
            is_usual = len(size) == len(stride) <= _MOST_DIMENSIONS
            if is_usual and all(type(n) is int and n >= 0 for n in (offset, *size, *stride)):
                last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
                if last >= length and 0 not in size:
                    raise UnpicklingError("it has a tensor that is larger than its storage")
                return
    raise UnpicklingError("it has a tensor that torch.save does not write")
