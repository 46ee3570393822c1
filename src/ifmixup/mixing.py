"""Mixing pairs of graphs: the paper's Algorithm 1, on one pair or on a batch of pairs at once.

A graph is (v, e): node features v ``[n, d]`` and a binary edge matrix e ``[n, n]``. For a pair (A,
B), both padded with dummy nodes (no edges, all-zero features) to n = max(n_A, n_B)::

    ẽ = λ e_A + (1 − λ) e_B        (the paper's equation "edgemix")
    ṽ = λ v_A + (1 − λ) v_B        (the paper's equation "graphmixingNode")
    w̃ = λ w_A + (1 − λ) w_B
    ỹ = λ y_A + (1 − λ) y_B

where w is 1 for a node and 0 for a dummy node: it says how much of a node exists, which the paper
leaves open. The matrix ẽ is never built: its non-zero entries are ``edge_index`` and
``edge_weight``; time and memory grow with nodes + edges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup.batch import check_devices, from_batch, labels, to_batch
from ifmixup.edges import edge_keys, edges_of_keys, merge_pair
from ifmixup.errors import InputError, InputTypeError
from ifmixup.graphs import (
    Graphs,
    check_alike,
    concatenate,
    edge_pointers,
    keep_edges,
    ranges,
    without_repeated_edges,
)


def mix(
    a: Data, b: Data, lam: float, *, num_classes: int | None = None, drop: Collection[str] = ()
) -> Data:
    """Mix two graphs: λ of ``a`` and 1 − λ of ``b``.

    Node i of ``a`` is mixed with node i of ``b``; the smaller graph is padded with dummy nodes. An
    edge of both graphs has weight 1, an edge only in ``a`` has λ, and an edge only in ``b`` has
    1 − λ; edges of weight 0 are left out. Nodes have a ``node_weight`` in the same way, but nodes
    of weight 0 are kept.

    Args:
        a: The first graph, with float features ``x`` ``[n_A, d]``. Its edges count once each, with
            weight 1 or their ``edge_weight`` (repeated weighted edges add up).
        b: The partner, with features of the same width.
        lam: λ in [0, 1], the weight of ``a``.
        num_classes: The number of classes C; needed where ``y`` is a class number.
        drop: Names of attributes to leave out.

    Returns:
        A new ``Data`` with ``x`` ``[n, d]``, ``node_weight`` ``[n]``, ``edge_index``,
        ``edge_weight`` ``[E]``, ``y`` (a class number becomes a row ``[1, C]``), and ``edge_attr``
        and other floating node attributes mixed in the same way: ã = λ a_A + (1 − λ) a_B, where an
        edge that a graph does not have has a = 0. Where ``y`` is floats, ``y_weight`` says how much
        of each label is known (:func:`mix_labels`). Other graph attributes are left out: they
        describe one graph.
    """
    if not isinstance(lam, (int, float, Tensor)):
        raise InputTypeError(f"λ must be a number in [0, 1]; got {lam!r}.")
    check_devices(a, b)
    one, other = (check_mixable(from_batch(graph), drop, num_classes) for graph in (a, b))
    check_alike(one, other)
    x = one.nodes["x"]
    ratio = torch.as_tensor(lam, dtype=x.dtype, device=x.device).reshape(-1)
    check_ratios(ratio, 1)
    # Two graphs need no table of who meets whom: for a million nodes this takes less than half of
    # the time and memory of mix_pairs.
    n = max(one.num_nodes, other.num_nodes)
    pair = ((one, ratio), (other, 1 - ratio))
    # λ = 1 and λ = 0 leave the edges of one graph only, because an edge of weight 0 is not an edge.
    terms = [(graph, share) for graph, share in pair if bool(share != 0)]

    nodes = {name: value.new_zeros(n, *value.shape[1:]) for name, value in one.nodes.items()}
    nodes["node_weight"] = ratio.new_zeros(n)
    for graph, share in pair:
        for name, value in graph.nodes.items():
            nodes[name][: len(value)].addcmul_(value, share.to(value.dtype))
        if "node_weight" not in graph.nodes:
            nodes["node_weight"][: graph.num_nodes] += share
    names = {name: None for graph in (one, other) for name in graph.edges if name != "edge_index"}
    names["edge_weight"] = None
    keys, values = merge_pair(
        edge_keys(n, *(graph.edge_index for graph, _ in terms)),
        [torch.cat([_edge_term(graph, name, share) for graph, share in terms]) for name in names],
    )
    edges = dict(zip(names, values, strict=True))
    mixed = mix_labels(one.graphs, other.graphs, ratio, inside=len(terms) == 2)
    return Data(**nodes, edge_index=edges_of_keys(keys, n), **edges, **mixed)


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
        coalesce: Whether an edge of both graphs occurs once, with weight 1. Otherwise it may occur
            twice, with weights λ and 1 − λ: that is faster, and the same to a model that is linear
            in the weights, as all of :mod:`ifmixup.nn` are. Graphs with edge attributes are always
            coalesced.
        drop: Names of attributes to leave out.

    Returns:
        A new ``Batch`` on the device of its input, with ``edge_weight`` and ``node_weight``; ``y``
        is ``[B, C]`` where it was class numbers.
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
    first = torch.arange(count, device=one.node_ptr.device)
    pool = concatenate(one, other)
    return to_batch(mix_pairs(pool, first, first + count, lam, coalesce=coalesce))


def mix_pairs(
    pool: Graphs, first: Tensor, second: Tensor, lam: Tensor, *, coalesce: bool = True
) -> Graphs:
    """Mix graph ``first[g]`` of a pool with graph ``second[g]``, for every pair g at once.

    Args:
        pool: Graphs that :func:`check_mixable` gave.
        first: The first graphs, as their indices in the pool, ``[B]``.
        second: The partners, ``[B]``.
        lam: λ of each pair, ``[B]``; see :func:`check_ratios`.
        coalesce: See :func:`mix_batch`.

    Returns:
        The mixed graphs, with ``edge_weight`` and ``node_weight``, and the index in the dataset of
        the first graph of each pair.
    """
    mixed, row, share = mix_structure(pool, first, second, lam, coalesce=coalesce)
    nodes = {
        name: mix_nodes(value, row, share)
        for name, value in pool.nodes.items()
        if name != "node_weight"
    }
    return replace(mixed, nodes=nodes | mixed.nodes)


def mix_structure(
    pool: Graphs, first: Tensor, second: Tensor, lam: Tensor, *, coalesce: bool = True
) -> tuple[Graphs, Tensor, Tensor]:
    """What :func:`mix_pairs` gives without the nodes' features, and how these are mixed.

    Returns:
        The mixed graphs, of whose node attributes there is ``node_weight`` only; and for
        :func:`mix_nodes` the two rows of the pool that each mixed node is made of and their shares,
        which are 0 for a dummy node, both ``[N, 2]``.
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

    index = None if pool.index is None else pool.index[first]
    node_share, own = share * there, pool.nodes.get("node_weight")
    if own is None:
        weight = node_share[:, 0] + node_share[:, 1]
    else:
        weight = mix_nodes(own, row, node_share).to(x.dtype)
    mixed = Graphs({"node_weight": weight}, {}, {}, node_ptr, node_ptr, index)
    shift = (node_ptr[:-1].unsqueeze(1) - starts).index_select(0, graph)
    mixed, share = _weighted_edges(pool, mixed, row, there, share, shift)
    if not inside:  # a graph with a share of 0 has no edges here
        mixed = keep_edges(mixed, share != 0)
    if coalesce or len(mixed.edges) > 2:
        mixed = _merge(mixed)
    one, other = ({k: v[side] for k, v in pool.graphs.items()} for side in (first, second))
    mixed.graphs.update(mix_labels(one, other, lam, inside=inside))
    return mixed, row, node_share


