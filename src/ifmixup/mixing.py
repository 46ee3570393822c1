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

from collections.abc import Collection, Mapping

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup.edge_keys import edge_keys, edges_of_keys, merge_pair
from ifmixup.errors import InputError
from ifmixup.graphs import (
    Graphs,
    check_devices,
    edge_pointers,
    keep_edges,
    pointers,
    put_together,
    ranges,
    spread,
    take_apart,
    without_repeated_edges,
)
from ifmixup.labels import label_rows


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
    check_devices(a, b)
    ratio = torch.as_tensor(lam, dtype=torch.float64).reshape(-1)
    mixed = mix_graphs(mixable(a, drop), mixable(b, drop), ratio, num_classes=num_classes)
    return Data(**mixed.nodes, **mixed.edges, **mixed.graphs)


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
    mixed = mix_graphs(
        mixable(a, drop), mixable(b, drop), lam, num_classes=num_classes, coalesce=coalesce
    )
    return put_together(mixed)


def mixable(batch: Data, drop: Collection[str] = ()) -> Graphs:
    """Take a batch apart and check that it can be mixed; each edge then stands once."""
    graphs = take_apart(batch)
    for level in (graphs.nodes, graphs.edges, graphs.graphs):
        for name in drop:
            level.pop(name, None)
    check_features(batch)
    weight = graphs.edges.get("edge_weight")
    if weight is not None and weight.dim() != 1:
        raise InputError(f"edge_weight must have the shape [E]; got {list(weight.shape)}.")
    for name, value in {**graphs.nodes, **graphs.edges}.items():
        if name == "edge_index":
            continue
        if not value.is_floating_point():
            raise InputError(
                f"The attribute {name!r} is {value.dtype} and cannot be interpolated. "
                f"One-hot encode it, or leave it out with drop=[{name!r}]."
            )
        # A sum is finite only if all its terms are: one cheap pass, and a second one to find the
        # culprit.
        if not bool(value.sum().isfinite()) and not bool(value.isfinite().all()):
            row = int((~value.isfinite()).view(value.size(0), -1).any(1).nonzero()[0])
            place = graphs.node_graph if name in graphs.nodes else graphs.edge_graph
            raise InputError(
                f"The attribute {name!r} of graph {int(place[row])} in the batch is not finite "
                f"(row {row}). Replace NaN and infinity before mixing."
            )
    return without_repeated_edges(graphs)


def check_features(batch: Data) -> Tensor:
    """The node features ``x``, if they can be mixed."""
    x = batch.get("x") if isinstance(batch, Data) else None
    if x is None:
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


def mix_graphs(
    a: Graphs, b: Graphs, lam: Tensor, *, num_classes: int | None = None, coalesce: bool = True
) -> Graphs:
    """:func:`mix_batch` on graphs that are taken apart and checked (see :func:`mixable`)."""
    _check_pair(a, b, lam)
    x = a.nodes["x"]
    lam = lam.to(device=x.device, dtype=x.dtype)
    ratios = (lam, 1 - lam)
    node_ptr = pointers(torch.maximum(a.node_ptr.diff(), b.node_ptr.diff()))
    num_nodes = int(node_ptr[-1])

    nodes = _mix_nodes((a, b), ratios, node_ptr, num_nodes)
    halves = [
        _weighted_edges(half, ratio, node_ptr) for half, ratio in zip((a, b), ratios, strict=True)
    ]
    if bool(((lam == 0) | (lam == 1)).any()):  # weight 0 is no edge
        halves = [keep_edges(half, half.edges["edge_weight"] != 0) for half in halves]
    if coalesce or len(halves[0].edges) > 2:
        edges, edge_ptr = _merge(halves, node_ptr, num_nodes)
    else:
        edges, edge_ptr = _interleave(*halves)
    labels = _mix_labels(a.graphs, b.graphs, lam, num_classes)
    return Graphs(nodes, edges, labels, node_ptr, edge_ptr)


def _check_pair(a: Graphs, b: Graphs, lam: Tensor) -> None:
    if a.num_graphs != b.num_graphs:
        raise InputError(
            f"Graphs are mixed in pairs, but the first batch has {a.num_graphs} graphs "
            f"and the second {b.num_graphs}."
        )
    if not isinstance(lam, Tensor) or lam.shape != (a.num_graphs,):
        given = f"shape {list(lam.shape)}" if isinstance(lam, Tensor) else repr(lam)
        raise InputError(
            f"lam must be a tensor with one λ a pair, shape [{a.num_graphs}]; got {given}."
        )
    if not bool(((lam >= 0) & (lam <= 1)).all()):  # NaN fails too
        wrong = lam[~((lam >= 0) & (lam <= 1))][0].item()
        raise InputError(f"λ must be in [0, 1]; got {wrong}.")
    xa, xb = a.nodes["x"], b.nodes["x"]
    if xa.size(1) != xb.size(1):
        raise InputError(
            f"The node features have different widths: {xa.size(1)} and {xb.size(1)}. "
            f"Encode both graphs with the same feature set."
        )
    for level in ("nodes", "edges"):
        mine, theirs = getattr(a, level), getattr(b, level)
        for name in sorted(mine.keys() ^ theirs.keys()):
            if name != "edge_weight":
                raise InputError(
                    f"Only one of the two graphs has {name!r}. Give it to both, or leave it out "
                    f"with drop=[{name!r}]."
                )
        for name in mine.keys() & theirs.keys():
            if name != "edge_index" and mine[name].shape[1:] != theirs[name].shape[1:]:
                raise InputError(
                    f"{name!r} has rows of shape {list(mine[name].shape[1:])} in one graph and "
                    f"{list(theirs[name].shape[1:])} in the other; they must agree."
                )


