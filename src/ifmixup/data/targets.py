"""What is to be predicted: texts or numbers made into classes, labels or values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ifmixup.data.dataset import check_task
from ifmixup.errors import DatasetError

FEW = 20
"""Up to so many different whole numbers are taken for classes, more for values."""

MAX_CLASSES = 1000
"""More classes than this are a wrong column, such as one of names."""

MISSING = frozenset(("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "<NA>", "#N/A"))
"""What stands for a label that is not known, as pandas reads it."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Targets:
    """The targets of all graphs.

    Attributes:
        task: classes, labels or values.
        y: Class numbers ``[N]``, -1 where there is none; else floats ``[N, T]``, NaN where there
            is none.
        names: What the classes are called, or the ``T`` columns.
    """

    task: str
    y: Tensor
    names: list[str]


def read_targets(
    cells: Sequence[Sequence[str]],
    names: Sequence[str],
    task: str | None = None,
    lines: Sequence[int] | None = None,
) -> Targets:
    """Targets from text, one row of cells for each graph.

    An empty cell, or one of :data:`MISSING`, is not known.

    Without ``task`` it is seen from the cells. One column of texts, or of at most 20 different
    whole numbers, holds classes. Several columns of 0 and 1 hold labels. All else are values.

    Args:
        cells: The cells ``[N, T]``.
        names: What the columns are called.
        task: classes, labels or values.
        lines: Where each row stands, for messages.

    Raises:
        DatasetError: If the cells do not fit the task.
    """
    rows = [[_float(cell) for cell in row] for row in cells]
    text = next(
        ((i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value is None), None
    )
    if text is None:
        numbers = torch.tensor(rows, dtype=torch.float64).view(len(rows), len(names))
        return number_targets(numbers, names, task or guess(numbers), lines)
    if len(names) > 1 or task in ("labels", "values"):
        row, column = text
        raise DatasetError(
            f"Column {names[column]!r}, {_line(row, lines)}: {cells[row][column]!r} is no number. "
            f"{'Several columns' if len(names) > 1 else f'The task {task!r}'} can only be "
            "numbers; one column of text is for the task 'classes'."
        )
    if task is None:
        _check_no_numbers(cells, rows, names[0], lines)
    else:
        check_task(task)
    plain = ["" if _missing(row[0]) else _plain(row[0]) for row in cells]
    classes = sorted(set(plain) - {""})
    _check_classes(len(classes), names[0])
    place = {name: i for i, name in enumerate(classes)}
    return Targets("classes", torch.tensor([place.get(name, -1) for name in plain]), classes)


def guess(numbers: Tensor) -> str:
    """The task that columns of numbers look like."""
    known = numbers[~numbers.isnan()]
    if numbers.size(1) == 1:
        few = len(known.unique()) <= FEW
        return "classes" if few and bool((known == known.round()).all()) else "values"
    return "labels" if bool(((known == 0) | (known == 1)).all()) else "values"


def number_targets(
    numbers: Tensor, names: Sequence[str], task: str, lines: Sequence[int] | None = None
) -> Targets:
    """Targets from numbers ``[N, T]``, NaN where one is not known.

    Raises:
        DatasetError: If they do not fit the task.
    """
    check_task(task)
    known = ~numbers.isnan()
    if not bool(known.any()):
        raise DatasetError(f"{', '.join(names[:5])}: there is no label in any row.")
    if task == "classes":
        return _classes(numbers, known, names)
    if task == "labels":
        fitting, wanted = (numbers == 0) | (numbers == 1), "0, 1 or nothing"
    else:
        largest = torch.finfo(torch.float32).max
        fitting, wanted = numbers.abs() <= largest, "a number that a 32-bit float can hold"
    wrong = (known & ~fitting).nonzero()
    if len(wrong):
        row, column = wrong[0].tolist()
        raise DatasetError(
            f"Column {names[column]!r}, {_line(row, lines)}: {_number(float(numbers[row, column]))}"
            f" does not fit the task {task!r}, which needs {wanted}."
        )
    return Targets(task, numbers.float(), list(names))


def _classes(numbers: Tensor, known: Tensor, names: Sequence[str]) -> Targets:
    if numbers.size(1) > 1:
        raise DatasetError(
            f"The task 'classes' has one column of classes, but {numbers.size(1)} were given: "
            f"{', '.join(names[:5])}. Use 'labels' for several columns of 0 and 1."
        )
    distinct, place = numbers[known].unique(return_inverse=True)
    _check_classes(len(distinct), names[0])
    y = torch.full((len(numbers),), -1)
    y[known[:, 0]] = place
    return Targets("classes", y, [_number(value) for value in distinct.tolist()])


def _check_classes(count: int, name: str) -> None:
    if count > MAX_CLASSES:
        raise DatasetError(
            f"Column {name!r} has {count} different values, too many for classes (at most "
            f"{MAX_CLASSES}). Give the column of the labels, or task='values' for numbers."
        )


def _check_no_numbers(
    cells: Sequence[Sequence[str]],
    rows: Sequence[Sequence[float | None]],
    name: str,
    lines: Sequence[int] | None,
) -> None:
    """See that a column of text is not one of values in which a few cells are something else."""
    numbers = [row[0] for row in rows if row[0] is not None and not math.isnan(row[0])]
    others = [place for place, row in enumerate(rows) if row[0] is None]
    column = torch.tensor(numbers, dtype=torch.float64).view(-1, 1)
    if len(numbers) > 9 * len(others) and guess(column) == "values":
        place = others[0]
        raise DatasetError(
            f"Column {name!r}, {_line(place, lines)}: {cells[place][0]!r} is no number, but nearly "
            f"all others are. Mend it or leave the cell empty; or give the task 'classes'."
        )


def _missing(cell: str) -> bool:
    return cell.strip() in MISSING


def _float(cell: str) -> float | None:
    """The number that a cell holds, NaN for an empty one, None for text."""
    if _missing(cell):
        return float("nan")
    return float(cell) if _NUMBER.fullmatch(cell.strip()) else None


def _plain(cell: str) -> str:
    """The text of a class; ``1`` and ``1.0`` are the same class."""
    value = _float(cell)
    return cell.strip() if value is None else _number(value)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _line(row: int, lines: Sequence[int] | None) -> str:
    return f"row {row}" if lines is None else f"line {lines[row]}"
