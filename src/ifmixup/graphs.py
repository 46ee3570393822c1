"""Vectorised surgery on a PyG ``Batch``: no loop over graphs, and ``to_data_list()`` works
afterwards.

A :class:`Graphs` is a batch taken apart by level: what a node, an edge and a graph carries, and
where each graph begins. Surgery is then indexing, the same for every attribute of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.utils import coalesce

from ifmixup.edge_keys import edge_keys, edges_of_keys
from ifmixup.errors import InputError, InputTypeError

_STRUCTURE = {"batch", "ptr", "num_nodes"}


@dataclass(frozen=True)
class Graphs:
    """B graphs with N nodes and E edges in all; the edges of a graph stand together, in graph
    order.

    Attributes:
        nodes: Node attributes, each ``[N, ...]``.
        edges: Edge attributes, each ``[E, ...]``, and ``edge_index`` ``[2, E]`` counting nodes from
            0 to N − 1.
        graphs: Graph attributes: a tensor ``[B, ...]`` or a list of B things.
        node_ptr: Where the nodes of each graph begin, ``[B + 1]``.
        edge_ptr: Where the edges of each graph begin, ``[B + 1]``.
    """

    nodes: dict[str, Tensor]
    edges: dict[str, Tensor]
    graphs: dict[str, Any]
    node_ptr: Tensor
    edge_ptr: Tensor

    @property
    def num_graphs(self) -> int:
        """The number of graphs, B."""
        return self.node_ptr.numel() - 1

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs, N."""
        return next(iter(self.nodes.values())).size(0)

    @property
    def edge_index(self) -> Tensor:
        """Sources and targets, ``[2, E]``."""
        return self.edges["edge_index"]

    @property
    def node_graph(self) -> Tensor:
        """The graph of each node, ``[N]``: what PyG calls ``batch``."""
        return graph_of(self.node_ptr, self.num_nodes)

    @property
    def edge_graph(self) -> Tensor:
        """The graph of each edge, ``[E]``."""
        return graph_of(self.edge_ptr, self.edge_index.size(1))


def pointers(counts: Tensor) -> Tensor:
    """Where each of ``counts`` ``[B]`` begins and the last one ends: ``[B + 1]``."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def graph_of(ptr: Tensor, total: int) -> Tensor:
    """The graph that each of ``total`` rows belongs to, given where the graphs begin."""
    return spread(torch.arange(ptr.numel() - 1, device=ptr.device), ptr, total)


def ranges(start: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers start_g, …, start_g + counts_g − 1 of all g end to end, and their pointers."""
    ptr = pointers(counts)
    total = int(ptr[-1])
    shift = torch.repeat_interleave(start - ptr[:-1], counts, output_size=total)
    return torch.arange(total, device=ptr.device) + shift, ptr


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


def take_apart(batch: Data) -> Graphs:
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
        edge_index = node_ptr.new_empty(2, 0)
    elif isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    _check_edge_index(edge_index, num_nodes)

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


def put_together(graphs: Graphs) -> Batch:
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


def select(graphs: Graphs, index: Tensor) -> Graphs:
    """The graphs numbered ``index`` ``[B']``, in that order; a graph may come more than once."""
    starts, counts = graphs.node_ptr[index], graphs.node_ptr.diff()[index]
    node, node_ptr = ranges(starts, counts)
    edge, edge_ptr = ranges(graphs.edge_ptr[index], graphs.edge_ptr.diff()[index])
    edges = {
        key: value.index_select(0, edge)
        for key, value in graphs.edges.items()
        if key != "edge_index"
    }
    shift = spread(node_ptr[:-1] - starts, edge_ptr, edge.numel())
    return Graphs(
        nodes={key: value.index_select(0, node) for key, value in graphs.nodes.items()},
        edges={"edge_index": graphs.edge_index.index_select(1, edge) + shift, **edges},
        graphs={key: _rows(value, index) for key, value in graphs.graphs.items()},
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
    )


