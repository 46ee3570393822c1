"""Mixing pairs of graphs: the paper's Algorithm 1, on one pair or on a batch of pairs at once.

A graph is (v, e): node features v ``[n, d]`` and a binary edge matrix e ``[n, n]``. For a pair (A,
B), both padded with dummy nodes (no edges, all-zero features) to n = max(n_A, n_B)::

    ẽ = λ e_A + (1 − λ) e_B        (the paper's equation "edgemix")
    ṽ = λ v_A + (1 − λ) v_B        (the paper's equation "graphmixingNode")
    ỹ = λ y_A + (1 − λ) y_B

The matrix ẽ is never built: its non-zero entries are ``edge_index`` and ``edge_weight``, so that
time and memory grow with nodes + edges.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup.batch import check_devices, from_batch, to_batch
from ifmixup.edges import edge_keys, edges_of_keys, merge_pair
from ifmixup.errors import InputError, InputTypeError
from ifmixup.graphs import (
    Graphs,
    check_alike,
    concatenate,
    edge_pointers,
    keep_edges,
    ranges,
)
from ifmixup.mixable import check_mixable


def mix(
    a: Data, b: Data, lam: float, *, num_classes: int | None = None, drop: Collection[str] = ()
) -> Data:
    """Mix two graphs: λ of ``a`` and 1 − λ of ``b``.

    Node i of ``a`` meets node i of ``b``; the smaller graph is padded with dummy nodes. An edge of
    both graphs has weight 1, of ``a`` alone λ, of ``b`` alone 1 − λ; at λ = 1 or 0 the other
    graph's edges are not there.

    Args:
        a: The first graph, with float features ``x`` ``[n_A, d]``. Its edges count once each, with
            weight 1 or their ``edge_weight`` (repeated weighted edges add up).
        b: The partner, with features of the same width.
        lam: λ in [0, 1], the weight of ``a``.
        num_classes: The number of classes C; needed where ``y`` is a class number.
        drop: Names of attributes to leave out.

    Returns:
        A new ``Data`` with ``x`` ``[n, d]``, ``edge_index``, ``edge_weight`` ``[E]``, ``y`` (a
        class number becomes a row ``[1, C]``), and ``edge_attr`` and other floating node attributes
        mixed in the same way. Graph attributes other than ``y`` are left out: they speak of one
        graph.
    """
    if not isinstance(lam, (int, float, Tensor)):
        raise InputTypeError(f"λ must be a number in [0, 1]; got {lam!r}.")
    check_devices(a, b)
    one, other = (check_mixable(from_batch(graph), drop, num_classes) for graph in (a, b))
    check_alike(one, other)
    ratio = torch.as_tensor(lam, dtype=one.nodes["x"].dtype).reshape(-1).to(one.node_ptr.device)
    check_ratios(ratio, 1)
    n = max(one.num_nodes, other.num_nodes)
    # λ = 1 and λ = 0 leave the edges of one graph only: weight 0 is no edge.
    terms = [(g, r) for g, r in ((one, ratio), (other, 1 - ratio)) if bool(r != 0)]

    nodes = {name: value.new_zeros(n, *value.shape[1:]) for name, value in one.nodes.items()}
    for graph, share in ((one, ratio), (other, 1 - ratio)):
        for name, value in graph.nodes.items():
            nodes[name][: len(value)].addcmul_(value, share.to(value.dtype))
    names = {name: None for graph in (one, other) for name in graph.edges if name != "edge_index"}
    names["edge_weight"] = None
    keys, values = merge_pair(
        edge_keys(n, *(graph.edge_index for graph, _ in terms)),
        [torch.cat([_edge_term(graph, name, share) for graph, share in terms]) for name in names],
    )
    edges = dict(zip(names, values, strict=True))
    labels = {
        name: _mix_labels(y, other.graphs[name], ratio, len(terms) == 2)
        for name, y in one.graphs.items()
    }
    return Data(**nodes, edge_index=edges_of_keys(keys, n), **edges, **labels)


def mix_batch(
    a: Batch,
    b: Batch,
    lam: Tensor,
    *,
    num_classes: int | None = None,
    coalesce: bool = True,
    drop: Collection[str] = (),
) -> Batch:
    """Mix B pairs of graphs in one pass: graph g of ``a`` with graph g of ``b``; the same as
    :func:`mix` on each.

    Args:
        a: The first graphs.
        b: The partners: as many, in the same order.
        lam: λ of each pair, ``[B]``, each in [0, 1].
        num_classes: The number of classes C; needed where ``y`` holds class numbers.
        coalesce: Whether an edge of both graphs stands once, with weight 1. Otherwise it may stand
            twice, with weights λ and 1 − λ: that is faster, and the same to a model that is linear
            in the weights, as all of :mod:`ifmixup.nn` are. Graphs with edge attributes are always
            coalesced.
        drop: Names of attributes to leave out.

    Returns:
        A new ``Batch`` on the device of its input; ``y`` is ``[B, C]`` where it was class numbers.
    """
    check_devices(a, b)
    one, other = (check_mixable(from_batch(graph), drop, num_classes) for graph in (a, b))
    count = one.num_graphs
    if count != other.num_graphs:
        raise InputError(
            f"Graphs are mixed in pairs, but the first batch has {count} graphs "
            f"and the second {other.num_graphs}."
        )
    check_ratios(lam, count)
    place = torch.arange(count, device=one.node_ptr.device)
    pool = concatenate(one, other)
    return to_batch(mix_pairs(pool, place, place + count, lam, coalesce=coalesce))


def mix_pairs(
    pool: Graphs, first: Tensor, second: Tensor, lam: Tensor, *, coalesce: bool = True
) -> Graphs:
    """Mix graph ``first[g]`` of a pool with graph ``second[g]``, for every pair g at once.

    Args:
        pool: Graphs that were found :func:`~ifmixup.mixable.check_mixable`.
        first: The first graphs, as their places in the pool, ``[B]``.
        second: The partners, ``[B]``.
        lam: λ of each pair, ``[B]``; see :func:`check_ratios`.
        coalesce: See :func:`mix_batch`.
    """
    x = pool.nodes["x"]
    lam = lam.to(device=x.device, dtype=x.dtype)
    inside = bool(((lam > 0) & (lam < 1)).all())
    sides = torch.stack([first, second], 1)  # [B, 2]
    starts, counts = pool.node_ptr[sides], pool.node_counts[sides]
    # For each node of the mixed graphs, in two columns: its row in the pool and its share.
    number, graph, node_ptr = ranges(torch.zeros_like(first), counts.amax(1))
    there = number.unsqueeze(1) < counts.index_select(0, graph)  # else a dummy node
    row = (starts.index_select(0, graph) + number.unsqueeze(1)).mul_(there)
    share = torch.stack([lam, 1 - lam], 1).index_select(0, graph)

    mixed = Graphs(_mix_nodes(pool, row, share * there), {}, {}, node_ptr, node_ptr)
    shift = (node_ptr[:-1].unsqueeze(1) - starts).index_select(0, graph)
    mixed, share = _weighted_edges(pool, mixed, row, there, share, shift)
    if not inside:  # a graph with a share of 0 has no edges here
        mixed = keep_edges(mixed, share != 0)
    if coalesce or len(mixed.edges) > 2:
        mixed = _merge(mixed)
    if "y" in pool.graphs:
        rows = pool.graphs["y"]
        mixed.graphs["y"] = _mix_labels(rows[first], rows[second], lam, inside)
    return mixed


def check_ratios(lam: Tensor, count: int) -> None:
    """See that ``lam`` is ``[count]``, each in [0, 1]."""
    if not isinstance(lam, Tensor) or lam.shape != (count,):
        given = f"shape {list(lam.shape)}" if isinstance(lam, Tensor) else repr(lam)
        raise InputError(f"lam must be a tensor with one λ a pair, shape [{count}]; got {given}.")
    if not bool(((lam >= 0) & (lam <= 1)).all()):  # NaN fails too
        wrong = lam[~((lam >= 0) & (lam <= 1))][0].item()
        raise InputError(f"λ must be in [0, 1]; got {wrong}.")


def _edge_term(graph: Graphs, name: str, share: Tensor) -> Tensor:
    """What the edges of one graph bring to the mixture: their share of ``name``."""
    value = graph.edges.get(name)
    if value is None:  # no weights: all are 1
        return share.expand(graph.edge_index.size(1))
    return value.to(share.dtype) * share if name == "edge_weight" else value * share.to(value.dtype)


def _mix_nodes(pool: Graphs, row: Tensor, share: Tensor) -> dict[str, Tensor]:
    """ṽ = λ v_A + (1 − λ) v_B: each row of ṽ is a weighted sum of two rows of the pool.

    Args:
        pool: Where the nodes come from.
        row: The two rows of each mixed node, ``[N, 2]``.
        share: Their shares, ``[N, 2]``; 0 for a dummy node.
    """
    return {
        name: F.embedding_bag(
            row,
            value.flatten(1) if value.dim() > 1 else value.unsqueeze(1),
            mode="sum",
            per_sample_weights=share.to(value.dtype),
        ).view(-1, *value.shape[1:])
        for name, value in pool.nodes.items()
    }


def _weighted_edges(
    pool: Graphs, mixed: Graphs, row: Tensor, there: Tensor, share: Tensor, shift: Tensor
) -> tuple[Graphs, Tensor]:
    """ẽ = λ e_A + (1 − λ) e_B: node by node the edges of A and then those of B, so that they come
    out sorted by source without sorting.

    Args:
        pool: Where the edges come from, sorted by source.
        mixed: The mixed graphs, which have nodes but no edges yet.
        row: The two rows of the pool that each mixed node is made of, ``[N, 2]``.
        there: Whether they exist; else that side has a dummy node.
        share: λ and 1 − λ of its graph, ``[N, 2]``.
        shift: What leads from a node's number in the pool to that in its mixed graph, ``[N, 2]``.

    Returns:
        The mixed graphs, and the share of each edge, ``[E]``.
    """
    row = row.view(-1)
    degree = pool.degree.index_select(0, row).mul_(there.view(-1))
    edge, side, ptr = ranges(pool.source_ptr.index_select(0, row), degree)
    target = pool.edge_index[1].index_select(0, edge)
    target += shift.view(-1).index_select(0, side)
    weight = share.view(-1).index_select(0, side)
    edges = {"edge_index": torch.stack([side >> 1, target])}
    for name, value in pool.edges.items():
        if name not in ("edge_index", "edge_weight"):
            edges[name] = value.index_select(0, edge) * _as_rows(weight, value)
    edges["edge_weight"] = weight
    if "edge_weight" in pool.edges:
        edges["edge_weight"] = weight * pool.edges["edge_weight"].index_select(0, edge).to(weight)
    return replace(mixed, edges=edges, edge_ptr=ptr[2 * mixed.node_ptr]), weight


def _merge(mixed: Graphs) -> Graphs:
    """Each edge once, sorted: what both graphs of a pair have is added."""
    names = [name for name in mixed.edges if name != "edge_index"]
    keys, values = merge_pair(
        edge_keys(mixed.num_nodes, mixed.edge_index), [mixed.edges[name] for name in names]
    )
    edge_index = edges_of_keys(keys, mixed.num_nodes)
    return Graphs(
        nodes=mixed.nodes,
        edges={"edge_index": edge_index, **dict(zip(names, values, strict=True))},
        graphs=mixed.graphs,
        node_ptr=mixed.node_ptr,
        edge_ptr=edge_pointers(edge_index, mixed.node_ptr, mixed.num_nodes),
    )


def _mix_labels(a: Tensor, b: Tensor, lam: Tensor, inside: bool) -> Tensor:
    """ỹ = λ y_A + (1 − λ) y_B; a missing label (NaN) stays missing, unless it has no share."""
    share = _as_rows(lam, a)
    mixed = share * a + (1 - share) * b
    if inside:  # 0 < λ < 1: both have a share
        return mixed
    return torch.where(share == 1, a, torch.where(share == 0, b, mixed))


def _as_rows(factor: Tensor, value: Tensor) -> Tensor:
    """``factor`` ``[K]``, shaped to multiply ``value`` ``[K, ...]`` row by row, in its dtype."""
    return factor.to(value.dtype).view(-1, *[1] * (value.dim() - 1))
