"""How features are made: fitted to the training graphs, then used on every other graph."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError

MAX_ENTRIES = 512 * 1024**2
"""The most entries of a feature matrix (2 GiB): one absurd column must not fill the memory."""

DEGREE = "(degree)"
"""The column of graphs without node data; in brackets, as users may have a ``degree``."""

TENSOR = {"node": "x", "edge": "edge_attr"}
"""Where a graph keeps the features of its nodes and of its edges."""

Kind = int | str

_NAMED = 10  # how many unseen categories a warning names


@dataclass(frozen=True)
class Column:
    """One column of node or edge data.

    Attributes:
        name: Its name, for messages.
        kinds: The categories in order, each of which becomes one feature; None for numbers, which
            stay as they are.
    """

    name: str
    kinds: tuple[Kind, ...] | None = None

    @property
    def width(self) -> int:
        """The number of features it becomes."""
        return 1 if self.kinds is None else len(self.kinds)

    @property
    def feature_names(self) -> list[str]:
        """The names of those features."""
        if self.kinds is None:
            return [self.name]
        return [f"{self.name}={kind}" for kind in self.kinds]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"name": self.name, "kinds": None if self.kinds is None else list(self.kinds)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Column:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        name, kinds = values["name"], values["kinds"]
        if not isinstance(name, str):
            raise TypeError(f"a name is a text, not {name!r}")
        if kinds is None:
            return cls(name)
        for kind in kinds:
            if isinstance(kind, bool) or not isinstance(kind, int | str):
                raise TypeError(f"a category is an integer or a text, not {kind!r}")
        if len(set(kinds)) != len(kinds):
            raise ValueError(f"{name} has a category twice")
        return cls(name, tuple(kinds))


@dataclass(frozen=True)
class FeatureEncoder:
    r"""Makes float features of categories, the same way for every graph.

    .. math:: \mathbf{x}_i = \mathrm{onehot}(k_{i1}) \,\Vert\, \dots \,\Vert\, \mathbf{f}_i

    where :math:`k_{ij}` are categories (integer columns of ``x``, or the texts of ``node_kinds``,
    one row per node) and :math:`\mathbf{f}_i` float columns, which stay unchanged. The same holds
    for ``edge_attr`` and ``edge_kinds``. A category that was not there when the encoder was learned
    becomes zeros, and a warning counts and names such categories.

    Attributes:
        nodes: The columns of the nodes.
        edges: The columns of the edges; None where edges have no data.
    """

    nodes: tuple[Column, ...]
    edges: tuple[Column, ...] | None = None

    @classmethod
    def fit(
        cls,
        graphs: Iterable[Data],
        *,
        node_names: Sequence[str] | None = None,
        edge_names: Sequence[str] | None = None,
    ) -> FeatureEncoder:
        """Collect the categories of some graphs.

        Args:
            graphs: The training graphs, all with the same columns.
            node_names: The names of the columns of the nodes.
            edge_names: The names of the columns of the edges.
        """
        graphs = list(graphs)
        if not graphs:
            raise InputError("An encoder is learned on graphs, but there are none.")
        nodes = _columns_of(graphs, "node", node_names)
        if nodes is None:
            raise InputError(
                "The graphs have no node features x. Give them some, such as the degree: "
                "torch_geometric.utils.degree(...)."
            )
        return cls(nodes, _columns_of(graphs, "edge", edge_names))

    def transform(self, graphs: Iterable[Data]) -> list[Data]:
        """The same graphs with float ``x`` and ``edge_attr``; the given ones are not changed.

        Raises:
            InputError: If a graph does not have the columns that the encoder knows.
        """
        found = [copy(graph) for graph in graphs]
        unseen: Counter[tuple[str, Kind]] = Counter()
        _encode(found, "node", self.nodes, unseen)
        if self.edges is not None:
            _encode(found, "edge", self.edges, unseen)
        else:  # the training graphs had no edge data, so a model cannot use it
            for graph in found:
                for key in ("edge_attr", "edge_kinds"):
                    if key in graph:
                        del graph[key]
        if unseen:
            _warn(unseen)
        return found

    @property
    def num_features(self) -> int:
        """The width of ``x``."""
        return sum(column.width for column in self.nodes)

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns of ``x``."""
        return [name for column in self.nodes for name in column.feature_names]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, to be saved beside a model."""
        return {
            "nodes": [column.to_dict() for column in self.nodes],
            "edges": None if self.edges is None else [column.to_dict() for column in self.edges],
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> FeatureEncoder:
        """The inverse of :meth:`to_dict`."""
        try:
            nodes, edges = values["nodes"], values["edges"]
            return cls(
                tuple(map(Column.of, nodes)),
                None if edges is None else tuple(map(Column.of, edges)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"These values are not those of a FeatureEncoder ({error})."
            ) from error


def _columns_of(
    graphs: list[Data], level: str, names: Sequence[str] | None
) -> tuple[Column, ...] | None:
    """The columns of the nodes or edges of some graphs; None if they have no data."""
    texts, numbers = _texts(graphs, level), _numbers(graphs, level)
    if texts is None and numbers is None:
        return None
    kinds: list[tuple[Kind, ...] | None] = []
    kinds += [tuple(sorted(set(column), key=_order)) for column in texts or ()]
    if numbers is not None and numbers.is_floating_point():
        kinds += [None] * numbers.size(1)
    elif numbers is not None:
        kinds += [tuple(column.unique().tolist()) for column in numbers.t()]
    if names is None:
        names = [f"{TENSOR[level]}[{i}]" for i in range(len(kinds))]
    if len(names) != len(kinds):
        raise InputError(f"{len(names)} names were given for {len(kinds)} columns: {names}.")
    return tuple(map(Column, names, kinds))


def _encode(
    graphs: list[Data],
    level: str,
    columns: tuple[Column, ...],
    unseen: Counter[tuple[str, Kind]],
) -> None:
    """Give graphs their features, all at once: many small graphs are slow one by one.

    Args:
        graphs: The graphs, which are changed.
        level: ``"node"`` or ``"edge"``.
        columns: The columns that they should have.
        unseen: Counts the categories that are in no column, by the name of the column.
    """
    counts = [_count(graph, level) for graph in graphs]
    width = sum(column.width for column in columns)
    if not sum(counts):  # no node or edge, so no column that could be wrong
        _hand_out(graphs, level, torch.zeros(0, width, device=_device(graphs)), counts)
        return
    texts, numbers = _texts(graphs, level), _numbers(graphs, level)
    key, names = TENSOR[level], ", ".join(column.name for column in columns)
    if texts is None and numbers is None:
        raise InputError(
            f"The graphs have no {key}, but the encoder was learned on graphs with {names}."
        )
    given: list[list[str] | Tensor] = list(texts or [])
    given += [] if numbers is None else list(numbers.t())
    if len(given) != len(columns):
        raise InputError(
            f"The graphs have {len(given)} columns of {key}, but the encoder was learned on "
            f"{len(columns)}: {names}."
        )
    if sum(counts) * width > MAX_ENTRIES:
        raise InputError(
            f"{key} would have {sum(counts)} x {width} entries, more than the {MAX_ENTRIES} "
            "allowed. Leave out integer columns that are not categories, or make them floats."
        )
    dtype = numbers.dtype if numbers is not None and numbers.is_floating_point() else None
    out = torch.zeros(sum(counts), width, dtype=dtype, device=_device(graphs))
    start = 0
    for column, values in zip(columns, given, strict=True):
        _fill(out[:, start : start + column.width], column, values, unseen)
        start += column.width
    _hand_out(graphs, level, out, counts)


def _fill(
    out: Tensor,
    column: Column,
    values: list[str] | Tensor,
    unseen: Counter[tuple[str, Kind]],
) -> None:
    """Write the features of one column into ``out`` ``[rows, column.width]``."""
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
    feature = {kind: i for i, kind in enumerate(column.kinds)}
    if isinstance(values, Tensor):
        distinct, index = values.unique(return_inverse=True)
        kinds: list[Kind] = distinct.tolist()
    else:
        kinds = list(dict.fromkeys(values))
        number = {kind: i for i, kind in enumerate(kinds)}
        index = torch.tensor([number[value] for value in values], dtype=torch.long)
    features = torch.tensor([feature.get(kind, -1) for kind in kinds], dtype=torch.long)
    found = features.to(out.device)[index.to(out.device)]
    rows = (found >= 0).nonzero().squeeze(1)
    out[rows, found[rows]] = 1
    if len(rows) < len(found):
        for kind, count in zip(kinds, index.bincount(minlength=len(kinds)).tolist(), strict=True):
            if kind not in feature:
                unseen[column.name, kind] += count


def _hand_out(graphs: list[Data], level: str, out: Tensor, counts: list[int]) -> None:
    # Copies, not views: saving or sending one graph must not take all others with it.
    for graph, rows in zip(graphs, out.split(counts), strict=True):
        graph[TENSOR[level]] = rows.clone()
        if f"{level}_kinds" in graph:
            del graph[f"{level}_kinds"]


def _device(graphs: list[Data]) -> torch.device | None:
    """The device of the graphs."""
    tensors = [value for graph in graphs[:1] for _, value in graph if isinstance(value, Tensor)]
    return tensors[0].device if tensors else None


def _warn(unseen: Counter[tuple[str, Kind]]) -> None:
    """One warning for all categories that the encoder does not know."""
    shown = [f"{name} {kind!r} ({count}x)" for (name, kind), count in unseen.most_common(_NAMED)]
    more = f" and {len(unseen) - _NAMED} more" if len(unseen) > _NAMED else ""
    warnings.warn(
        f"{len(unseen)} categories were not there when the encoder was learned and became zeros: "
        f"{', '.join(shown)}{more}. Predictions for these graphs are less certain.",
        stacklevel=3,
    )


def _order(kind: Kind) -> tuple[bool, float, str]:
    """Numbers in their order, then texts in theirs."""
    text = str(kind)
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return (False, number, text) if isfinite(number) else (True, 0.0, text)


def _texts(graphs: list[Data], level: str) -> list[list[str]] | None:
    """The columns of ``node_kinds`` or ``edge_kinds``, over all graphs; None if there are none."""
    key = f"{level}_kinds"
    have = [key in graph for graph in graphs]
    if not any(have):
        return None
    if not all(have):
        raise InputError(f"Graph {have.index(False)} has no {key}, but others have it.")
    for index, graph in enumerate(graphs):
        _check_rows(index, graph, level, key, len(graph[key]))
    rows = [row for graph in graphs for row in graph[key]]
    # Graphs without any edge have no rows: one column is then as good as any.
    widths = {len(row) for row in rows} or {1}
    if len(widths) > 1:
        raise InputError(f"The rows of {key} have different lengths: {sorted(widths)}.")
    return [[row[i] for row in rows] for i in range(widths.pop())]


def _numbers(graphs: list[Data], level: str) -> Tensor | None:
    """``x`` or ``edge_attr`` of all graphs, ``[rows, columns]``; None if there is none."""
    key = TENSOR[level]
    found = [graph.get(key) for graph in graphs]
    if all(value is None for value in found):
        return None
    parts: list[Tensor] = []
    for index, (graph, value) in enumerate(zip(graphs, found, strict=True)):
        if value is None and level == "edge" and graph.num_edges == 0:
            continue
        if value is None:
            raise InputError(f"Graph {index} has no {key}, but others have it.")
        if not isinstance(value, Tensor) or value.dim() not in (1, 2):
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise InputError(
                f"Graph {index} has {key} of shape {shape}; [rows, columns] is needed."
            )
        rows = value.unsqueeze(-1) if value.dim() == 1 else value
        rows = rows.float() if rows.dtype == torch.bool else rows
        _check_rows(index, graph, level, key, len(rows))
        if parts and rows.size(1) != parts[0].size(1):
            raise InputError(
                f"Graphs 0 and {index} differ: {key} has {parts[0].size(1)} columns and "
                f"{rows.size(1)}. Encode all graphs alike."
            )
        if parts and rows.is_floating_point() != parts[0].is_floating_point():
            raise InputError(
                f"Graphs 0 and {index} differ: {key} is {parts[0].dtype} and {rows.dtype}. Give "
                "categories as integers and numbers as floats."
            )
        parts.append(rows)
    return torch.cat(parts)


def _check_rows(index: int, graph: Data, level: str, key: str, rows: int) -> None:
    if rows != _count(graph, level):
        raise InputError(
            f"Graph {index} has {rows} rows of {key}, but {_count(graph, level)} {level}s."
        )


def _count(graph: Data, level: str) -> int:
    """The number of nodes or edges of a graph."""
    return int(graph.num_nodes or 0) if level == "node" else int(graph.num_edges)
