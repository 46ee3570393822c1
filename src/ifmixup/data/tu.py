"""The TU text format, made into the tensors that PyG's ``TUDataset`` makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, cumsum, degree, one_hot, remove_self_loops

from ifmixup.data.files import TextFile
from ifmixup.data.text import floats, integers, require
from ifmixup.errors import DatasetError

MAX_ONE_HOT = 512 * 1024**2
"""The most entries of a one-hot matrix (2 GiB): one absurd label must not fill the memory."""

Files = Mapping[str, TextFile]


def parse(files: Files, where: str, name: str) -> tuple[Data, dict[str, Tensor]]:
    """All graphs of a dataset as one ``Data`` and the slices that cut it into graphs.

    As PyG's ``TUDataset`` does without attributes: ``x`` is the one-hot node labels, ``edge_attr``
    the one-hot edge labels, ``y`` the class numbers; self-loops go and edges are sorted. Where
    there are no node labels ``x`` is the node attributes, and where there are none of those either
    the one-hot degree, as wide as the largest degree of the whole dataset asks.

    Args:
        files: The files by what stands after ``NAME_``.
        where: The zip or folder they come from, for messages.
        name: The name of the dataset.

    Raises:
        DatasetError: If a file is missing or broken; the message names it and the line.
    """
    for part in ("A", "graph_indicator", "graph_labels"):
        if part not in files:
            raise DatasetError(f"{where} has no {name}_{part}.txt, which {name} cannot do without.")
    graph = _graph_of_nodes(files["graph_indicator"])
    y = _classes(files["graph_labels"], num_graphs=int(graph[-1]) + 1)
    edges = _edges(files["A"], graph)
    edge_attr = None
    if "edge_labels" in files:
        edge_attr = _one_hot_labels(files["edge_labels"], len(edges), "edge", files["A"])

    edge_index, edge_attr = remove_self_loops(torch.from_numpy(edges).t(), edge_attr)
    edge_index, edge_attr = coalesce(edge_index, edge_attr, num_nodes=len(graph))
    x = _features(files, edge_index, len(graph))

    batch = torch.from_numpy(graph)
    nodes = cumsum(torch.bincount(batch))
    edge_graph = batch[edge_index[0]]
    edges_of = cumsum(torch.bincount(edge_graph, minlength=len(y)))
    slices = {"x": nodes, "edge_index": edges_of, "y": torch.arange(len(y) + 1)}
    data = Data(x=x, edge_index=edge_index - nodes[edge_graph], y=y)
    if edge_attr is not None:
        data.edge_attr, slices["edge_attr"] = edge_attr, edges_of
    return data, slices


def _graph_of_nodes(file: TextFile) -> NDArray[np.int64]:
    """The graph of each node, counted from 0."""
    graph = integers(file, columns=1)[:, 0]
    before = np.concatenate(([0], graph[:-1]))
    step = graph - before

    def what(row: int) -> str:
        number, last = graph[row], before[row]
        if step[row] > 1:
            return f"graph {number} after graph {last}, so graph {last + 1} would have no nodes"
        return (
            f"graph {number} after graph {last}; the nodes must stand in the order of their "
            "graphs, which are counted 1, 2, 3, ..."
        )

    good = (step == 0) | (step == 1)
    good[0] = graph[0] == 1
    require(file, good, what)
    return graph - 1


def _classes(file: TextFile, num_graphs: int) -> Tensor:
    labels = integers(file, columns=1)[:, 0]
    _check_count(file, len(labels), num_graphs, "graph of the graph indicator")
    return torch.from_numpy(labels).unique(return_inverse=True)[1]


def _edges(file: TextFile, graph: NDArray[np.int64]) -> NDArray[np.int64]:
    """The edges, shape ``[edges, 2]``, nodes counted from 0."""
    edges = integers(file, columns=2)
    require(
        file,
        (edges >= 1) & (edges <= len(graph)),
        lambda row: f"the edge {edges[row].tolist()} needs nodes from 1 to {len(graph)}",
    )
    edges = edges - 1
    source, target = graph[edges[:, 0]], graph[edges[:, 1]]
    require(
        file,
        source == target,
        lambda row: f"an edge joins graph {source[row] + 1} with graph {target[row] + 1}",
    )
    return edges


def _features(files: Files, edge_index: Tensor, num_nodes: int) -> Tensor:
    indicator = files["graph_indicator"]
    if "node_labels" in files:
        return _one_hot_labels(files["node_labels"], num_nodes, "node", indicator)
    if "node_attributes" in files:
        file = files["node_attributes"]
        values = floats(file)
        _check_count(file, len(values), num_nodes, f"node of {indicator.where}")
        require(
            file,
            np.abs(values) <= torch.finfo(torch.float32).max,
            lambda row: f"{values[row].tolist()} is too large for a 32-bit float",
        )
        return torch.from_numpy(values).float()
    degrees = degree(edge_index[0], num_nodes, dtype=torch.long)
    return _one_hot(degrees, int(degrees.max()) + 1, files["A"])


def _one_hot_labels(file: TextFile, count: int, kind: str, other: TextFile) -> Tensor:
    """One block of columns for each column of labels, from its smallest label to its largest."""
    labels = torch.from_numpy(integers(file))
    _check_count(file, len(labels), count, f"{kind} of {other.where}")
    labels = labels - labels.min(dim=0).values
    widths = (labels.max(dim=0).values + 1).tolist()
    blocks = [_one_hot(labels[:, i], width, file) for i, width in enumerate(widths)]
    return torch.cat(blocks, dim=1)


def _one_hot(index: Tensor, width: int, file: TextFile) -> Tensor:
    if len(index) * width > MAX_ONE_HOT:
        raise DatasetError(
            f"{file.where}: one-hot features of {len(index)} x {width} entries are more than the "
            f"{MAX_ONE_HOT} allowed. Make smaller features of your own with PyG's TUDataset."
        )
    return one_hot(index, width)


def _check_count(file: TextFile, found: int, expected: int, each: str) -> None:
    if found != expected:
        raise DatasetError(
            f"{file.where} has {found} lines, expected {expected}: one for each {each}."
        )
