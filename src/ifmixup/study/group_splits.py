"""Splits by what is known of the graphs: whole scaffolds or groups, or a column with the parts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ifmixup.errors import InputError, import_extra
from ifmixup.study.split_files import NAMES
from ifmixup.study.splits import TENTHS, Splits, check_counts, fold_of, given_splits
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import Fold, digest
from ifmixup.values import listed, short


def scaffolds(data: PackedDataset) -> list[str]:
    """The Bemis-Murcko scaffold of each molecule, as canonical SMILES.

    That is its rings and what links them, with elements and bonds, without stereochemistry. All
    molecules without a ring have the scaffold ``""`` and are one group, as in MoleculeNet and OGB.
    """
    with molecules_of(data) as molecules:
        murcko = import_extra("rdkit.Chem.Scaffolds.MurckoScaffold", "chem")
        return [murcko.MurckoScaffoldSmiles(mol=m, includeChirality=False) for m in molecules]


@contextmanager
def molecules_of(data: PackedDataset) -> Iterator[Iterator[Any]]:
    """RDKit's molecules of the graphs, one by one; its messages to stderr are silent meanwhile."""
    if data.rows is None or data.rows.smiles is None:
        raise InputError(
            f"{data.name} has no SMILES, so its scaffolds are unknown. Use a table of molecules, "
            f"or --split group:COLUMN (split='group:COLUMN')."
        )
    chem = import_extra("rdkit.Chem", "chem")
    base = import_extra("rdkit.rdBase", "chem")
    with base.BlockLogs():
        yield (chem.MolFromSmiles(each) for each in data.rows.smiles)


def cells(data: PackedDataset, column: str) -> Sequence[str]:
    """The cells of a column of the source."""
    if data.rows is None or column not in data.rows.columns:
        raise InputError(
            f"{data.name} was loaded without a column {column!r}. Load its source with "
            f"columns=[{column!r}], or name the source itself."
        )
    return data.rows.columns[column]


