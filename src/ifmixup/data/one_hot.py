"""Categories as one-hot columns, for many graphs at once."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from math import isfinite

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.columns import TENSOR, Column, Kind, column_numbers, column_texts, count
from ifmixup.errors import InputError

MAX_ENTRIES = 512 * 1024**2
"""The most entries of a matrix of features (2 GiB): one absurd column must not fill the memory."""

_NAMED = 10  # how many unseen kinds a warning names

Unseen = Counter[tuple[str, Kind]]
"""How often a category of a column, both by name, came that was never seen before."""


def learn(graphs: list[Data], level: str, names: Sequence[str] | None) -> tuple[Column, ...] | None:
    """The columns that the nodes or edges of some graphs carry; None if they carry nothing."""
    kinds, numbers = column_texts(graphs, level), column_numbers(graphs, level)
    columns: list[Column] = []
    if kinds is not None:
        columns += [Column("", tuple(sorted(set(column), key=_order))) for column in kinds]
    if numbers is not None and numbers.is_floating_point():
        columns += [Column("")] * numbers.size(1)
    elif numbers is not None:
        columns += [Column("", tuple(column.unique().tolist())) for column in numbers.t()]
    if kinds is None and numbers is None:
        return None
    if names is None:
        names = [f"{TENSOR[level]}[{place}]" for place in range(len(columns))]
    if len(names) != len(columns):
        raise InputError(f"{len(names)} names were given for {len(columns)} columns: {names}.")
    return tuple(Column(name, column.kinds) for name, column in zip(names, columns, strict=True))


def encode(
    graphs: list[Data],
    level: str,
    columns: tuple[Column, ...],
    unseen: Unseen,
) -> None:
    """Give graphs their features, all at once: many small graphs are slow one by one.

    Args:
        graphs: The graphs, which are changed.
        level: ``"node"`` or ``"edge"``.
        columns: The columns that they should have.
        unseen: Where categories that are in no column are counted.
    """
    counts = [count(graph, level) for graph in graphs]
    width = sum(column.width for column in columns)
    if not sum(counts):  # no node or edge, so no column that could be wrong
        _hand_out(graphs, level, torch.zeros(0, width, device=_device(graphs)), counts)
        return
    texts, numbers = column_texts(graphs, level), column_numbers(graphs, level)
    if texts is None and numbers is None:
        raise InputError(
            f"The graphs have no {TENSOR[level]}, but the encoder was learned on graphs with "
            f"{_named(columns)}."
        )
    given: list[list[str] | Tensor] = list(texts or [])
    given += [] if numbers is None else list(numbers.t())
    if len(given) != len(columns):
        raise InputError(
            f"The graphs have {len(given)} columns of {TENSOR[level]}, but the encoder was "
            f"learned on {len(columns)}: {_named(columns)}."
        )
    _check_size(sum(counts), width, TENSOR[level])
    dtype = numbers.dtype if numbers is not None and numbers.is_floating_point() else None
    out = torch.zeros(sum(counts), width, dtype=dtype, device=_device(graphs))
    start = 0
    for column, values in zip(columns, given, strict=True):
        _fill(out[:, start : start + column.width], column, values, unseen)
        start += column.width
    _hand_out(graphs, level, out, counts)


def _device(graphs: list[Data]) -> torch.device | None:
    """Where the graphs are."""
    tensors = [value for graph in graphs[:1] for _, value in graph if isinstance(value, Tensor)]
    return tensors[0].device if tensors else None


def _hand_out(graphs: list[Data], level: str, out: Tensor, counts: list[int]) -> None:
    # Copies and not views: whoever saves or sends one graph would else save all of them.
    for graph, rows in zip(graphs, out.split(counts), strict=True):
        graph[TENSOR[level]] = rows.clone()
        if f"{level}_kinds" in graph:
            del graph[f"{level}_kinds"]


def _fill(out: Tensor, column: Column, values: list[str] | Tensor, unseen: Unseen) -> None:
    numbers = isinstance(values, Tensor) and values.is_floating_point()
    if numbers != (column.kinds is None):
        is_, was = ("numbers", "categories") if numbers else ("categories", "numbers")
        raise InputError(
            f"{column.name} holds {is_}, but held {was} when the encoder was learned. Give "
            "categories as integers and numbers as floats, as the training graphs had them."
        )
    if column.kinds is None:
        out[:, 0] = values  # type: ignore[assignment]
        return
    given, known = int if isinstance(values, Tensor) else str, {type(kind) for kind in column.kinds}
    if known - {given}:
        raise InputError(
            f"{column.name} holds categories of the type {given.__name__}, but the encoder knows "
            f"others, such as {column.kinds[0]!r}. Load these graphs as the training graphs were."
        )
    place = {kind: i for i, kind in enumerate(column.kinds)}
    if isinstance(values, Tensor):
        distinct, index = values.unique(return_inverse=True)
        kinds: list[Kind] = distinct.tolist()
    else:
        kinds = list(dict.fromkeys(values))
        number = {kind: i for i, kind in enumerate(kinds)}
        index = torch.tensor([number[value] for value in values], dtype=torch.long)
    places = torch.tensor([place.get(kind, -1) for kind in kinds], dtype=torch.long)
    found = places.to(out.device)[index.to(out.device)]
    rows = (found >= 0).nonzero().squeeze(1)
    out[rows, found[rows]] = 1
    if len(rows) < len(found):
        for kind, count in zip(kinds, index.bincount(minlength=len(kinds)).tolist(), strict=True):
            if kind not in place:
                unseen[column.name, kind] += count


def warn_about(unseen: Unseen) -> None:
    """One warning for all categories that were never seen."""
    if not unseen:
        return
    shown = [f"{name} {kind!r} ({count}x)" for (name, kind), count in unseen.most_common(_NAMED)]
    more = f" and {len(unseen) - _NAMED} more" if len(unseen) > _NAMED else ""
    warnings.warn(
        f"{len(unseen)} categories were not there when the encoder was learned and became zeros: "
        f"{', '.join(shown)}{more}. Predictions for these graphs are less certain.",
        stacklevel=3,
    )


def _check_size(rows: int, width: int, what: str) -> None:
    """See that features of this size may be made."""
    if rows * width > MAX_ENTRIES:
        raise InputError(
            f"{what} would have {rows} x {width} entries, more than the {MAX_ENTRIES} allowed. "
            "Leave out integer columns that are no categories, or make them floats."
        )


def _order(kind: Kind) -> tuple[bool, float, str]:
    """Numbers in their order, then texts in theirs."""
    text = str(kind)
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return (False, number, text) if isfinite(number) else (True, 0.0, text)


def _named(columns: tuple[Column, ...]) -> str:
    return ", ".join(column.name for column in columns)
