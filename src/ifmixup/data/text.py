"""Comma-separated numbers, read fast; the broken line is looked for only when there is one."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ifmixup.data.files import TextFile
from ifmixup.errors import DatasetError

LARGEST = 2**53
"""Whole numbers up to here are exact in the 64-bit floats that the text is read as."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def floats(file: TextFile, columns: int | None = None) -> NDArray[np.float64]:
    """The numbers of a file, shape ``[rows, columns]``; empty lines do not count.

    Raises:
        DatasetError: For an empty file, and for a line that is not ``columns`` finite numbers
            (as many as in the first line if ``columns`` is not given).
    """
    text = _text(file)
    if not text:
        raise DatasetError(f"{file.where} is empty.")
    try:
        values = np.loadtxt(io.StringIO(text), delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise _broken_line(file, text, columns) from error
    if columns is not None and values.shape[1] != columns:
        raise _broken_line(file, text, columns)
    require(file, np.isfinite(values), lambda row: f"{values[row].tolist()} is not finite")
    return values


def integers(file: TextFile, columns: int | None = None) -> NDArray[np.int64]:
    """Like :func:`floats`, for whole numbers; ``1.0`` is one."""
    values = floats(file, columns)
    require(
        file,
        (values == np.rint(values)) & (np.abs(values) <= LARGEST),
        lambda row: f"expected whole numbers up to 2^53, not {values[row].tolist()}",
    )
    return values.astype(np.int64)


def require(file: TextFile, good: NDArray[np.bool_], what: Callable[[int], str]) -> None:
    """Raise for the first row that is not good all along, with its line and ``what(row)``."""
    if not good.all():
        row = int(np.nonzero(~good)[0][0])
        # The fast reader skips empty lines, so a row's line is found by counting the others.
        lines = (n for n, line in enumerate(_text(file).split("\n"), 1) if line)
        line = next(n for i, n in enumerate(lines) if i == row)
        raise DatasetError(f"{file.where}, line {line}: {what(row)}.")


def _text(file: TextFile) -> str:
    """The text up to its last number, with line ends of one kind."""
    text = file.content.decode("ascii", errors="replace").rstrip()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _broken_line(file: TextFile, text: str, columns: int | None) -> DatasetError:
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        fields = [field.strip() for field in line.split(",")]
        columns = columns or len(fields)
        if len(fields) != columns:
            what = f"expected {columns} column{'s' * (columns > 1)}, found {len(fields)}"
            return DatasetError(f"{file.where}, line {number}: {what}: {_short(line)}.")
        for field in fields:
            if not _NUMBER.fullmatch(field):
                return DatasetError(f"{file.where}, line {number}: {_short(field)} is no number.")
    return DatasetError(f"{file.where} is not a table of numbers separated by commas.")


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
