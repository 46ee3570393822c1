"""Splits that a user brings: a JSON file, or lists of graphs in Python. They are not trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ifmixup.errors import InputError, known_name
from ifmixup.study.splits import NEEDED, Splits, check_parts, fold_of, given_splits, repeated
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import PARTS
from ifmixup.values import short

MAX_BYTES = 1024**3
NAMES = {
    "train": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
"""The parts, by what users call them."""

_FORMS = (
    'Expected {"train": [...], "val": [...], "test": [...]}, a list of such objects, or a '
    "splits-*.json that ifmixup wrote."
)


def load_splits(
    path: str | os.PathLike[str],
    data: PackedDataset,
    *,
    repeats: int = 1,
    seed: int = 0,
    needed: Sequence[str] = NEEDED,
) -> Splits:
    """Read splits of ``data`` from a JSON file: one split, a list of them, or our own format.

    In a file of others, indices count the rows of the source from 0, skipped ones included; a row
    that was skipped is left out of its part. In ours they count the graphs.

    Args:
        repeats: How many times each split is trained on; each time with draws of its own.
        seed: Decides which tenth of the training graphs validates, where the file does not say.
        needed: The parts that must not be empty.
    """
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise InputError(f"The splits {path} are larger than the {MAX_BYTES} bytes allowed.")
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"The splits {path} cannot be read: {error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"The splits {path} are not JSON: {error}.") from error
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The splits {path} are not JSON: {error}.") from error
    if isinstance(values, dict) and "folds" in values:
        return _ours(values, data, str(path), repeats)
    return as_splits(
        values, data, str(path), repeats=repeats, seed=seed, needed=needed, of_rows=True
    )


def as_splits(
    values: Any,
    data: PackedDataset,
    source: str = "split",
    *,
    repeats: int = 1,
    seed: int = 0,
    needed: Sequence[str] = NEEDED,
    of_rows: bool = False,
) -> Splits:
    """Splits from the graphs of each part by its name, or from a list of such objects.

    Args:
        values: Indices of graphs under ``train``, ``val`` (``valid``, ``validation``) and ``test``:
            lists, arrays or tensors. Without ``val`` a tenth of the training graphs validates.
        source: Where they come from, for messages.
        of_rows: Whether indices count the rows of the source, skipped ones included.
        repeats, seed, needed: As for :func:`load_splits`.
    """
    several = [values] if isinstance(values, Mapping) else values
    if not isinstance(several, Sequence) or isinstance(several, str) or not several:
        raise InputError(f"{source} is not a split: got {short(values)}. {_FORMS}")
    folds, skipped = [], 0
    for number, each in enumerate(several):
        name = source if len(several) == 1 else f"{source}, split {number}"
        parts = _parts(each, name)
        if of_rows:
            given = sum(map(len, parts.values()))
            parts = _graphs_of_rows(parts, data, name)
            skipped += given - sum(map(len, parts.values()))
        folds.append(parts)
    found = given_splits(data, folds, source, repeats=repeats, seed=seed, needed=needed)
    if skipped:
        rows, were, are = ("row", "was", "is") if skipped == 1 else ("rows", "were", "are")
        note = f"{skipped} {rows} in {source} {were} skipped when reading, and {are} left out."
        return replace(found, notes=(note, *found.notes))
    return found


def _parts(values: Any, name: str) -> dict[str, list[Any]]:
    """The lists of one split by our names of the parts."""
    if not isinstance(values, Mapping):
        raise InputError(f"{name} is not a split: got {short(values)}. {_FORMS}")
    found: dict[str, list[Any]] = {}
    for key, indices in values.items():
        part = NAMES[known_name(f"part in {name}:", str(key)[:60].lower(), NAMES)]
        if part in found:
            raise InputError(f"{name} has validation graphs under two names. Keep one.")
        if isinstance(indices, Tensor | np.ndarray):
            indices = indices.tolist()
        if not isinstance(indices, list | tuple | range):
            raise InputError(f"{name}: {key!r} must be a list of indices; got {short(indices)}.")
        found[part] = list(indices)
    return found


def _graphs_of_rows(
    parts: Mapping[str, list[Any]], data: PackedDataset, name: str
) -> dict[str, list[Any]]:
    """The graphs of rows of the source, without the rows that were skipped."""
    if data.rows is None or data.rows.total == len(data):
        return dict(parts)
    graph = {row: index for index, row in enumerate(data.rows.index)}
    for part, rows in parts.items():
        for row in rows:
            if type(row) is not int or not 0 <= row < data.rows.total:
                raise InputError(
                    f"{name}: {short(row)} in {part!r} is not a row of the source; they are "
                    f"numbered 0 to {data.rows.total - 1}."
                )
    return {part: [graph[r] for r in rows if r in graph] for part, rows in parts.items()}


def _ours(values: Mapping[str, Any], data: PackedDataset, source: str, repeats: int) -> Splits:
    """Splits in our own format; an error names the fold and says what is wrong with it."""
    if not isinstance(values["folds"], list) or not values["folds"]:
        raise InputError(f"{source}: 'folds' must be a list of at least one fold. {_FORMS}")
    tested: dict[tuple[int, int], int] = {}  # (repeat, graph) -> the fold that tests on it
    folds = {}
    for number, fold in enumerate(values["folds"]):
        name = f"{source}, entry {number} of 'folds'"
        if not isinstance(fold, dict):
            raise InputError(f"{name} must be an object with repeat, fold, {', '.join(PARTS)}.")
        for key in ("repeat", "fold"):
            if type(fold.get(key)) is not int or not 0 <= fold[key] < 2**31:
                raise InputError(f"{name}: {key!r} must be a number from 0; got {fold.get(key)!r}.")
        pair = fold["repeat"], fold["fold"]
        name = f"{source}, repeat {pair[0]}, fold {pair[1]}"
        if pair in folds:
            raise InputError(f"{name} occurs twice. Number the folds of a repeat 0, 1, 2 ...")
        if not fold.get("validation"):
            raise InputError(f"{name}: 'validation' must be a list of at least one graph.")
        parts = check_parts(fold, len(data), name)
        folds[pair] = fold_of(*pair, *parts.values())
        for graph in parts["test"].tolist():
            other = tested.setdefault((pair[0], graph), pair[1])
            if other != pair[1]:
                raise InputError(
                    f"{name}: test graph {graph} is a test graph of fold {other} of that repeat, "
                    f"too. The test folds of a repeat must not overlap."
                )
    seed = values.get("seed")
    made = Splits(
        data.name,
        data.fingerprint,
        seed if type(seed) is int and 0 <= seed < 2**63 else 0,
        repeated([folds[pair] for pair in sorted(folds)], repeats),
    )
    if values.get("data") in (None, data.fingerprint):
        return made
    note = (
        f"{source} was made for other graphs, or for the same ones with other features, labels or "
        f"another metric ({short(values.get('dataset'))}): its indices are used as they are."
    )
    return replace(made, notes=(note,))
