"""How features are made: fitted to the training graphs, then used on every other graph."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.edges import shape_of
from ifmixup.errors import InputError
from ifmixup.safe_io import VARIABLE, max_bytes
from ifmixup.values import listed, short

MAX_ENTRIES = 192 * 1024**2  # of a feature matrix: one absurd column must not fill the memory
DEGREE = "(degree)"  # the column of graphs without node data; users may have a "degree"
TENSOR = {"node": "x", "edge": "edge_attr"}  # where a graph keeps its features

Kind = int | str
Values = list[str] | Tensor  # of one column: texts, or integers or floats [rows]


@dataclass(frozen=True)
class Column:
    """One column of node or edge data.

    Each of its ``kinds``, the categories in order, becomes one feature; None is for numbers, which
    stay as they are.
    """

    name: str  # for messages
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

    @classmethod
    def of(cls, name: Any, kinds: Any) -> Column:
        """The column with these values, which may come from an untrusted file."""
        known = None if kinds is None else tuple(kinds)
        plain = all(type(kind) in (int, str) for kind in known or ())
        if not isinstance(name, str) or not plain or len(set(known or ())) < len(known or ()):
            raise ValueError(f"{short(name)} with the categories {short(kinds)}")
        return cls(name, known)


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
        """Collect the categories of the training graphs, which all have the same columns.

        Names are those of the columns of nodes and of edges.
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
                graph.edge_attr = graph.edge_kinds = None  # PyG removes them
        if unseen:
            shown = [f"{name} {kind!r} ({count}x)" for (name, kind), count in unseen.most_common()]
            warnings.warn(
                f"{len(unseen)} categories are not in the training data and were encoded as "
                f"zeros: {listed(shown)}. Predictions for these graphs are less certain.",
                stacklevel=2,
            )
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
        return {"nodes": _plain(self.nodes), "edges": _plain(self.edges)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> FeatureEncoder:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        try:
            nodes, edges = values["nodes"], values["edges"]
            return cls(
                tuple(Column.of(**column) for column in nodes),
                None if edges is None else tuple(Column.of(**column) for column in edges),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"These values are not those of a FeatureEncoder ({error})."
            ) from error


def max_entries() -> int:
    """How many numbers a feature matrix may have."""
    return max_bytes(4 * MAX_ENTRIES) // 4


def _plain(columns: tuple[Column, ...] | None) -> list[dict[str, Any]] | None:
    if columns is None:
        return None
    kinds = [None if column.kinds is None else list(column.kinds) for column in columns]
    return [{"name": column.name, "kinds": own} for column, own in zip(columns, kinds, strict=True)]


def _columns_of(
    graphs: list[Data], level: str, names: Sequence[str] | None
) -> tuple[Column, ...] | None:
    """The columns of the nodes or edges of some graphs; None if they have no data."""
    given = _values(graphs, level)
    if given is None:
        return None
    names = names or [f"{TENSOR[level]}[{i}]" for i in range(len(given))]
    if not any(len(column) for column in given):  # as of molecules without any bond
        given = [[] for _ in names]
    if len(names) != len(given):
        raise InputError(f"{len(names)} names were given for {len(given)} columns: {names}.")
    return tuple(Column(name, _kinds(column)) for name, column in zip(names, given, strict=True))


def _kinds(values: Values) -> tuple[Kind, ...] | None:
    if not isinstance(values, Tensor):
        return tuple(sorted(set(values), key=_order))
    return None if values.is_floating_point() else tuple(values.unique().tolist())


def _encode(
    graphs: list[Data], level: str, columns: tuple[Column, ...], unseen: Counter[tuple[str, Kind]]
) -> None:
    """Give graphs their features, all at once: many small graphs are slow one by one.

    Categories that are in no column are counted in ``unseen``, by the name of the column.
    """
    counts = [_count(graph, level) for graph in graphs]
    rows, width = sum(counts), sum(column.width for column in columns)
    given = (_values(graphs, level) or []) if rows else []
    if rows and len(given) != len(columns):
        raise InputError(
            f"The graphs have {len(given) or 'no'} columns of {TENSOR[level]}, but the encoder was "
            f"learned on {len(columns)}: {', '.join(column.name for column in columns)}."
        )
    if rows * width > max_entries():
        raise InputError(
            f"{TENSOR[level]} would have {rows} x {width} entries, more than the {max_entries()} "
            "allowed. Leave out integer columns that are not categories, or make them floats. "
            f"The environment variable {VARIABLE}, 4 for each entry, allows more."
        )
    floats = [one for one in given if isinstance(one, Tensor) and one.is_floating_point()]
    tensors = [value for graph in graphs[:1] for _, value in graph if isinstance(value, Tensor)]
    device = tensors[0].device if tensors else None
    out = torch.zeros(rows, width, dtype=floats[0].dtype if floats else None, device=device)
    start = 0
    for column, values in zip(columns, given, strict=False):
        _fill(out[:, start : start + column.width], column, values, unseen)
        start += column.width
    # Copies, not views: saving or sending one graph must not take all others with it.
    for graph, part in zip(graphs, out.split(counts), strict=True):
        graph[TENSOR[level]] = part.clone() if len(graphs) > 1 else part
        graph[f"{level}_kinds"] = None  # PyG removes it


def _fill(out: Tensor, column: Column, values: Values, unseen: Counter[tuple[str, Kind]]) -> None:
    """Write the features of one column into ``out`` ``[rows, column.width]``."""
    given = "texts"
    if isinstance(values, Tensor):
        given = "floats" if values.is_floating_point() else "integers"
    known = "floats" if column.kinds is None else given
    if column.kinds:
        known = "texts" if isinstance(column.kinds[0], str) else "integers"
    if given != known:
        raise InputError(
            f"{column.name} holds {given}, but held {known} when the encoder was learned. Give "
            "categories and numbers as the training graphs had them."
        )
    if column.kinds is None:
        out[:, 0] = values  # type: ignore[assignment]
        return
    feature = {kind: i for i, kind in enumerate(column.kinds)}
    kinds = values.tolist() if isinstance(values, Tensor) else values
    found = torch.tensor([feature.get(kind, -1) for kind in kinds], device=out.device)
    rows = (found >= 0).nonzero().squeeze(1)
    out[rows, found[rows]] = 1
    if len(rows) < len(found):
        unseen.update((column.name, kind) for kind in kinds if kind not in feature)


def _order(kind: str) -> tuple[bool, float, str]:
    """Numbers in their order, then texts in theirs."""
    try:
        number = float(kind)
    except ValueError:
        number = inf
    return (False, number, kind) if isfinite(number) else (True, 0.0, kind)


def _values(graphs: list[Data], level: str) -> list[Values] | None:
    """The columns of nodes or edges over all graphs, texts first; None if they have no data."""
    texts, numbers = _texts(graphs, level), _numbers(graphs, level)
    if texts is None and numbers is None:
        return None
    return [*(texts or ()), *(() if numbers is None else numbers.t())]


def _texts(graphs: list[Data], level: str) -> list[list[str]] | None:
    """The columns of ``node_kinds`` or ``edge_kinds``, over all graphs; None if there are none."""
    key = f"{level}_kinds"
    given = _given(graphs, key, level)
    if not given:
        return None
    rows = [row for value in given.values() for row in value]
    # Graphs without any edge have no rows: one column is then as good as any.
    widths = {len(row) for row in rows} or {1}
    if len(widths) > 1:
        raise InputError(f"The rows of {key} have different lengths: {sorted(widths)}.")
    return [[row[i] for row in rows] for i in range(widths.pop())]


def _numbers(graphs: list[Data], level: str) -> Tensor | None:
    """``x`` or ``edge_attr`` of all graphs, ``[rows, columns]``; None if there is none."""
    key = TENSOR[level]
    parts: list[Tensor] = []
    for index, value in _given(graphs, key, level).items():
        rows = value.unsqueeze(-1) if value.dim() == 1 else value
        rows = rows.float() if rows.dtype == torch.bool else rows
        first = parts[0] if parts else rows
        floats = rows.is_floating_point()
        if (rows.size(1), floats) != (first.size(1), first.is_floating_point()):
            raise InputError(
                f"Graphs 0 and {index} differ: {key} is {shape_of(first)} and {shape_of(rows)}. "
                "Give all graphs the same columns, categories as integers and numbers as floats."
            )
        parts.append(rows)
    return torch.cat(parts) if parts else None


def _given(graphs: list[Data], key: str, level: str) -> dict[int, Any]:
    """What graphs have under ``key``, by their number: all that have nodes or edges, or none."""
    given = {i: graph[key] for i, graph in enumerate(graphs) if graph.get(key) is not None}
    for index, value in given.items() if key in TENSOR.values() else ():
        if not isinstance(value, Tensor) or value.dim() not in (1, 2):
            raise InputError(
                f"Graph {index}: {key} must have the shape [rows, columns]; got {shape_of(value)}."
            )
    for index, graph in enumerate(graphs if given else ()):
        count = _count(graph, level)
        if index not in given and count:
            raise InputError(f"Graph {index} has no {key}, but others have it.")
        if index in given and len(given[index]) != count:
            raise InputError(
                f"Graph {index} has {len(given[index])} rows of {key}, but {count} {level}s."
            )
    return given


def _count(graph: Data, level: str) -> int:
    """The number of nodes or edges of a graph."""
    return int(getattr(graph, f"num_{level}s") or 0)
