"""NetworkX graphs: the attributes of nodes and edges become categories and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.dataset import GraphDataset, Rows, Skips
from ifmixup.data.encoder import DEGREE, TENSOR, Column, FeatureEncoder
from ifmixup.data.pyg import list_name
from ifmixup.data.raw import LoadOptions, RawGraphs, assemble
from ifmixup.data.table import cell_text
from ifmixup.data.targets import Targets, read_targets, target_names
from ifmixup.errors import DatasetError, InputError, InputTypeError
from ifmixup.values import listed

MAX_NAMES = 10_000  # different attributes of nodes, or of edges

Attributes = list[Mapping[str, Any]]  # the attributes of each node, or each edge, of one graph
Value = int | float | str

_LABELS = ("label", "y")
_WEIGHT = "weight"
_LARGEST = torch.finfo(torch.float32).max


def from_networkx(
    graphs: Sequence[Any],
    y: Sequence[Any] | None = None,
    *,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    label: str | None = None,
    identifier: str | None = None,
    name: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    strict: bool = False,
    encoder: FeatureEncoder | None = None,
    labelled: bool = True,
    columns: Sequence[str] = (),
) -> GraphDataset:
    """NetworkX graphs as a :class:`GraphDataset`.

    Nodes keep the order of ``graph.nodes``. An edge of an undirected graph is there in both
    directions, parallel edges are there once. Attributes of nodes and edges that are texts or
    integers become one-hot, floats stay numbers, a list of numbers becomes several columns. An
    attribute ``weight`` that is a number becomes ``edge_weight``; then every edge must have it.
    Without node attributes, ``x`` is the one-hot degree.

    Args:
        graphs: The graphs.
        y: What is to be predicted, for each graph: a class (text or integer), a number, or a list
            of them; None where it is unknown. By default the attribute ``label`` of the graph.
        node_features: The attributes of nodes to use; all by default.
        edge_features: The attributes of edges to use; all by default.
        name: The name of the dataset.
        label, identifier, task, metric, strict, encoder, labelled, columns: As for
            :func:`~ifmixup.data.load`.

    Raises:
        DatasetError: If attributes or labels do not fit together.
    """
    options = LoadOptions(
        label, identifier, task, metric, strict, encoder, labelled, tuple(columns)
    )
    graphs = list(graphs)
    cells = None
    if labelled:
        cells = target_cells(graphs, label) if y is None else [_cells(value) for value in y]
    skips = Skips(name or "The graphs", strict)
    raw = read_networkx(
        graphs, cells, skips, options, node_features=node_features, edge_features=edge_features
    )
    raw.name = name or list_name(raw.graphs, raw.targets)
    return assemble(raw, options)


def is_networkx(graph: Any) -> bool:
    """Whether an object is a NetworkX graph; the package is not imported."""
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "graph"))


def read_networkx(
    graphs: Sequence[Any],
    cells: Sequence[Sequence[str]] | None,
    skips: Skips,
    options: LoadOptions,
    *,
    ids: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
) -> RawGraphs:
    """The graphs with their attributes, not yet encoded; ``cells`` are the targets as text."""
    where, encoder = skips.where, options.encoder
    if not graphs:
        raise DatasetError(f"{where}: there are no graphs. Give at least one.")
    for index, graph in enumerate(graphs):
        if not is_networkx(graph):
            raise InputTypeError(
                f"Graph {index} is a {type(graph).__name__}; a NetworkX graph is needed."
            )
    ids = [str(index) for index in range(len(graphs))] if ids is None else ids
    if options.identifier is not None:
        pairs = zip(graphs, ids, strict=True)
        ids = [str(graph.graph.get(options.identifier, default)) for graph, default in pairs]
    data, edge_rows = [], []
    for graph in graphs:
        edge_index, rows = _edges(graph)
        data.append(Data(edge_index=edge_index, num_nodes=len(graph.nodes)))
        edge_rows.append(rows)
    node_rows = [[attributes for _, attributes in graph.nodes(data=True)] for graph in graphs]
    nodes = edges = None
    if encoder is not None:
        nodes = [column for column in encoder.nodes if column.name != DEGREE]
        edges = list(encoder.edges or ())
    if _WEIGHT not in [column.name for column in edges or ()]:
        _move_weights(data, edge_rows, where)
    return RawGraphs(
        name=where,
        node_names=add_attributes(data, node_rows, "node", where, node_features, nodes) or None,
        edge_names=add_attributes(data, edge_rows, "edge", where, edge_features, edges) or None,
        graphs=data,
        skips=skips,
        targets=None if cells is None else _targets(cells, target_names, options.task, len(graphs)),
        ids=ids,
        rows=Rows(
            range(len(graphs)),
            columns={
                name: [cell_text(graph.graph.get(name)) for graph in graphs]
                for name in options.columns
            },
        ),
    )


def add_attributes(
    graphs: Sequence[Data],
    rows: Sequence[Attributes],
    level: str,
    where: str,
    wanted: Sequence[str] | None = None,
    columns: Sequence[Column] | None = None,
) -> list[str]:
    """Put the attributes of nodes or edges into the graphs, and return the names of the columns.

    Texts and integers are categories and go to ``node_kinds`` or ``edge_kinds``; a missing category
    is the category ``""``. Floats go to ``x`` or ``edge_attr``, and every node or edge must have
    them. Categories come first, each in the order of their names. Only the ``wanted`` attributes
    are used, or those in the ``columns`` of an encoder; all by default.
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
            f"{listed(found, 20) or 'none'}."
        )
    for index, (graph, one) in enumerate(zip(graphs, flat, strict=True)):
        if kinds:
            graph[f"{level}_kinds"] = [tuple(str(row.get(k, "")) for k in kinds) for row in one]
        if numbers:
            at = f"{where}, graph {index}"
            values = [[_number(row.get(n), n, level, at) for n in numbers] for row in one]
            graph[TENSOR[level]] = torch.tensor(values).float().view(len(one), len(numbers))
    return names


