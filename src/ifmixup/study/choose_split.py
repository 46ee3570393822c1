"""``split=`` and ``--split``: from what a user asks for to folds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ifmixup.errors import InputError
from ifmixup.study.group_splits import column_groups, column_splits, group_splits, scaffolds
from ifmixup.study.leaks import leaks
from ifmixup.study.split_files import as_splits, load_splits
from ifmixup.study.splits import NEEDED, Splits, make_splits, own_splits
from ifmixup.training.packed import PackedDataset

Split = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Splits

NAMES = ("random", "scaffold", "group:COLUMN", "column:COLUMN")
_BY_COLUMN = ("group", "column")


def columns_of(split: Split | None) -> tuple[str, ...]:
    """The columns of the source that a split needs, for :func:`ifmixup.data.load`."""
    kind, colon, column = split.partition(":") if isinstance(split, str) else ("", "", "")
    if kind not in _BY_COLUMN or not colon:
        return ()
    if not column:
        raise InputError(f"{kind}: needs the name of a column, such as {kind}:{kind}.")
    return (column,)


def choose_splits(
    data: PackedDataset,
    split: Split | None = None,
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    needed: Sequence[str] = NEEDED,
) -> Splits:
    """The folds that a user asks for, with notes of what must be said, such as leaks.

    Args:
        data: The graphs, with the columns of :func:`columns_of`.
        split: ``random``: stratified folds. ``scaffold``: whole Bemis-Murcko scaffolds.
            ``group:COLUMN``: whole groups. ``column:COLUMN``: train, val or test. A JSON file or a
            mapping with ``train``, ``val`` and ``test``, or a list of such: see
            :mod:`~ifmixup.study.split_files`. None: the dataset's own split, else random.
        folds: How many folds are made; with 1, one split of 80/10/10.
        repeats: How many times. A split that is given is trained on so many times.
        seed: Decides what is drawn.
        needed: The parts that must not be empty in a split that is given.
    """
    again: dict[str, Any] = {"repeats": repeats, "seed": seed}
    if isinstance(split, Splits):
        found = split
    elif split is None and data.split is not None:
        found = own_splits(data, **again)
    elif split is None or split == "random":
        found = make_splits(data, folds=folds, **again)
    elif split == "scaffold":
        found = group_splits(data, scaffolds(data), folds=folds, **again)
    elif columns := columns_of(split):
        if str(split).startswith("column"):
            found = column_splits(data, *columns, **again)
        else:
            found = group_splits(data, column_groups(data, *columns), folds=folds, **again)
    elif isinstance(split, str | os.PathLike):
        found = load_splits(_file(split), data, needed=needed, **again)
    else:
        found = as_splits(split, data, needed=needed, **again)
    return replace(found, notes=(*found.notes, *leaks(data, found)))


def _file(split: str | os.PathLike[str]) -> Path:
    path = Path(split).expanduser()
    if isinstance(split, str) and not path.exists():
        near = get_close_matches(split, ["random", "scaffold"], 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(
            f"There is no split {split!r}, and no file of that name.{meant} Use "
            f"{', '.join(NAMES)} or a JSON file."
        )
    return path