def _mix_nodes(
    pair: tuple[Graphs, Graphs], ratios: tuple[Tensor, Tensor], node_ptr: Tensor, num_nodes: int
) -> dict[str, Tensor]:
    """ṽ = λ v_A + (1 − λ) v_B, where a dummy node's features are zero."""
    mixed: dict[str, Tensor] = {}
    for half, ratio in zip(pair, ratios, strict=True):
        factor = spread(ratio, half.node_ptr, half.num_nodes)
        for name, value in half.nodes.items():
            if name not in mixed:
                mixed[name] = value.new_zeros(num_nodes, *value.shape[1:])
            if half.num_graphs == 1:  # begins at 0 before and after; may be too large for a copy
                mixed[name][: value.size(0)].addcmul_(value, _as_rows(factor, value))
            else:
                shift = spread((node_ptr - half.node_ptr)[:-1], half.node_ptr, half.num_nodes)
                place = torch.arange(half.num_nodes, device=shift.device) + shift
                mixed[name].index_add_(0, place, value * _as_rows(factor, value))
    return mixed


def _weighted_edges(half: Graphs, ratio: Tensor, node_ptr: Tensor) -> Graphs:
    """One term of ẽ = λ e_A + (1 − λ) e_B, on the nodes of the mixed graphs."""
    num_edges = half.edge_index.size(1)
    weight = spread(ratio, half.edge_ptr, num_edges)
    edges = {"edge_index": half.edge_index}
    if half.num_graphs > 1:  # a single graph begins at 0 before and after
        shift = spread(node_ptr[:-1] - half.node_ptr[:-1], half.edge_ptr, num_edges)
        edges["edge_index"] = half.edge_index + shift
    for name, value in half.edges.items():
        if name not in ("edge_index", "edge_weight"):
            edges[name] = value * _as_rows(weight, value)
    given = half.edges.get("edge_weight")
    edges["edge_weight"] = weight if given is None else weight * given.to(weight.dtype)
    return Graphs(half.nodes, edges, {}, half.node_ptr, half.edge_ptr)


def _interleave(a: Graphs, b: Graphs) -> tuple[dict[str, Tensor], Tensor]:
    """The edges of a pair after each other, pair by pair: by counting, without sorting."""
    starts = torch.stack([a.edge_ptr[:-1], b.edge_ptr[:-1] + a.edge_index.size(1)], 1)
    counts = torch.stack([a.edge_ptr.diff(), b.edge_ptr.diff()], 1)
    order, _ = ranges(starts.view(-1), counts.view(-1))
    edges = {
        "edge_index": torch.cat([a.edge_index, b.edge_index], 1).index_select(1, order),
        "edge_weight": torch.cat([a.edges["edge_weight"], b.edges["edge_weight"]])[order],
    }
    return edges, a.edge_ptr + b.edge_ptr


def _merge(
    halves: list[Graphs], node_ptr: Tensor, num_nodes: int
) -> tuple[dict[str, Tensor], Tensor]:
    """The edges of both halves, each once and sorted: what both have is added."""
    names = [name for name in halves[0].edges if name != "edge_index"]
    keys, values = merge_pair(
        edge_keys(num_nodes, *(half.edge_index for half in halves)),
        [torch.cat([half.edges[name] for half in halves]) for name in names],
    )
    edge_index = edges_of_keys(keys, num_nodes)
    edges = {"edge_index": edge_index, **dict(zip(names, values, strict=True))}
    return edges, edge_pointers(edge_index, node_ptr, num_nodes)


def _mix_labels(
    a: Mapping[str, Tensor], b: Mapping[str, Tensor], lam: Tensor, num_classes: int | None
) -> dict[str, Tensor]:
    """ỹ = λ y_A + (1 − λ) y_B; NaN, a missing label, stays NaN."""
    if "y" not in a and "y" not in b:
        return {}
    if "y" not in a or "y" not in b:
        raise InputError("Only one of the two graphs has a label y. Give it to both, or to none.")
    rows_a, rows_b = (label_rows(y, lam.numel(), num_classes, lam.dtype) for y in (a["y"], b["y"]))
    if rows_a.shape != rows_b.shape:
        raise InputError(
            f"The labels have different shapes: {list(rows_a.shape)} and {list(rows_b.shape)}."
        )
    share = _as_rows(lam, rows_a)
    return {"y": share * rows_a + (1 - share) * rows_b}


def _as_rows(factor: Tensor, value: Tensor) -> Tensor:
    """``factor`` ``[K]``, shaped to multiply ``value`` ``[K, ...]`` row by row, in its dtype."""
    return factor.to(value.dtype).view(-1, *[1] * (value.dim() - 1))
