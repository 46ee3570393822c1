"""Named attributes of nodes or edges, sorted into categories and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.columns import TENSOR, Column
from ifmixup.errors import DatasetError

MAX_NAMES = 10_000
"""The most different attributes that nodes, or edges, may have."""

Rows = list[Mapping[str, Any]]
"""What each node, or each edge, of one graph carries, by name."""

Value = int | float | str


def carried(
    graphs: Sequence[Data],
    rows: Sequence[Rows],
    level: str,
    where: str,
    wanted: Sequence[str] | None = None,
    columns: Sequence[Column] | None = None,
) -> list[str]:
    """Put what nodes or edges carry into the graphs, and say what the columns are called.

    Texts and whole numbers are categories and go to ``node_kinds`` or ``edge_kinds``; a category
    that is missing is the category ``""``. Floats go to ``x`` or ``edge_attr`` and must be there
    for every node or edge. Categories come first, each in the order of their names.

    Args:
        graphs: The graphs, which are changed.
        rows: For each graph, what each of its nodes or edges carries.
        level: ``"node"`` or ``"edge"``.
        where: The source, for messages.
        wanted: The attributes to use; all by default.
        columns: The columns that an encoder expects, instead.
    """
    only = wanted
    if columns is not None:
        only = [column.name for column in columns]
        only += [name.rpartition("[")[0] for name in only]
    flat = [[_flat(row, f"{where}, graph {i}", only) for row in one] for i, one in enumerate(rows)]
    if columns is not None:
        kinds = [column.name for column in columns if column.kinds is not None]
        numbers = [column.name for column in columns if column.kinds is None]
    else:
        kinds, numbers = _sorted_names(flat, level, where)
    names = [*kinds, *numbers]
    here = {name for one in flat for row in one for name in row}
    expected = (wanted or []) if columns is None else names
    missing = [name for name in expected if name not in here and f"{name}[0]" not in here]
    if missing and any(flat):
        found = sorted({str(key) for one in rows for row in one for key in row})
        raise DatasetError(
            f"{where}: no {level} has an attribute {missing[0]!r}. There are: "
            f"{', '.join(found[:20]) or 'none'}."
        )
    for place, (graph, one) in enumerate(zip(graphs, flat, strict=True)):
        if kinds:
            graph[f"{level}_kinds"] = [tuple(str(row.get(k, "")) for k in kinds) for row in one]
        if numbers:
            values = [[_number(row, n, level, where, place) for n in numbers] for row in one]
            graph[TENSOR[level]] = torch.tensor(values).float().view(len(one), len(numbers))
    return names


def _sorted_names(
    flat: Sequence[Sequence[Mapping[str, Value]]], level: str, where: str
) -> tuple[list[str], list[str]]:
    """The names of the categories and of the numbers."""
    types: dict[str, set[type]] = {}
    for one in flat:
        for row in one:
            for name, value in row.items():
                types.setdefault(name, set()).add(type(value))
    if len(types) > MAX_NAMES:
        raise DatasetError(
            f"{where}: the {level}s have {len(types)} different attributes, more than the "
            f"{MAX_NAMES} allowed."
        )
    numbers = sorted(n for n, kinds in types.items() if float in kinds and str not in kinds)
    return sorted(set(types) - set(numbers)), numbers


def _flat(row: Mapping[str, Any], where: str, only: Sequence[str] | None) -> dict[str, Value]:
    """Plain values by name; a list of numbers is ``name[0]``, ``name[1]``, ..."""
    flat: dict[str, Value] = {}
    for key, value in row.items():
        if only is not None and key not in only:
            continue
        if isinstance(value, Tensor | np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, list | tuple):
            for place, one in enumerate(value):
                flat[f"{key}[{place}]"] = _value(one, f"{key}[{place}]", where)
        elif value is not None:
            flat[str(key)] = _value(value, str(key), where)
    return flat


def _value(value: Any, name: str, where: str) -> Value:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | str):
        return value
    raise DatasetError(
        f"{where}: the attribute {name!r} is a {type(value).__name__}; numbers, texts and lists of "
        "numbers can be used. Leave it out, or name those to use: node_features=, edge_features=."
    )


def _number(row: Mapping[str, Value], name: str, level: str, where: str, place: int) -> float:
    value = row.get(name)
    if value is None or isinstance(value, str):
        what = "is missing" if value is None else f"is {value[:40]!r}"
        raise DatasetError(
            f"{where}, graph {place}: the attribute {name!r} of a {level} {what}, but others have "
            "numbers there. Give every one a number, or leave the attribute out."
        )
    try:
        return float(value)
    except OverflowError as error:
        raise DatasetError(f"{where}, graph {place}: {name!r} is too large a number.") from error