def mix_nodes(value: Tensor, row: Tensor, share: Tensor) -> Tensor:
    """ṽ = λ v_A + (1 − λ) v_B: each row is a sum of two rows ``[N, 2]`` of ``value`` with their
    shares ``[N, 2]``.
    """
    return F.embedding_bag(
        row,
        value.flatten(1) if value.dim() > 1 else value.unsqueeze(1),
        mode="sum",
        per_sample_weights=share.to(value.dtype),
    ).view(-1, *value.shape[1:])


def mix_labels(
    a: Mapping[str, Tensor], b: Mapping[str, Tensor], lam: Tensor, *, inside: bool = False
) -> dict[str, Tensor]:
    r"""ỹ = λ y_A + (1 − λ) y_B; of a pair in which one label is missing, the known one counts.

    .. math::
        \tilde{m} = \lambda m_A + (1 - \lambda) m_B, \qquad
        \tilde{y} = \frac{\lambda m_A y_A + (1 - \lambda) m_B y_B}{\tilde{m}}

    where m, ``y_weight``, is 1 where a label is known and 0 where it is missing. A loss that is
    linear in the label, as the binary cross-entropy is, weighted by m̃, is then
    :math:`\lambda m_A \ell(z, y_A) + (1 - \lambda) m_B \ell(z, y_B)`; the squared error has the
    same gradient. Where both are missing, ỹ is NaN and m̃ is 0.

    Args:
        a: The labels of the first graphs: ``y`` ``[B, ...]``, and ``y_weight`` of the same shape
            where labels may be missing.
        b: Those of the partners.
        lam: λ of each pair, ``[B]``.
        inside: See :func:`mix_rows`.
    """
    if "y" not in a:
        return {}
    y = mix_rows(a["y"], b["y"], lam, inside=inside)
    if "y_weight" not in a and "y_weight" not in b:
        return {"y": y}
    known = [side.get("y_weight", torch.ones_like(y)) for side in (a, b)]
    share = _as_rows(lam, known[0])
    first, second = share * known[0], (1 - share) * known[1]
    both = (known[0] == 1) & (known[1] == 1)  # exactly as where nothing is missing
    weight = torch.where(both, 1.0, first + second)
    part = first / weight  # NaN where both are missing
    mean = part * a["y"].nan_to_num() + (1 - part) * b["y"].nan_to_num()
    return {"y": torch.where(both, y, mean), "y_weight": weight}


