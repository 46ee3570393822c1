"""Untrusted files of ``torch.save``: looked through before torch loads them.

``torch.load(weights_only=True)`` runs no code of a file, but a file of 300 bytes can still make it
allocate gigabytes (``bytearray(3 * 10**9)``), or nest tuples so deeply that hashing one ends the
process. Here the opcodes of the pickle are read first, in constant memory for each. What
``torch.save`` does not write for tensors and plain values is refused, and so is a file that would
unpack to more than its own size. Memory while loading is then bounded by the size of the file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
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

MAX_DEPTH = 100  # of lists in lists, dictionaries in dictionaries, ...

_START, _END = b"PK\x03\x04", b"PK\x05\x06"  # of a zip, and of its last 22 bytes
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
    with path.open("rb") as stream:
        content = _pickled(stream, path.stat().st_size)
        scan(content, {*_PLAIN, *(f"{each.__module__} {each.__qualname__}" for each in classes)})
        stream.seek(0)
        with _allowed(list(classes)):
            return torch.load(stream, map_location="cpu", weights_only=True)


def _allowed(classes: list[Any]) -> AbstractContextManager[None]:
    if hasattr(torch.serialization, "safe_globals"):
        return torch.serialization.safe_globals(classes)
    torch.serialization.add_safe_globals(classes)  # torch 2.4 has no other way
    return nullcontext()


def _pickled(stream: IO[bytes], size: int) -> bytes:
    """The pickle in the zip of a ``torch.save``, whose parts are not compressed."""
    head = stream.read(4)
    stream.seek(max(0, size - 22))
    # Torch would read a file that starts otherwise by its older format, and one with a comment at
    # its end may look different to torch and to zipfile.
    if head != _START or stream.read(4) != _END:
        raise zipfile.BadZipFile("it is not a zip as torch.save writes it")
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if any(each.compress_type != zipfile.ZIP_STORED for each in members):
            raise ValueError("it is compressed, which torch.save does not do")
        if sum(each.file_size for each in members) > size:
            raise ValueError("its parts are larger than the file")
        names = [each.filename for each in members]
        pickles = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(pickles) != 1 or len(set(names)) < len(names):
            raise ValueError("it does not hold one data.pkl, and every part once")
        return archive.read(pickles[0])


def scan(content: bytes, known: Collection[str]) -> None:
    """Check the opcodes of a pickle: only such as ``torch.save`` writes, only classes that are
    ``known`` (``"module name"``), and nothing nested deeper than ``MAX_DEPTH``.

    On the stack is the depth of each value: 0 for a number or a text, and for a tuple one more than
    its deepest part.
    """
    stack: list[int] = []
    marks: list[int] = []  # where on the stack each open list of items begins
    memo: dict[int, int] = {}
    at, end = 0, len(content)
    while at < end:
        op = content[at : at + 1]
        at += 1
        if op in (BINPUT, LONG_BINPUT):  # remember the value on top
            width = 1 if op == BINPUT else 4
            memo[int.from_bytes(content[at : at + width], "little")] = stack[-1]
            at += width
        elif op in (BINGET, LONG_BINGET):  # a value that was remembered
            width = 1 if op == BINGET else 4
            stack.append(memo[int.from_bytes(content[at : at + width], "little")])
            at += width
        elif op in _ATOMS:
            stack.append(0)
            at += _ATOMS[op]
        elif op == BINUNICODE:
            at += 4 + unpack_from("<I", content, at)[0]
            stack.append(0)
        elif op in (SHORT_BINSTRING, LONG1):
            at += 1 + content[at]
            stack.append(0)
        elif op in (EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT, EMPTY_SET):
            stack.append(1)
        elif op == MARK:
            marks.append(len(stack))
        elif op in _TUPLES:
            count = _TUPLES[op]
            stack[-count:] = [_deeper(stack[-count:])]
        elif op == TUPLE:
            start = marks.pop()
            stack[start:] = [_deeper(stack[start:])]
        elif op in (APPEND, BUILD, SETITEM):
            start = len(stack) - (2 if op == SETITEM else 1)
            stack[start - 1 :] = [max(stack[start - 1], _deeper(stack[start:]))]
        elif op in (APPENDS, SETITEMS):
            start = marks.pop()
            stack[start - 1 :] = [max(stack[start - 1], _deeper(stack[start:]))]
        elif op in (REDUCE, NEWOBJ):  # a class or function with its arguments
            stack[-2:] = [_deeper(stack[-1:])]
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
        # Lists that are still open lie on the stack, each in the one below.
        if len(marks) > MAX_DEPTH or (stack and stack[-1] > MAX_DEPTH):
            raise UnpicklingError(f"its values are nested more than {MAX_DEPTH} deep")
    raise EOFError("it ends too early")


def _deeper(depths: Iterable[int]) -> int:
    return 1 + max(depths, default=0)
