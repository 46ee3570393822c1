"""PyG graphs: any dataset object, or a list of ``Data``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, Dataset

from ifmixup.data.dataset import GraphDataset, Rows, Skips
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.frames import is_frame, is_smiles
from ifmixup.data.molecules import graphs_of
from ifmixup.data.raw import LoadOptions, RawGraphs, assemble
from ifmixup.data.targets import Targets, infer_task, number_targets, target_names
from ifmixup.errors import DatasetError, InputError, InputTypeError

MAX_NODES = 100_000_000  # of all graphs
MAX_BARE = 10_000_000  # of all graphs without node features, unless there are edges that use them
_NODES_PER_EDGE = 10
_KEPT = ("x", "edge_index", "edge_attr", "edge_weight")


def from_pyg(
    dataset: Dataset | Sequence[Data],
    *,
    name: str | None = None,
    label: str | None = None,
    identifier: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    strict: bool = False,
    encoder: FeatureEncoder | None = None,
    labelled: bool = True,
    columns: Sequence[str] = (),
) -> GraphDataset:
    """A PyG dataset, or a list of ``Data``, as a :class:`GraphDataset`.

    Integer ``x`` and ``edge_attr`` become one-hot. Graphs without ``x`` get one-hot degrees. Of all
    other attributes only ``edge_weight`` is kept. A dataset's ``transform`` is applied once.

    Args:
        dataset: The graphs.
        name: Their name; by default that of the dataset.
        task: classes, labels or values; by default one integer per graph is a class, and other
            numbers are labels if all are 0, 1 or NaN, else values.
        label, identifier, metric, strict, encoder, labelled, columns: As for
            :func:`~ifmixup.data.load`.

    Raises:
        InputTypeError: For graphs with several types of nodes or edges.
        DatasetError: If a graph is broken.
    """
    options = LoadOptions(
        label, identifier, task, metric, strict, encoder, labelled, tuple(columns)
    )
    graphs = [_data(graph, index) for index, graph in enumerate(dataset)]
    if not graphs:
        raise DatasetError("There are no graphs in the dataset. Give at least one.")
    kept = [_kept(graph, index) for index, graph in enumerate(graphs)]
    _check_nodes(kept)
    targets = _targets(graphs, label or "y", task) if labelled else None
    called = name or getattr(dataset, "name", None)
    if not isinstance(called, str):
        whole = isinstance(dataset, Dataset)
        called = type(dataset).__name__ if whole else list_name(kept, targets)
    ids = None if identifier is None else [_identifier(graph, identifier) for graph in graphs]
    rows = Rows(
        range(len(graphs)),
        columns={key: [_identifier(graph, key) for graph in graphs] for key in columns},
    )
    raw = RawGraphs(called, kept, Skips(called, strict), targets, ids, rows=rows)
    return assemble(raw, options)


def as_graphs(graphs: Any) -> list[Data]:
    """Graphs as a list, from a list, a NumPy array of objects, a PyG dataset or a ``Batch``; or
    from SMILES: a list, an array or a Series of them, or a DataFrame.
    """
    if is_frame(graphs) or is_smiles(graphs):
        return graphs_of(graphs)
    if isinstance(graphs, Batch):
        return graphs.to_data_list()
    if isinstance(graphs, Data):
        raise InputTypeError("Expected several graphs; got one Data. Put it into a list: [graph].")
    matrix = isinstance(graphs, np.ndarray) and (graphs.ndim != 1 or graphs.dtype != object)
    known = isinstance(graphs, Sequence | np.ndarray | Dataset) and not isinstance(graphs, str)
    if matrix or not known:
        shape = f"an array of {graphs.dtype} with the shape {graphs.shape}" if matrix else None
        raise InputTypeError(
            f"Expected a list of PyG Data, a PyG dataset, or a NumPy array of Data (one dimension, "
            f"dtype object); got {shape or type(graphs).__name__}."
        )
    if not len(graphs):
        raise InputError("Got no graphs: 0 sample(s), while a minimum of 1 is required.")
    return [_data(graph, index) for index, graph in enumerate(graphs)]


def list_name(graphs: Iterable[Data], targets: Targets | None) -> str:
    """A name made from the content of graphs that have none: two lists do not share a study."""
    hasher = hashlib.sha256()
    values = [item for graph in graphs for item in sorted(graph.items(), key=lambda item: item[0])]
    if targets is not None:
        values.append((" ".join(targets.names), targets.y))
    for key, value in values:
        whole = isinstance(value, Tensor)
        hasher.update(f"{key}={tuple(value.shape) if whole else value};".encode())
        if whole:
            hasher.update(value.detach().cpu().contiguous().numpy().tobytes())
    return f"graphs-{hasher.hexdigest()[:8]}"


def _data(graph: Any, index: int) -> Data:
    if isinstance(graph, Data):
        return graph
    raise InputTypeError(
        f"Graph {index} is a {type(graph).__name__}; a torch_geometric Data is needed. A "
        "HeteroData becomes one with .to_homogeneous(), which keeps the types as node_type and "
        "edge_type."
    )


def _kept(graph: Data, index: int) -> Data:
    """The graph with the attributes that are used, and its number of nodes."""
    parts = {key: graph[key] for key in _KEPT if graph.get(key) is not None}
    for key, value in parts.items():
        if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_complex():
            what = f"{value.dtype} {value.layout}" if isinstance(value, Tensor) else type(value)
            raise DatasetError(
                f"Graph {index}: {key} must be a dense tensor of numbers, not {what}."
            )
    nodes = graph.get("num_nodes")
    if nodes is None:
        nodes = len(parts["x"]) if "x" in parts else graph.num_nodes
    if not isinstance(nodes, int) or not 0 <= nodes <= MAX_NODES:
        raise DatasetError(
            f"Graph {index}: num_nodes must be from 0 to {MAX_NODES}, not {nodes!r}."
        )
    return Data(**parts, num_nodes=nodes)


def _check_nodes(graphs: Sequence[Data]) -> None:
    """Check that nodes have features or edges: a file of a few bytes can claim any number."""
    total = sum(int(graph.num_nodes or 0) for graph in graphs)
    if total > MAX_NODES:
        raise DatasetError(f"The graphs have {total} nodes, more than the {MAX_NODES} allowed.")
    bare = [graph for graph in graphs if "x" not in graph]
    nodes = sum(int(graph.num_nodes or 0) for graph in bare)
    edges = sum(graph["edge_index"].numel() // 2 + 1 for graph in bare if "edge_index" in graph)
    if nodes > max(MAX_BARE, _NODES_PER_EDGE * edges):
        raise DatasetError(
            f"The graphs have {nodes} nodes without features, but few edges between them. At most "
            f"{MAX_BARE} such nodes are allowed. Give nodes x, or leave out those without edges."
        )


def _targets(graphs: Sequence[Data], label: str, task: str | None) -> Targets:
    rows: list[Tensor] = []
    numbers: list[Tensor] = []
    for index, graph in enumerate(graphs):
        value = graph.get(label)
        if value is None:
            raise DatasetError(
                f"Graph {index} has no {label}. Give each graph one, name another attribute with "
                "label=, or load the graphs with labelled=False."
            )
        try:
            rows.append(torch.as_tensor(value).reshape(-1))
            if rows[-1].is_complex():
                raise ValueError(f"got {rows[-1].dtype}")
            numbers.append(rows[-1].cpu().double())
        except (TypeError, ValueError, RuntimeError) as error:
            raise DatasetError(f"Graph {index}: {label} must be real numbers ({error}).") from error
        if len(rows[-1]) != len(rows[0]) or not len(rows[0]):
            raise DatasetError(
                f"Graph 0 has {len(rows[0])} values of {label}, graph {index} has "
                f"{len(rows[-1])}. One row of the same length for each graph is needed."
            )
    names = target_names(label, len(rows[0]))
    return number_targets(torch.stack(numbers), names, task or infer_task(rows, name=label))


def _identifier(graph: Data, key: str) -> str:
    value = graph.get(key)
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if value is None or isinstance(value, Tensor):
        raise DatasetError(f"A graph has no attribute {key!r} that is one text or number.")
    return str(value)
