"""New edges from old ones, and ranks: for methods that cut graphs apart and join the parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ifmixup.edges import edge_keys
from ifmixup.graphs import Graphs, edge_pointers, take_edges
from ifmixup.mixing import mix_labels


def with_edges(
    graphs: Graphs, nodes: dict[str, Tensor], node_ptr: Tensor, edge_index: Tensor, row: Tensor
) -> Graphs:
    """New graphs, with edges that take over the attributes of edges of ``graphs``.

    Args:
        graphs: Where edge attributes, graph attributes and indices come from.
        nodes: The node attributes of the new graphs, each ``[N', ...]``.
        node_ptr: Where their nodes begin, ``[B + 1]``.
        edge_index: Their edges in any order, ``[2, E']``.
        row: For each of them the edge of ``graphs`` whose attributes it has, ``[E']``.

    Returns:
        The new graphs; their edges are sorted by source and target.
    """
    num_nodes = next(iter(nodes.values())).size(0)
    order = edge_keys(num_nodes, edge_index).argsort()
    edge_index = take_edges(edge_index, order)
    edges = {"edge_index": edge_index}
    if len(graphs.edges) > 1:
        row = row[order]
        edges |= {k: v[row] for k, v in graphs.edges.items() if k != "edge_index"}
    edge_ptr = edge_pointers(edge_index, node_ptr, num_nodes)
    return replace(graphs, nodes=nodes, edges=edges, node_ptr=node_ptr, edge_ptr=edge_ptr)


def mixed_labels(graphs: Graphs, partner: Tensor, lam: Tensor) -> dict[str, Any]:
    """The labels of pairs; other graph attributes are left out, because they describe one graph.

    Args:
        graphs: The first graphs.
        partner: The partner of each, as its index in ``graphs``, ``[B]``.
        lam: The share of the first graph in each pair, ``[B]``.
    """
    own: dict[str, Tensor] = {
        name: value for name, value in graphs.graphs.items() if name in ("y", "y_weight")
    }
    return mix_labels(own, {name: value[partner] for name, value in own.items()}, lam)


def order_in_graphs(graph: Tensor, key: Tensor) -> Tensor:
    """The order that sorts by graph and, within a graph, by ``key``; equal keys stay as they are.

    Args:
        graph: The graph of each item, ``[K]``.
        key: Integers from 0 to 2³² − 1, ``[K]``.
    """
    return ((graph << 32) | key).argsort(stable=True)


def rank_in_graphs(graph: Tensor, ptr: Tensor, key: Tensor) -> Tensor:
    """The rank of each item among those of its graph by ``key``, from 0, ``[K]``.

    Args:
        graph: The graph of each item, ``[K]``, in order.
        ptr: Where the items of each graph begin, ``[B + 1]``.
        key: Integers from 0 to 2³² − 1, ``[K]``.
    """
    order = order_in_graphs(graph, key)
    rank = torch.arange(order.numel(), device=order.device)
    return torch.empty_like(order).scatter_(0, order, rank) - ptr[graph]


def count_in_graphs(graph: Tensor, chosen: Tensor, num_graphs: int) -> Tensor:
    """The number of ``chosen`` items of each graph, ``[B]``.

    Args:
        graph: The graph of each item, ``[K]``.
        chosen: Whether an item counts, ``[K]``.
        num_graphs: B.
    """
    return graph.new_zeros(num_graphs).index_add_(0, graph, chosen.long())
