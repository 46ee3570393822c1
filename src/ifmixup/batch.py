"""A PyG ``Data`` or ``Batch`` as :class:`~ifmixup.graphs.Graphs`, checked, and back; label rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data

from ifmixup.edges import check_edge_index
from ifmixup.errors import InputError, InputTypeError
from ifmixup.graphs import Graphs, edge_pointers, graph_of, pointers

_STRUCTURE = {"batch", "ptr", "num_nodes"}
_LABELS = ("y", "y_weight")


def from_batch(batch: Data) -> Graphs:
    """The graphs of a ``Batch``, by level; a ``Data`` is a batch of one. Tensors are shared, not
    copied, unless nodes or edges have to be sorted by graph.

    An attribute belongs to the edges, the nodes or the graphs by its number of rows. One that fits
    none of them (other index tensors, loose objects) is left out: it means nothing after surgery.
    """
    if not isinstance(batch, Data):
        raise InputTypeError(
            f"Expected a PyG Data, or a Batch of them, with one type of nodes; got "
            f"{type(batch).__name__}. A HeteroData becomes one with .to_homogeneous()."
        )
    num_nodes = batch.num_nodes
    if not num_nodes:
        raise InputError("The graph has no nodes; at least one is needed.")
    node_ptr, order = _node_ptr(batch, num_nodes)
    num_graphs = node_ptr.numel() - 1
    edge_index = batch.edge_index
    if edge_index is None:
        if batch.get("adj_t") is not None or batch.get("adj") is not None:
            raise InputError(
                "The graph has its edges as a sparse matrix (adj_t). Give them as edge_index: "
                "leave out the transform ToSparseTensor."
            )
        edge_index = node_ptr.new_empty(2, 0)
    elif isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    check_edge_index(edge_index, num_nodes)
    edge_index = edge_index.long()  # numbers of edges, i · n + j, need 64 bits

    nodes: dict[str, Tensor] = {}
    edges: dict[str, Tensor] = {"edge_index": edge_index}
    graphs: dict[str, Any] = {}
    num_edges = edge_index.size(1)
    for key, value in batch.to_dict().items():
        if "index" in key or key in _STRUCTURE:
            continue
        if isinstance(value, list) and len(value) == num_graphs:
            graphs[key] = value
        elif isinstance(value, Tensor) and value.dim() > 0:
            rows = value.size(0)
            if key in ("edge_weight", "edge_attr") and rows != num_edges:
                raise InputError(
                    f"{key} has {rows} rows, but there are {num_edges} edges; one row per edge "
                    f"is needed."
                )
            if "edge" in key and rows == num_edges:
                edges[key] = value
            elif rows == num_nodes and key not in _LABELS:
                nodes[key] = value
            elif rows == num_graphs or key == "y":
                graphs[key] = value
            elif rows == num_edges:
                edges[key] = value
        elif key == "y" and isinstance(value, Tensor):
            graphs[key] = value.view(1)
    if not nodes:  # the number of nodes is read off their attributes
        nodes["x"] = torch.empty(num_nodes, 0, device=node_ptr.device)
    if order is not None:
        nodes = {key: value[order] for key, value in nodes.items()}
        edges["edge_index"] = order.argsort()[edge_index]
    return _group_edges(nodes, edges, graphs, node_ptr)


def to_batch(graphs: Graphs) -> Batch:
    """The ``Batch`` of ``graphs``, as ``Batch.from_data_list`` would have made it."""
    node_ptr, num_graphs = graphs.node_ptr, graphs.num_graphs
    batch = Batch(
        batch=graphs.node_graph.contiguous(),
        ptr=node_ptr,
        **graphs.nodes,
        **graphs.edges,
        **graphs.graphs,
    )
    # For batch[i] PyG needs the rows of each graph, and what was added to its indices.
    rows = torch.arange(num_graphs + 1, device=node_ptr.device)
    nothing = torch.zeros_like(node_ptr[:-1])
    slices = {
        **dict.fromkeys(graphs.nodes, node_ptr),
        **dict.fromkeys(graphs.edges, graphs.edge_ptr),
        **dict.fromkeys(graphs.graphs, rows),
    }
    batch._num_graphs = num_graphs
    batch._slice_dict = slices
    batch._inc_dict = {**dict.fromkeys(slices, nothing), "edge_index": node_ptr[:-1]}
    return batch


def labels(
    graphs: Mapping[str, Any], num_graphs: int, num_classes: int | None, dtype: torch.dtype
) -> dict[str, Tensor]:
    """The labels of graphs as :func:`label_rows`, and how much each entry counts.

    ``y_weight`` has the shape of ``y``: 1 where a label is known and 0 where it is missing (NaN).
    It is there where ``y`` is floats, because class numbers are never missing. Where the graphs
    have it already, as mixed ones do, it stays.
    """
    y = graphs.get("y")
    if y is None:
        return {}
    rows = label_rows(y, num_graphs, num_classes, dtype)
    if not y.is_floating_point():
        return {"y": rows}
    weight = graphs.get("y_weight")
    if not isinstance(weight, Tensor) or weight.shape != rows.shape:
        weight = (~rows.isnan()).to(rows.dtype)
    return {"y": rows, "y_weight": weight}


def label_rows(y: Tensor, num_graphs: int, num_classes: int | None, dtype: torch.dtype) -> Tensor:
    """Turn class numbers ``[B]`` or ``[B, 1]`` into one-hot rows ``[B, C]`` of a ``dtype``.

    Float labels (soft, multi-label, regression) stay as they are, with B rows.
    """
    if y.is_floating_point():
        if num_graphs == 1 and y.size(0) != 1:
            return y.unsqueeze(0)
        if y.size(0) != num_graphs:
            raise InputError(
                f"y has {y.size(0)} rows for {num_graphs} graphs. Store a label of several values "
                f"as a row, shape [1, T]: PyG stacks rows."
            )
        return y
    if y.numel() != num_graphs:
        raise InputError(
            f"y holds {y.numel()} integers for {num_graphs} graphs; each needs one class number. "
            f"Turn multi-label rows into floats with .float()."
        )
    if num_classes is None:
        raise InputError("y holds class numbers: say how many classes there are with num_classes=.")
    numbers = y.reshape(-1).long()
    wrong = numbers[(numbers < 0) | (numbers >= num_classes)]
    if len(wrong):
        raise InputError(
            f"The label {int(wrong[0])} is out of range: with num_classes={num_classes} "
            f"classes are numbered from 0 to {num_classes - 1}."
        )
    return F.one_hot(numbers, num_classes).to(dtype)


def check_devices(*batches: Data) -> None:
    """Check that all tensors of all ``batches`` are on one device."""
    devices = {
        str(value.device)
        for batch in batches
        if isinstance(batch, Data)
        for value in batch.to_dict().values()
        if isinstance(value, Tensor)
    }
    if len(devices) > 1:
        raise InputError(
            f"The graphs are on different devices: {' and '.join(sorted(devices))}. "
            f"Move them to one with .to(device)."
        )


def _node_ptr(batch: Data, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    """Where each graph's nodes begin, ``[B + 1]``, and the order that sorts them by graph."""
    ptr, graph = batch.get("ptr"), batch.get("batch")
    order = None
    if ptr is None and graph is None:
        tensors = (value for value in batch.to_dict().values() if isinstance(value, Tensor))
        device = next((value.device for value in tensors), None)
        return torch.tensor([0, num_nodes], device=device), None
    if graph is not None and not _agree(ptr, graph, num_nodes):
        if graph.shape != (num_nodes,) or graph.is_floating_point() or bool((graph < 0).any()):
            raise InputError(
                f"batch must be the graph of each of the {num_nodes} nodes, integers from 0; got "
                f"{graph.dtype} of shape {list(graph.shape)}."
            )
        if bool((graph[1:] < graph[:-1]).any()):
            order = graph.argsort(stable=True)
        ptr = pointers(torch.bincount(graph, minlength=0 if ptr is None else ptr.numel() - 1))
    if int(ptr.diff().min()) < 1:
        index = int((ptr.diff() < 1).nonzero()[0])
        raise InputError(f"Graph {index} of the batch has no nodes; at least one is needed.")
    return ptr, order


