"""NetworkX graphs: what nodes and edges carry becomes categories and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.attributes import Rows, carried
from ifmixup.data.dataset import GraphDataset
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.pyg_graphs import list_name
from ifmixup.data.raw import DEGREE, RawGraphs, assemble
from ifmixup.data.skipped import Skips
from ifmixup.data.table import cell_text
from ifmixup.data.targets import Targets, read_targets
from ifmixup.errors import DatasetError, InputError, InputTypeError

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
) -> GraphDataset:
    """NetworkX graphs as a :class:`GraphDataset`.

    Nodes stand in the order of ``graph.nodes``; an edge of an undirected graph stands in both
    directions, parallel edges stand once. Attributes of nodes and edges that are texts or whole
    numbers become one-hot, floats stay numbers, a list of numbers is a column each. An attribute
    ``weight`` that is a number becomes ``edge_weight``; every edge must have it then, or none.
    Where nodes carry nothing, ``x`` is the one-hot degree.

    Args:
        graphs: The graphs.
        y: What is to be predicted, for each graph: a class (text or whole number), a number, or a
            list of them; None where it is not known.
        node_features: The attributes of nodes to use; all by default.
        edge_features: The attributes of edges to use; all by default.
        label: Without ``y``, the attribute of the graph to predict; ``label`` or ``y`` by default.
        identifier: The attribute of the graph that identifies it; by default they are counted
            from 0.
        name: What to call the dataset.
        task: classes, labels or values; by default as the labels look.
        metric: How predictions are judged.
        strict: Whether a graph without nodes or without a class is an error; else it is skipped.
        encoder: How to make the features, where other graphs have decided that.
        labelled: Whether there are labels.

    Raises:
        DatasetError: If attributes or labels do not fit together.
    """
    graphs = list(graphs)
    ids = None
    if identifier is not None:
        ids = [str(graph.graph.get(identifier, place)) for place, graph in enumerate(graphs)]
    cells = None
    if labelled:
        cells = target_cells(graphs, label) if y is None else [_cells(value) for value in y]
    raw = read_networkx(
        graphs,
        cells,
        where=name or "The graphs",
        skips=Skips(name or "the graphs", strict),
        ids=ids,
        node_features=node_features,
        edge_features=edge_features,
        task=task,
        encoder=encoder,
    )
    raw.name = name or list_name(raw.graphs, raw.targets)
    return assemble(raw, task=task, metric=metric, encoder=encoder)


def read_networkx(
    graphs: Sequence[Any],
    cells: Sequence[Sequence[str]] | None,
    *,
    where: str,
    skips: Skips,
    ids: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    task: str | None = None,
    encoder: FeatureEncoder | None = None,
) -> RawGraphs:
    """The graphs with their attributes, not yet encoded; ``cells`` are the targets as text."""
    if not graphs:
        raise DatasetError(f"{where}: there are no graphs. Give at least one.")
    for place, graph in enumerate(graphs):
        if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
            raise InputTypeError(
                f"Graph {place} is a {type(graph).__name__}; a NetworkX graph is needed."
            )
    data, node_rows, edge_rows = [], [], []
    for graph in graphs:
        edge_index, rows = _edges(graph)
        data.append(Data(edge_index=edge_index, num_nodes=len(graph.nodes)))
        node_rows.append([attributes for _, attributes in graph.nodes(data=True)])
        edge_rows.append(rows)
    nodes = edges = None
    if encoder is not None:
        nodes = [column for column in encoder.nodes if column.name != DEGREE]
        edges = list(encoder.edges or ())
    if _WEIGHT not in [column.name for column in edges or ()]:
        _move_weights(data, edge_rows, where)
    node_names = carried(data, node_rows, "node", where, node_features, nodes)
    edge_names = carried(data, edge_rows, "edge", where, edge_features, edges)
    return RawGraphs(
        name=where,
        where=where,
        graphs=data,
        skips=skips,
        targets=None if cells is None else _targets(cells, target_names, task, len(graphs)),
        ids=ids,
        node_names=node_names or None,
        edge_names=edge_names or None,
    )


def target_cells(graphs: Sequence[Any], label: str | None = None) -> list[list[str]]:
    """The label that each graph carries as an attribute, as cells of text."""
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
    names = names or (["y"] if width == 1 else [f"y[{i}]" for i in range(width)])
    # One empty cell stands for a whole row that is not known.
    rows = [list(row) if row != [""] else [""] * width for row in cells]
    wrong = next((place for place, row in enumerate(rows) if len(row) != width), None)
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


def _edges(graph: Any) -> tuple[Tensor, Rows]:
    """The edges ``[2, E]``, each once in each of its directions, and what they carry."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    for source, target, attributes in graph.edges(data=True):
        one, other = place[source], place[target]
        found.setdefault((one, other), attributes)
        if not graph.is_directed():
            found.setdefault((other, one), attributes)
    index = torch.tensor(list(found), dtype=torch.long).view(-1, 2).t().contiguous()
    return index, list(found.values())


def _move_weights(data: Sequence[Data], edge_rows: list[Rows], where: str) -> None:
    """Let weights be PyG's ``edge_weight`` and no attribute, if they are numbers.

    Raises:
        DatasetError: If some edges have such a weight and others have not.
    """
    weights = [[row.get(_WEIGHT) for row in rows] for rows in edge_rows]
    good = [all(_is_number(weight) for weight in row) for row in weights]
    if not any(_is_number(weight) for row in weights for weight in row):
        return
    if not all(good):
        raise DatasetError(
            f"{where}, graph {good.index(False)}: the {_WEIGHT} of an edge is missing or no "
            "number, but other edges have one. Give every edge a number, or rename the attribute."
        )
    for place, graph in enumerate(data):
        graph.edge_weight = torch.tensor(weights[place], dtype=torch.float)
        edge_rows[place] = [
            {key: value for key, value in row.items() if key != _WEIGHT} for row in edge_rows[place]
        ]


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(-_LARGEST <= value <= _LARGEST)
