"""What is to be predicted: the task, and its classes, labels or values from text and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ifmixup.data.dataset import check_task
from ifmixup.data.text_files import NUMBER
from ifmixup.errors import DatasetError, InputError

FEW = 20  # up to so many consecutive integers in one column are classes
MANY = 100  # in text, more different integers than these are values
MAX_CLASSES = 1000  # more are a wrong column, such as one of names
MISSING = frozenset(("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "<NA>", "#N/A"))
"""Texts that stand for an unknown label, as in pandas."""


@dataclass(frozen=True)
class Targets:
    """The targets of all graphs."""

    task: str  # classes, labels or values
    y: Tensor  # class numbers [N], -1 where unknown; else floats [N, T], NaN where unknown
    names: list[str]  # of the classes, or of the T columns


def infer_task(
    targets: Tensor | Sequence[Tensor | None], *, from_text: bool = False, name: str = "y"
) -> str:
    """The task that targets look like.

    One integer per graph is a class. Otherwise numbers that are all 0, 1 or NaN are labels, and
    others are values. ``targets`` are the ``y`` of each graph, None where there is none, or all of
    them, ``[N, T]``. Text does not tell integers from floats: if the numbers are ``from_text``, one
    column of two different integers, or of at most 20 that count from 0 or 1, holds classes, and
    one of more than 100 holds values.

    Raises:
        DatasetError: For one column of integers that may be either: between these in text, and for
            more than 20 different integers that do not count from 0 otherwise. The user is asked.
    """
    if isinstance(targets, Tensor):
        given, widths = [targets], {targets.size(1)}
    else:
        given = [y for y in targets if y is not None]
        widths = {y.numel() for y in given} or {1}
    known = torch.cat([torch.empty(0), *(y.detach().flatten().cpu().double() for y in given)])
    known = known[~known.isnan()]
    whole = not any(y.is_floating_point() for y in given)
    if from_text:
        whole = bool((known == known.round()).all())
    if 1 in widths and whole:  # where graphs differ, those with more than one have no class
        distinct = known.unique()
        if _are_classes(distinct, from_text):
            return "classes"
        if not from_text or len(distinct) <= MANY:
            raise _ask(name, distinct, len(known))
    return "labels" if bool(((known == 0) | (known == 1)).all()) else "values"


def _are_classes(distinct: Tensor, from_text: bool) -> bool:
    """Whether different integers, sorted, are classes without doubt."""
    count = len(distinct)
    if count <= (2 if from_text else FEW):
        return True
    start = float(distinct[0])
    counts_up = start in (0, 1) and float(distinct[-1]) == start + count - 1
    return counts_up and (count <= FEW or (not from_text and start == 0))


def _ask(name: str, distinct: Tensor, rows: int) -> DatasetError:
    shown = ", ".join(_number(value) for value in distinct[:3].tolist())
    return DatasetError(
        f"{name!r} holds {len(distinct)} different whole numbers ({shown}, ..., "
        f"{_number(float(distinct[-1]))}) in {rows} rows. Are they classes or values? Say which: "
        f"task='values' (--task values) predicts a number, task='classes' (--task classes) one of "
        f"{len(distinct)} classes."
    )


def as_target(y: Tensor, task: str, index: int) -> Tensor:
    """The target of graph ``index``: a class number ``[1]``, or a row of floats ``[1, T]``.

    Values are doubles on the CPU, because not every device has doubles.
    """
    if task == "classes":
        if y.is_floating_point() or y.numel() != 1:
            raise InputError(
                f"Graph {index} has no single class number as y, but {y}. Labels and values are "
                f"rows of floats, in all graphs, with NaN for what is missing."
            )
        if int(y) < 0:
            raise InputError(f"Class numbers start at 0; graph {index} has {int(y)}.")
        return y.reshape(1).long()
    if not y.numel():
        raise InputError(f"Graph {index} has an empty y.")
    # Values in double until they are standardised: 1e8 and 1e8 + 1 are the same float.
    row = y.reshape(1, -1)
    row = row.cpu().double() if task == "values" else row.to(torch.get_default_dtype())
    # There are many NaNs; with one of them, the same targets have the same fingerprint.
    row = row.masked_fill(row.isnan(), math.nan)
    wrong = row.isinf() if task == "values" else ~(row.isnan() | (row == 0) | (row == 1))
    if bool(wrong.any()):
        allowed = "finite numbers" if task == "values" else "0 and 1"
        raise InputError(
            f"Graph {index} has {float(row[wrong][0])} in y; {task} are {allowed}, and NaN where "
            f"they are missing."
        )
    return row


def read_targets(
    cells: Sequence[Sequence[str]],
    names: Sequence[str],
    task: str | None = None,
    lines: Sequence[int] | None = None,
) -> Targets:
    """Targets from text, one row of cells for each graph.

    An empty cell, or one of :data:`MISSING`, is unknown. Without ``task``, one column of texts
    holds classes, and numbers what :func:`infer_task` says.

    The cells are ``[N, T]``; ``names`` are those of the columns, ``lines`` those of the rows.
    """
    rows = [[_float(cell) for cell in row] for row in cells]
    texts = [(i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value is None]
    if not texts:
        numbers = torch.tensor(rows, dtype=torch.float64).view(len(rows), len(names))
        task = task or infer_task(numbers, from_text=True, name=names[0])
        return number_targets(numbers, names, task, lines)
    row, column = texts[0]
    cell = f"{_cell(names[column], row, lines)}: {cells[row][column]!r} is not a number"
    if len(names) > 1 or task in ("labels", "values"):
        what = "Several columns" if len(names) > 1 else f"The task {task!r}"
        raise DatasetError(
            f"{cell}. {what} can only be numbers; one column of text is for the task 'classes'."
        )
    check_task(task or "classes")
    if task is None:  # a column of text, or one of values with a few typing errors?
        numbers = torch.tensor([row for row in rows if row[0] is not None], dtype=torch.float64)
        numbers = numbers[~numbers.isnan()].view(-1, 1)
        if len(numbers) > 9 * len(texts) and len(numbers.unique()) > FEW:
            raise DatasetError(
                f"{cell}, but nearly all others are. Correct it or leave the cell empty; or give "
                "the task 'classes'."
            )
    plain = [_class_name(row[0]) for row in cells]
    classes = sorted(set(plain) - {""})
    _check_classes(len(classes), names[0])
    number = {name: i for i, name in enumerate(classes)}
    return Targets("classes", torch.tensor([number.get(name, -1) for name in plain]), classes)


def number_targets(
    numbers: Tensor, names: Sequence[str], task: str, lines: Sequence[int] | None = None
) -> Targets:
    """Targets from numbers ``[N, T]``, NaN where unknown."""
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
            f"{_cell(names[column], row, lines)}: {_number(float(numbers[row, column]))} does not "
            f"fit the task {task!r}, which needs {wanted}."
        )
    return Targets(task, numbers.float(), list(names))


def target_names(name: str, width: int) -> list[str]:
    """The names of ``width`` columns that have one name: ``y``, or ``y[0]``, ``y[1]``, ..."""
    return [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]


def _classes(numbers: Tensor, known: Tensor, names: Sequence[str]) -> Targets:
    if numbers.size(1) > 1:
        raise DatasetError(
            f"The task 'classes' has one column of classes, but {numbers.size(1)} were given: "
            f"{', '.join(names[:5])}. Use 'labels' for several columns of 0 and 1."
        )
    distinct, classes = numbers[known].unique(return_inverse=True)
    _check_classes(len(distinct), names[0])
    y = torch.full((len(numbers),), -1)
    y[known[:, 0]] = classes
    return Targets("classes", y, [_number(value) for value in distinct.tolist()])


def _check_classes(count: int, name: str) -> None:
    if count > MAX_CLASSES:
        raise DatasetError(
            f"Column {name!r} has {count} different values, too many for classes (at most "
            f"{MAX_CLASSES}). Give the column of the labels, or task='values' for numbers."
        )


def _float(cell: str) -> float | None:
    """The number in a cell, NaN for an empty one, None for text."""
    if cell.strip() in MISSING:
        return float("nan")
    return float(cell) if NUMBER.fullmatch(cell.strip()) else None


def _class_name(cell: str) -> str:
    """The text of a class, empty if it is unknown; ``1`` and ``1.0`` are the same class."""
    value = _float(cell)
    if value is None:
        return cell.strip()
    return "" if math.isnan(value) else _number(value)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _cell(name: str, row: int, lines: Sequence[int] | None) -> str:
    return f"Column {name!r}, {f'row {row}' if lines is None else f'line {lines[row]}'}"