def _agree(ptr: Tensor | None, graph: Tensor, num_nodes: int) -> bool:
    """Whether ``ptr`` still describes ``batch``, which transforms of a batch may have changed."""
    if ptr is None or int(ptr[-1]) != num_nodes or int(ptr.diff().min()) < 0:
        return False
    return torch.equal(graph_of(ptr, num_nodes), graph)


def _group_edges(
    nodes: dict[str, Tensor], edges: dict[str, Tensor], graphs: dict[str, Any], node_ptr: Tensor
) -> Graphs:
    """Sort edges by graph, because transforms of a batch may append edges."""
    edge_index = edges["edge_index"]
    if node_ptr.numel() == 2:
        return Graphs(nodes, edges, graphs, node_ptr, edge_pointers(edge_index, node_ptr, 0))
    source, target = edge_index
    node_graph = graph_of(node_ptr, next(iter(nodes.values())).size(0))
    edge_graph = node_graph.index_select(0, source)
    edge_ptr = pointers(torch.bincount(edge_graph, minlength=node_ptr.numel() - 1))
    taken = Graphs(nodes, edges, graphs, node_ptr, edge_ptr)
    if not torch.equal(edge_graph, node_graph.index_select(0, target)):
        edge = int((edge_graph != node_graph[target]).nonzero()[0])
        one, other = int(source[edge]), int(target[edge])
        raise InputError(f"Edge {edge} joins two graphs of the batch: node {one} and node {other}.")
    if bool((edge_graph[1:] >= edge_graph[:-1]).all()):
        return taken
    order = edge_graph.argsort(stable=True)
    edges = {k: v[:, order] if k == "edge_index" else v[order] for k, v in edges.items()}
    return replace(taken, edges=edges)
