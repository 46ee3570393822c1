"""Untrusted text files of comma-separated numbers: from a TU zip or folder, or compressed by gzip.

Nothing is unpacked to the disk. A path in a zip can therefore lead nowhere, and a process that is
killed leaves no half dataset behind.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TextIO

import numpy as np
from numpy.typing import NDArray

from ifmixup.errors import DatasetError, IfmixupError
from ifmixup.safe_io import check_size, max_bytes
from ifmixup.values import short

MAX_BYTES = 256 * 1024**2  # of text in one TU dataset
MAX_GZIP = 1024**3  # bytes of text in one gzip file, unpacked
BYTES_PER_LINE = 16  # a line counts as at least so many: the shortest one becomes two numbers
LARGEST = 2**53  # integers up to here are exact in the 64-bit floats that the text is read as
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes")
_Member = tuple[str, int, Callable[[], IO[bytes]]]  # where it is, its size, how to open it


@dataclass(frozen=True)
class TextFile:
    """One file: where it is, for messages, and its content."""

    where: str
    content: bytes


def read_files(path: Path, name: str) -> dict[str, TextFile]:
    """The files of TU dataset ``name`` in a zip or a folder, by the word after ``NAME_``.

    A zip that is broken, encrypted or hostile is refused, and so are files that are too large.
    """
    try:
        if path.is_dir():
            paths = {part: path / f"{name}_{part}.txt" for part in _PARTS}
            members: dict[str, _Member] = {
                part: (str(file), file.stat().st_size, partial(file.open, "rb"))  # type: ignore[misc]
                for part, file in paths.items()
                if file.is_file()
            }
            return _read(members, path)
        with zipfile.ZipFile(path) as archive:
            return _read(_members(archive, path, name), path)
    except IfmixupError:
        raise
    # A damaged zip makes zipfile and its decompressors raise nearly anything: BadZipFile,
    # zlib.error, EOFError, struct.error, NotImplementedError, UnicodeDecodeError, ...
    except Exception as error:
        kind = "folder" if path.is_dir() else "zip"
        raise DatasetError(
            f"{path} is not a {kind} that can be read ({error}). Replace it with a whole copy."
        ) from error


def read_gzip(path: Path) -> TextFile:
    """The unpacked content of a ``.gz`` file."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(max_bytes(MAX_GZIP) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path} cannot be read ({error}).") from error
    check_size(str(path), _size(content), MAX_GZIP)
    return TextFile(str(path), content)


def _size(content: bytes) -> int:
    """The bytes of a text, where a line is never less than what it takes in memory."""
    return max(len(content), content.count(b"\n") * BYTES_PER_LINE)


def floats(file: TextFile, columns: int | None = None) -> NDArray[np.float64]:
    """The numbers of a file, shape ``[rows, columns]``; empty lines do not count.

    Each line must be ``columns`` finite numbers, by default as many as the first line has.
    """
    if not file.content.strip():
        raise DatasetError(f"{file.where} is empty.")
    try:
        values = np.loadtxt(_lines(file), delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise _broken_line(file, columns) from error
    if columns is not None and values.shape[1] != columns:
        raise _broken_line(file, columns)
    require(file, np.isfinite(values), lambda row: f"{values[row].tolist()} is not finite")
    return values


def integers(file: TextFile, columns: int | None = None) -> NDArray[np.int64]:
    """Like :func:`floats`, for integers; ``1.0`` is one."""
    values = floats(file, columns)
    require(
        file,
        (values == np.rint(values)) & (np.abs(values) <= LARGEST),
        lambda row: f"expected integers up to 2^53, not {values[row].tolist()}",
    )
    return values.astype(np.int64)


def require(file: TextFile, good: NDArray[np.bool_], problem: Callable[[int], str]) -> None:
    """Raise for the first row that is not all good, with its line and ``problem(row)``."""
    if not good.all():
        row = int(np.nonzero(~good)[0][0])
        # NumPy skips empty lines, so the line of a row is found by counting the others.
        lines = (n for n, line in enumerate(_lines(file), 1) if line.rstrip("\n"))
        raise DatasetError(f"{file.where}, line {next(islice(lines, row, None))}: {problem(row)}.")


def check_lines(where: object, found: int, expected: int, each: str) -> None:
    """Check that a file has one line for each graph, node or edge."""
    if found != expected:
        raise DatasetError(f"{where} has {found} lines, expected {expected}: one for each {each}.")


def _lines(file: TextFile) -> TextIO:
    """The lines up to the last number, with Unix line ends, as a stream: no copy of all text."""
    content = io.BytesIO(file.content.rstrip())
    return io.TextIOWrapper(content, "ascii", errors="replace", newline=None)


def _broken_line(file: TextFile, columns: int | None) -> DatasetError:
    """The error for the first broken line, looked for only when NumPy has failed."""
    for number, text in enumerate(_lines(file), 1):
        line = text.rstrip("\n")
        if not line:
            continue
        fields = [field.strip() for field in line.split(",")]
        columns = columns or len(fields)
        if len(fields) != columns:
            problem = f"expected {columns} column{'s' * (columns > 1)}, found {len(fields)}"
            return DatasetError(f"{file.where}, line {number}: {problem}: {short(line.strip())}.")
        for field in fields:
            if not NUMBER.fullmatch(field):
                return DatasetError(f"{file.where}, line {number}: {short(field)} is not a number.")
    return DatasetError(f"{file.where} is not a table of numbers separated by commas.")


def _members(archive: zipfile.ZipFile, path: Path, name: str) -> dict[str, _Member]:
    """The members ``NAME/NAME_*.txt`` or ``NAME_*.txt`` that are used, by part."""
    pattern = re.compile(rf"(?:{re.escape(name)}/)?{re.escape(name)}_({'|'.join(_PARTS)})\.txt")
    members: dict[str, _Member] = {}
    for info in archive.infolist():
        file, match = info.filename, pattern.fullmatch(info.filename)
        inside = PurePosixPath(file.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or re.match(r"[A-Za-z]:", file):
            raise DatasetError(f"{path} is refused: its member {file!r} points outside of the zip.")
        if match is None:
            continue
        if info.flag_bits & 0x1:
            raise DatasetError(f"{path} is refused: its member {file!r} is encrypted.")
        if match[1] in members:
            raise DatasetError(f"{path} is refused: it holds {name}_{match[1]}.txt twice.")
        members[match[1]] = (f"{path}: {file}", info.file_size, partial(archive.open, info))
    return members


def _read(members: dict[str, _Member], path: Path) -> dict[str, TextFile]:
    if "node_labels" in members:  # node attributes are then not used
        members.pop("node_attributes", None)
    check_size(str(path), sum(size for _, size, _ in members.values()), MAX_BYTES)
    files, total = {}, 0
    for part, (where, size, opened) in members.items():
        with opened() as stream:
            content = stream.read(size + 1)  # the announced bytes, which are within the limit
        if len(content) != size:
            raise DatasetError(f"{where} does not have the {size} bytes that it announces.")
        total += _size(content)
        check_size(f"{path}, with {BYTES_PER_LINE} for each short line,", total, MAX_BYTES)
        files[part] = TextFile(where, content)
    return files