def permute_nodes(graphs: Graphs, order: Tensor) -> Graphs:
    """Reorder the nodes within their graphs: place p holds what was node ``order[p]``."""
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), device=order.device)
    return replace(
        graphs,
        nodes={key: value.index_select(0, order) for key, value in graphs.nodes.items()},
        edges={**graphs.edges, "edge_index": place[graphs.edge_index]},
    )


def keep_edges(graphs: Graphs, keep: Tensor) -> Graphs:
    """The graphs with only the edges where ``keep`` ``[E]`` is true."""
    kept = keep.nonzero().view(-1)
    counted = pointers(keep.long())  # kept edges before each edge
    edges = {
        key: value[:, kept] if key == "edge_index" else value[kept]
        for key, value in graphs.edges.items()
    }
    return replace(graphs, edges=edges, edge_ptr=counted[graphs.edge_ptr])


def keep_nodes(graphs: Graphs, keep: Tensor) -> Graphs:
    """The graphs with only the nodes where ``keep`` ``[N]`` is true, and the edges between them."""
    kept = keep.nonzero().view(-1)
    counted = pointers(keep.long())  # kept nodes before each node: also a kept node's new number
    source, target = graphs.edge_index
    rest = keep_edges(graphs, keep[source] & keep[target])
    return replace(
        rest,
        nodes={key: value.index_select(0, kept) for key, value in graphs.nodes.items()},
        edges={**rest.edges, "edge_index": counted[rest.edge_index]},
        node_ptr=counted[graphs.node_ptr],
    )


def without_repeated_edges(graphs: Graphs) -> Graphs:
    """Each edge once: weights of repeated edges add up, other attributes of theirs are averaged."""
    keys = edge_keys(graphs.num_nodes, graphs.edge_index)
    if bool((keys[1:] > keys[:-1]).all()):  # strictly sorted, as PyG keeps its datasets
        return graphs
    edges = {k: v for k, v in graphs.edges.items() if k not in ("edge_index", "edge_weight")}
    if len(graphs.edges) == 1:
        keys = keys.sort().values.unique_consecutive()
        edge_index = edges_of_keys(keys, graphs.num_nodes)
    else:
        edge_index, values = coalesce(
            graphs.edge_index, list(edges.values()), graphs.num_nodes, reduce="mean"
        )
        edges = dict(zip(edges, values, strict=True))
    if "edge_weight" in graphs.edges:
        _, edges["edge_weight"] = coalesce(
            graphs.edge_index, graphs.edges["edge_weight"], graphs.num_nodes, reduce="sum"
        )
    return replace(
        graphs,
        edges={"edge_index": edge_index, **edges},
        edge_ptr=edge_pointers(edge_index, graphs.node_ptr, graphs.num_nodes),
    )


def edge_pointers(edge_index: Tensor, node_ptr: Tensor, num_nodes: int) -> Tensor:
    """Where each graph's edges begin when they are in graph order, ``[B + 1]``."""
    num_graphs = node_ptr.numel() - 1
    if num_graphs == 1:
        return node_ptr.new_tensor([0, edge_index.size(1)])
    edge_graph = graph_of(node_ptr, num_nodes)[edge_index[0]]
    return pointers(torch.bincount(edge_graph, minlength=num_graphs))


def spread(values: Tensor, ptr: Tensor, total: int) -> Tensor:
    """Repeat ``values`` ``[B]``, one a graph, for the ``total`` rows that ``ptr`` divides."""
    if values.numel() == 1:  # a single graph may be large: no memory for what is all the same
        return values.expand(total)
    return torch.repeat_interleave(values, ptr.diff(), output_size=total)


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
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise InputError(
            f"edge_index names nodes from {int(edge_index.min())} to {int(edge_index.max())}, but "
            f"there are {num_nodes} nodes, numbered from 0 to {num_nodes - 1}."
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
    edge_graph = node_graph[source]
    edge_ptr = pointers(torch.bincount(edge_graph, minlength=node_ptr.numel() - 1))
    taken = Graphs(nodes, edges, graphs, node_ptr, edge_ptr)
    if not torch.equal(edge_graph, node_graph[target]):
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


def _rows(value: Any, index: Tensor) -> Any:
    return value[index] if isinstance(value, Tensor) else [value[i] for i in index.tolist()]