def mix_rows(a: Tensor, b: Tensor, lam: Tensor, *, inside: bool = False) -> Tensor:
    """λ a + (1 − λ) b; NaN stays NaN, unless its share is 0.

    Args:
        a: The rows of the first graphs, ``[B, ...]``.
        b: Those of the partners.
        lam: λ of each pair, ``[B]``.
        inside: Whether 0 < λ < 1 is known for all of them, which saves time.
    """
    share = _as_rows(lam, a)
    mixed = share * a + (1 - share) * b
    if inside:
        return mixed
    return torch.where(share == 1, a, torch.where(share == 0, b, mixed))


def check_mixable(
    graphs: Graphs, drop: Collection[str] = (), num_classes: int | None = None
) -> Graphs:
    """Check that graphs can be mixed; each edge occurs once, sorted, and labels become rows.

    Args:
        graphs: The graphs; they are not changed.
        drop: Names of attributes to leave out.
        num_classes: The number of classes; needed where ``y`` is class numbers.
    """
    if "x" in drop or "edge_index" in drop:
        raise InputError("x and edge_index cannot be dropped, because they are mixed.")

    def without(level: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in level.items() if name not in drop}

    own = without(graphs.graphs)  # of which only labels are mixed: others describe one graph
    graphs = replace(graphs, nodes=without(graphs.nodes), edges=without(graphs.edges), graphs={})
    x = check_features(graphs)
    for name, value in {**graphs.nodes, **graphs.edges}.items():
        if name in ("edge_weight", "node_weight") and value.dim() != 1:
            rows = name[0].upper()
            raise InputError(f"{name} must have the shape [{rows}]; got {list(value.shape)}.")
        if name != "edge_index":
            _check_attribute(graphs, name, value)
    if "y" in own:
        graphs.graphs.update(labels(own, graphs.num_graphs, num_classes, x.dtype))
    return without_repeated_edges(graphs)


