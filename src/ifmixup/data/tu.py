"""Datasets in the TU text format, with the same tensors as PyG's ``TUDataset``."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, cumsum, degree, remove_self_loops

from ifmixup.data.dataset import GraphDataset
from ifmixup.data.encoder import DEGREE, Column, FeatureEncoder, max_entries
from ifmixup.data.raw import LoadOptions
from ifmixup.data.text_files import TextFile, check_lines, floats, integers, read_files, require
from ifmixup.errors import DatasetError, InputError
from ifmixup.safe_io import VARIABLE
from ifmixup.values import listed

Files = Mapping[str, TextFile]


def read_tu(path: Path, name: str, options: LoadOptions) -> GraphDataset:
    """The dataset ``name`` in a folder or zip."""
    if options.labelled and options.task not in (None, "classes"):
        raise InputError(
            f"{name} is in TU format, whose labels are classes; the task cannot be "
            f"{options.task!r}."
        )
    return parse(read_files(path, name), str(path), name, options)


def tu_in(path: Path) -> tuple[Path, str] | None:
    """The folder or zip with a TU dataset that is at ``path``, and its name; None if none is."""
    source = path
    if path.is_dir():
        source = path if any(path.glob("*_A.txt")) else path / "raw"
        names = [file.name.removesuffix("_A.txt") for file in source.glob("*_A.txt")]
    else:
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except Exception as error:  # of a damaged zip, nearly any
            raise DatasetError(f"{path} is not a zip that can be read ({error}).") from error
        matches = [re.fullmatch(r"(?:[^/]+/)?([^/]+)_A\.txt", member) for member in members]
        names = [match[1] for match in matches if match is not None]
    if len(names) > 1:
        raise DatasetError(
            f"{path} holds {len(names)} datasets: {listed(sorted(names))}. Give the name of one, "
            f"and root={path}."
        )
    return (source, names[0]) if names else None


def parse(files: Files, where: str, name: str, options: LoadOptions) -> GraphDataset:
    """All graphs of a dataset, from its files by the word after ``NAME_``.

    As PyG's ``TUDataset`` does without attributes: ``x`` is the one-hot node labels, ``edge_attr``
    the one-hot edge labels, ``y`` the class numbers; self-loops are removed and edges are sorted.
    Without node labels ``x`` is the node attributes, and without those the one-hot degree, up to
    the largest degree of the whole dataset. An error names the broken file and the line.
    """
    for part in ("A", "graph_indicator", "graph_labels")[: 3 if options.labelled else 2]:
        if part not in files:
            raise DatasetError(f"{where} has no {name}_{part}.txt, which {name} needs.")
    graph = _graph_of_nodes(files["graph_indicator"])
    num_graphs = int(graph[-1]) + 1
    edges = torch.from_numpy(_edges(files["A"], graph)).t()
    alone = coalesce(remove_self_loops(edges)[0], num_nodes=len(graph))
    given = Data(edge_index=edges, num_nodes=len(graph))
    given.x, node_columns = _node_data(files, alone, len(graph))
    edge_columns = None
    if "edge_labels" in files:
        given.edge_attr, edge_columns = _labels(files, "edge", edges.size(1), files["A"])
    # Encoded before edges are merged: their one-hot labels then add up, as in PyG.
    own = FeatureEncoder(node_columns, edge_columns)
    encoder = options.encoder or own
    _check_encoder(encoder, own, where)
    (data,) = encoder.transform([given])
    edge_index, edge_attr = remove_self_loops(data.edge_index, data.get("edge_attr"))
    edge_index, edge_attr = coalesce(edge_index, edge_attr, num_nodes=len(graph))

    batch = torch.from_numpy(graph)
    nodes = cumsum(torch.bincount(batch))
    edge_graph = batch[edge_index[0]]
    edges_of = cumsum(torch.bincount(edge_graph, minlength=num_graphs))
    slices = {"x": nodes, "edge_index": edges_of}
    data = Data(x=data.x, edge_index=edge_index - nodes[edge_graph])
    class_names = None
    if options.labelled:
        data.y, class_names = _classes(files["graph_labels"], num_graphs)
        slices["y"] = torch.arange(num_graphs + 1)
    if edge_attr is not None:
        data.edge_attr, slices["edge_attr"] = edge_attr, edges_of
    return GraphDataset(
        name,
        data,
        slices,
        task=options.task or "classes",
        metric=options.metric,
        class_names=class_names,
        encoder=encoder,
    )


def _check_encoder(encoder: FeatureEncoder, own: FeatureEncoder, where: str) -> None:
    """Check that the columns are the same: degrees are integers too, but not node labels."""
    pairs = {"nodes": (encoder.nodes, own.nodes), "edges": (encoder.edges, own.edges or ())}
    for level, (known, found) in pairs.items():
        if known is None:  # the model does not read them
            continue
        expected, given = ([column.name[:60] for column in columns] for columns in (known, found))
        if expected != given:
            raise DatasetError(
                f"{where}: its {level} carry {listed(given) or 'nothing'}, but the encoder was "
                f"learned on {listed(expected) or 'nothing'}. Give graphs of the kind that the "
                "model was trained on."
            )


def _graph_of_nodes(file: TextFile) -> NDArray[np.int64]:
    """The graph of each node, counted from 0."""
    graph = integers(file, columns=1)[:, 0]
    before = np.concatenate(([0], graph[:-1]))
    good = (graph == before) | (graph == before + 1)
    good[0] = graph[0] == 1
    rule = "nodes must be in the order of their graphs, counted 1, 2, 3, ... without a gap"
    require(file, good, lambda row: f"graph {graph[row]} after graph {before[row]}; {rule}")
    return graph - 1


def _classes(file: TextFile, num_graphs: int) -> tuple[Tensor, list[str]]:
    """The class numbers, and the label of each class in the file."""
    labels = integers(file, columns=1)[:, 0]
    check_lines(file.where, len(labels), num_graphs, "graph of the graph indicator")
    distinct, classes = torch.from_numpy(labels).unique(return_inverse=True)
    return classes, [str(label) for label in distinct.tolist()]


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


def _node_data(
    files: Files, edge_index: Tensor, num_nodes: int
) -> tuple[Tensor, tuple[Column, ...]]:
    """The data of nodes, ``[nodes, columns]``: integers to be encoded, or floats."""
    indicator = files["graph_indicator"]
    if "node_labels" in files:
        return _labels(files, "node", num_nodes, indicator)
    if "node_attributes" in files:
        file = files["node_attributes"]
        values = floats(file)
        check_lines(file.where, len(values), num_nodes, f"node of {indicator.where}")
        require(
            file,
            np.abs(values) <= torch.finfo(torch.float32).max,
            lambda row: f"{values[row].tolist()} is too large for a 32-bit float",
        )
        columns = tuple(Column(f"node attribute {i}") for i in range(values.shape[1]))
        return torch.from_numpy(values).float(), columns
    degrees = degree(edge_index[0], num_nodes, dtype=torch.long).unsqueeze(1)
    return degrees, (_column(degrees[:, 0], DEGREE, 0, files["A"]),)


def _labels(
    files: Files, level: str, count: int, other: TextFile
) -> tuple[Tensor, tuple[Column, ...]]:
    """The labels of nodes or edges; their kinds are all integers from the smallest on."""
    file, name = files[f"{level}_labels"], f"{level} label"
    labels = torch.from_numpy(integers(file))
    check_lines(file.where, len(labels), count, f"{level} of {other.where}")
    several = labels.size(1) > 1
    return labels, tuple(
        _column(column, f"{name} {i}" if several else name, int(column.min()), file)
        for i, column in enumerate(labels.t())
    )


def _column(values: Tensor, name: str, first: int, file: TextFile) -> Column:
    width = int(values.max()) - first + 1
    if len(values) * width > max_entries():
        raise DatasetError(
            f"{file.where}: one-hot features of {len(values)} x {width} entries are more than the "
            f"{max_entries()} allowed. Make smaller features with PyG's TUDataset, or set the "
            f"environment variable {VARIABLE} to a larger number, 4 for each entry."
        )
    return Column(name, tuple(range(first, first + width)))
