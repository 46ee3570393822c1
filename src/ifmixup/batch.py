"""From a PyG ``Data`` or ``Batch`` to :class:`~ifmixup.graphs.Graphs`, checked, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data

from ifmixup.errors import InputError, InputTypeError
from ifmixup.graphs import Graphs, edge_pointers, graph_of, pointers

_STRUCTURE = {"batch", "ptr", "num_nodes"}


def from_batch(batch: Data) -> Graphs:
    """Take a ``Batch`` apart by level; a ``Data`` is a batch of one. Tensors are shared, not
    copied.

    An attribute belongs to the edges, the nodes or the graphs by its number of rows. What fits none
    of them (other index tensors, loose objects) is left out: it means nothing after surgery.
    """
    if not isinstance(batch, Data):
        raise InputTypeError(
            f"Expected a PyG Data, or a Batch of them, with one type of nodes; got "
            f"{type(batch).__name__}. A HeteroData becomes one with .to_homogeneous()."
        )
    num_nodes = batch.num_nodes
    if not num_nodes:
        raise InputError("The graph has no nodes; at least one is needed.")
    node_ptr = _node_ptr(batch, num_nodes)
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
    _check_edge_index(edge_index, num_nodes)
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
                    f"{key} has {rows} rows, but there are {num_edges} edges; one row an edge is "
                    f"needed."
                )
            if "edge" in key and rows == num_edges:
                edges[key] = value
            elif rows == num_nodes and key != "y":
                nodes[key] = value
            elif rows == num_graphs or key == "y":
                graphs[key] = value
            elif rows == num_edges:
                edges[key] = value
        elif key == "y" and isinstance(value, Tensor):
            graphs[key] = value.view(1)
    if not nodes:  # so that the number of nodes is known where there are no features
        nodes["x"] = torch.empty(num_nodes, 0, device=node_ptr.device)
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
    # What PyG needs to give single graphs back: the rows of each graph, and what was added to
    # indices.
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


def check_devices(*batches: Data) -> None:
    """See that all tensors of all ``batches`` are on one device."""
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


def _node_ptr(batch: Data, num_nodes: int) -> Tensor:
    """Where each graph's nodes begin, ``[B + 1]``."""
    ptr, assignment = batch.get("ptr"), batch.get("batch")
    if ptr is None and assignment is None:
        device = batch.x.device if isinstance(batch.x, Tensor) else None
        return torch.tensor([0, num_nodes], device=device)
    if ptr is None:
        ptr = pointers(torch.bincount(assignment))
    if bool((ptr.diff() < 1).any()):
        place = int((ptr.diff() < 1).nonzero()[0])
        raise InputError(f"Graph {place} of the batch has no nodes; at least one is needed.")
    return ptr


def _check_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.is_floating_point():
        raise InputError(
            f"edge_index must be integers of shape [2, E]; "
            f"got {edge_index.dtype} of shape {list(edge_index.shape)}."
        )
    if not edge_index.numel():
        return
    low, high = (int(end) for end in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        raise InputError(
            f"edge_index names nodes from {low} to {high}, but there are {num_nodes} nodes, "
            f"numbered from 0 to {num_nodes - 1}."
        )


def _group_edges(
    nodes: dict[str, Tensor], edges: dict[str, Tensor], graphs: dict[str, Any], node_ptr: Tensor
) -> Graphs:
    """Let a graph's edges stand together, which transforms on a batch may have undone."""
    if node_ptr.numel() == 2:
        return Graphs(
            nodes, edges, graphs, node_ptr, edge_pointers(edges["edge_index"], node_ptr, 0)
        )
    source, target = edges["edge_index"]
    node_graph = graph_of(node_ptr, next(iter(nodes.values())).size(0))
    edge_graph = node_graph.index_select(0, source)
    edge_ptr = pointers(torch.bincount(edge_graph, minlength=node_ptr.numel() - 1))
    taken = Graphs(nodes, edges, graphs, node_ptr, edge_ptr)
    if not torch.equal(edge_graph, node_graph.index_select(0, target)):
        place = int((edge_graph != node_graph[target]).nonzero()[0])
        raise InputError(
            f"Edge {place} joins two graphs of the batch: node {int(source[place])} and "
            f"node {int(target[place])}."
        )
    if bool((edge_graph[1:] >= edge_graph[:-1]).all()):
        return taken
    order = edge_graph.argsort(stable=True)
    edges = {k: v[:, order] if k == "edge_index" else v[order] for k, v in edges.items()}
    return replace(taken, edges=edges)