def _sorted_names(
    flat: Sequence[Sequence[Mapping[str, Value]]], level: str, where: str
) -> tuple[list[str], list[str]]:
    """The names of the categories and of the numbers."""
    types: dict[str, set[type]] = {}
    for row in chain.from_iterable(flat):
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
    for key, given in row.items():
        if only is not None and key not in only:
            continue
        value = _plain(given)
        values = {str(key): value}
        if isinstance(value, list | tuple):
            values = {f"{key}[{i}]": one for i, one in enumerate(value)}
        for name, one in values.items():
            if isinstance(one, int | float | str):
                flat[name] = int(one) if isinstance(one, bool) else one
            elif one is not None:
                raise DatasetError(
                    f"{where}: the attribute {name!r} is a {type(one).__name__}; numbers, texts "
                    "and lists of numbers can be used. Leave it out, or name those to use: "
                    "node_features=, edge_features=."
                )
    return flat


def _number(value: Value | None, name: str, level: str, where: str) -> float:
    if value is None or isinstance(value, str):
        what = "is missing" if value is None else f"is {value[:40]!r}"
        raise DatasetError(
            f"{where}: the attribute {name!r} of a {level} {what}, but others have numbers there. "
            "Give every one a number, or leave the attribute out."
        )
    try:
        return float(value)
    except OverflowError as error:
        raise DatasetError(f"{where}: {name!r} is too large a number.") from error


def target_cells(graphs: Sequence[Any], label: str | None = None) -> list[list[str]]:
    """The label of each graph, one of its attributes, as cells of text."""
    if label is None:
        here = [key for key in _LABELS if any(key in graph.graph for graph in graphs)]
        if not here:
            raise DatasetError(
                "The graphs have no label. Give y=, or an attribute of each graph called "
                f"{' or '.join(_LABELS)}, or name it with label= (--label)."
            )
        label = here[0]
    return [_cells(graph.graph.get(label)) for graph in graphs]


def _targets(
    cells: Sequence[Sequence[str]], names: Sequence[str] | None, task: str | None, count: int
) -> Targets:
    if len(cells) != count:
        raise InputError(f"{len(cells)} labels were given for {count} graphs.")
    width = max(len(row) for row in cells)
    names = names or target_names("y", width)
    # One empty cell stands for a whole row that is unknown.
    rows = [list(row) if row != [""] else [""] * width for row in cells]
    wrong = next((index for index, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None:
        raise DatasetError(f"Graph {wrong} has {len(rows[wrong])} labels, others have {width}.")
    return read_targets(rows, names, task)


def _cells(value: Any) -> list[str]:
    value = _plain(value)
    if isinstance(value, list | tuple):
        return [cell_text(_plain(one)) for one in value] or [""]
    return [cell_text(value)]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, Tensor | np.ndarray | np.generic) else value


def _edges(graph: Any) -> tuple[Tensor, Attributes]:
    """The edges ``[2, E]``, each once in each of its directions, and their attributes."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    for source, target, attributes in graph.edges(data=True):
        one, other = number[source], number[target]
        found.setdefault((one, other), attributes)
        if not graph.is_directed():
            found.setdefault((other, one), attributes)
    index = torch.tensor(list(found), dtype=torch.long).view(-1, 2).t().contiguous()
    return index, list(found.values())


def _move_weights(data: Sequence[Data], edge_rows: list[Attributes], where: str) -> None:
    """Move weights that are numbers from the attributes to PyG's ``edge_weight``."""
    weights = [[row.get(_WEIGHT) for row in rows] for rows in edge_rows]
    numbers = int | float | np.integer | np.floating
    good = [[isinstance(w, numbers) and -_LARGEST <= w <= _LARGEST for w in row] for row in weights]
    if not any(map(any, good)):
        return
    wrong = next((index for index, row in enumerate(good) if not all(row)), None)
    if wrong is not None:
        raise DatasetError(
            f"{where}, graph {wrong}: the {_WEIGHT} of an edge is missing or not "
            "a number, but other edges have one. Give every edge a number, or rename the attribute."
        )
    for index, graph in enumerate(data):
        graph.edge_weight = torch.tensor(weights[index], dtype=torch.float)
        edge_rows[index] = [
            {key: value for key, value in row.items() if key != _WEIGHT} for row in edge_rows[index]
        ]