def check_features(graphs: Graphs) -> Tensor:
    """The node features ``x``, if they can be mixed."""
    x = graphs.nodes.get("x")
    if x is None or (x.dim() == 2 and x.size(1) == 0):
        raise InputError(
            "The graph has no node features x. Give it some, for example one-hot degrees "
            "(torch_geometric.transforms.OneHotDegree)."
        )
    if not x.is_floating_point() or x.dim() != 2:
        raise InputError(
            f"Node features x must be floats of shape [N, d]; got {x.dtype} {list(x.shape)}. "
            f"One-hot encode class numbers (torch.nn.functional.one_hot), then .float()."
        )
    return x


def check_ratios(lam: Tensor, count: int) -> None:
    """Check that ``lam`` is ``[count]``, each in [0, 1]."""
    if not isinstance(lam, Tensor) or lam.shape != (count,):
        given = f"shape {list(lam.shape)}" if isinstance(lam, Tensor) else repr(lam)
        raise InputError(f"lam must be a tensor with one λ per pair, shape [{count}]; got {given}.")
    if not bool(((lam >= 0) & (lam <= 1)).all()):  # NaN fails too
        wrong = lam[~((lam >= 0) & (lam <= 1))][0].item()
        raise InputError(f"λ must be in [0, 1]; got {wrong}.")


def _check_attribute(graphs: Graphs, name: str, value: Tensor) -> None:
    if not value.is_floating_point():
        raise InputError(
            f"The attribute {name!r} is {value.dtype} and cannot be interpolated. "
            f"One-hot encode it (or .float() a number), or leave it out with drop=[{name!r}]."
        )
    # A sum is finite only if all its terms are: one cheap pass, and a second to find the culprit.
    if not bool(value.sum().isfinite()) and not bool(value.isfinite().all()):
        row = int((~value.isfinite()).view(value.size(0), -1).any(1).nonzero()[0])
        graph = graphs.node_graph if name in graphs.nodes else graphs.edge_graph
        raise InputError(
            f"The attribute {name!r} of graph {int(graph[row])} in the batch is not finite "
            f"(row {row}). Replace NaN and infinity before mixing."
        )


def _edge_term(graph: Graphs, name: str, share: Tensor) -> Tensor:
    """The share of one graph's edges in the attribute ``name`` of the mixture."""
    value = graph.edges.get(name)
    if value is None:  # no weights: all are 1
        return share.expand(graph.edge_index.size(1))
    return value.to(share.dtype) * share if name == "edge_weight" else value * share.to(value.dtype)


def _weighted_edges(
    pool: Graphs, mixed: Graphs, row: Tensor, there: Tensor, share: Tensor, shift: Tensor
) -> tuple[Graphs, Tensor]:
    """ẽ = λ e_A + (1 − λ) e_B: node by node the edges of A and then those of B, which makes them
    sorted by source without sorting.

    Of each mixed node, ``row`` has the two rows of the pool that it is made of, ``there`` whether
    they exist, ``share`` λ and 1 − λ, and ``shift`` its number in the mixed graph less that in the
    pool, each ``[N, 2]``. The share of each edge ``[E]`` comes back too.
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
    """Each edge once, sorted: the weights of an edge of both graphs are added."""
    names = [name for name in mixed.edges if name != "edge_index"]
    keys, values = merge_pair(
        edge_keys(mixed.num_nodes, mixed.edge_index), [mixed.edges[name] for name in names]
    )
    edge_index = edges_of_keys(keys, mixed.num_nodes)
    return replace(
        mixed,
        edges={"edge_index": edge_index, **dict(zip(names, values, strict=True))},
        edge_ptr=edge_pointers(edge_index, mixed.node_ptr, mixed.num_nodes),
    )


def _as_rows(factor: Tensor, value: Tensor) -> Tensor:
    """``factor`` ``[K]``, shaped to multiply ``value`` ``[K, ...]`` row by row, in its dtype."""
    return factor.to(value.dtype).view(-1, *[1] * (value.dim() - 1))