def group_splits(
    data: PackedDataset,
    groups: Sequence[Hashable],
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
) -> Splits:
    """Folds of whole groups: no group is in two parts.

    The largest group comes first, and each goes to the fold that has the fewest graphs so far. Of
    the groups that a fold does not test on, about a tenth of the graphs validates. The first repeat
    does not depend on the seed; later ones put groups of the same size into another order.

    Args:
        groups: The group of each graph.
        folds: How many folds. With 1 there is one split: the largest groups train, up to 80 % of
            the graphs, the next validate, up to 90 %, and the rest, small groups, tests.
        repeats: How many times.
        seed: Decides the order of groups of the same size from the second repeat on.
    """
    check_counts(folds, repeats)
    _, first, numbers, sizes = np.unique(
        np.array([digest(str(group)) for group in groups]),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    needed = max(folds + 1, 3)
    if len(sizes) < needed:
        raise InputError(
            f"{data.name} has {len(sizes)} group{'s' * (len(sizes) != 1)}; with {folds} "
            f"fold{'s' * (folds != 1)} at least {needed} are needed, to train, validate and test "
            f"on different ones. Use fewer folds, or other groups."
        )
    made = []
    for repeat in range(repeats):
        by_age = np.argsort(first, kind="stable")  # in the order of the dataset
        if repeat and folds > 1:
            start = int(digest(["groups", seed, repeat])[:8], 16)
            by_age = np.random.RandomState(start).permutation(by_age)
        order = by_age[np.argsort(-sizes[by_age], kind="stable")]
        if folds == 1:
            made.append(_single(repeat, numbers, sizes, order))
        else:
            made += _cross_validation(repeat, numbers, sizes, order, folds)
    return Splits(data.name, data.fingerprint, seed, tuple(made))


def column_splits(data: PackedDataset, column: str, *, repeats: int = 1, seed: int = 0) -> Splits:
    """The split that a column names: ``train``, ``val`` (``valid``, ``validation``) or ``test``.

    Graphs whose cell is empty are in no part.
    """
    parts: dict[str, list[int]] = {part: [] for part in NAMES.values()}
    for index, cell in enumerate(cells(data, column)):
        name = cell.strip().lower()
        if name and name not in NAMES:
            raise InputError(
                f"{short(cell)} in the column {column!r} (graph {index}) is not a part of a "
                f"split. Allowed are {', '.join(NAMES)}, or nothing for a graph that is not used. "
                f"For whole groups, use group:{column}."
            )
        if name:
            parts[NAMES[name]].append(index)
    missing = [part for part in ("train", "test") if not parts[part]]
    if missing:
        raise InputError(f"No graph is in the part {missing[0]!r} of the column {column!r}.")
    found = given_splits(data, [parts], f"The column {column!r}", repeats=repeats, seed=seed)
    unused = len(data) - sum(map(len, parts.values()))
    if not unused:
        return found
    note = f"{unused} of {len(data)} graphs are not used: they have no part in {column!r}."
    return replace(found, notes=(note, *found.notes))


def column_groups(data: PackedDataset, column: str) -> Sequence[str]:
    """The group of each graph, by a column; every graph needs one."""
    groups = [cell.strip() for cell in cells(data, column)]
    empty = [index for index, group in enumerate(groups) if not group]
    if empty:
        raise InputError(
            f"{len(empty)} of the {len(groups)} graphs have no group in the column {column!r}: "
            f"{listed([str(index) for index in empty], 5)}. Fill them in, or leave these rows out."
        )
    return groups


def _cross_validation(
    repeat: int, numbers: np.ndarray, sizes: np.ndarray, order: np.ndarray, folds: int
) -> list[Fold]:
    fold_of_group = _balanced(sizes, order, folds)
    made = []
    for fold in range(folds):
        rest = order[fold_of_group[order] != fold]
        chance = np.random.RandomState(int(digest(["groups", repeat, fold])[:8], 16))
        validating = np.isin(numbers, _tenth(sizes, chance.permutation(rest)))
        testing = fold_of_group[numbers] == fold
        parts = (~testing & ~validating, validating, testing)
        made.append(fold_of(repeat, fold, *map(np.flatnonzero, parts)))
    return made


def _balanced(sizes: np.ndarray, order: np.ndarray, parts: int) -> np.ndarray:
    """The part of each group, when each in turn goes to the part with the fewest graphs."""
    weights = np.zeros(parts, dtype=np.int64)
    found = np.full(len(sizes), -1)
    for group in order:
        found[group] = weights.argmin()
        weights[found[group]] += sizes[group]
    return found


def _tenth(sizes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Of ``groups``, in that order, those that fit into a tenth of their graphs; at least one."""
    most = sizes[groups].sum() / TENTHS
    taken, total = [], 0
    for group in groups:
        if total + sizes[group] <= most:
            taken.append(group)
            total += sizes[group]
    return np.array(taken or [groups[sizes[groups].argmin()]])


def _single(repeat: int, numbers: np.ndarray, sizes: np.ndarray, order: np.ndarray) -> Fold:
    """80/10/10: a group that no longer fits into the training part is offered to validation."""
    total = sizes.sum()
    part = np.full(len(sizes), 2)
    taken = np.zeros(2)
    for group in order:
        if taken[0] + sizes[group] <= total * 8 / TENTHS:
            part[group] = 0
        elif taken.sum() + sizes[group] <= total * 9 / TENTHS:
            part[group] = 1
        if part[group] < 2:
            taken[part[group]] += sizes[group]
    for needed in range(3):  # few large groups may leave a part empty: it takes the smallest one
        if not (part == needed).any():
            crowded = np.flatnonzero(np.bincount(part, minlength=3)[part] > 1)
            part[crowded[sizes[crowded].argmin()]] = needed
    return fold_of(repeat, 0, *(np.flatnonzero(part[numbers] == each) for each in range(3)))
