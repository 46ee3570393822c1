"""Graph Transplant: replace a random subgraph by a salient one of another graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ifmixup.augment.draws import check_fraction, hash_integers, numpy_generator
from ifmixup.augment.method import Criterion, Method, loss_of_labels
from ifmixup.augment.rewire import (
    count_in_graphs,
    mixed_labels,
    order_in_graphs,
    rank_in_graphs,
    with_edges,
)
from ifmixup.components import METHODS
from ifmixup.errors import InputError, ModelError
from ifmixup.graphs import Graphs, pointers, ranges, without_repeated_edges

if TYPE_CHECKING:
    from ifmixup.nn.inputs import GraphsModel


@dataclass(frozen=True)
class TransplantPlan:
    """What :meth:`GraphTransplant.draw` draws for B graphs of N nodes in all.

    Attributes:
        partner: The source of each destination, as its index in the batch, ``[B]``: a permutation.
        taken: The nodes that each graph gives as a source, ``[N]``.
        removed: The nodes that are cut out of each graph as a destination, ``[N]``.
        join: The new edges, a node of the destination and a node of the source, ``[2, J]``.
        join_row: The edge of the destination that each of them replaces, ``[J]``.
        lam: The share of the destination in the label, ``[B]``.
    """

    partner: Tensor
    taken: Tensor
    removed: Tensor
    join: Tensor
    join_row: Tensor
    lam: Tensor


@METHODS.register("graph_transplant")
class GraphTransplant(Method):
    r"""Replaces a random part of each graph by a salient part of another graph of the batch.

    From `Graph Transplant <https://arxiv.org/abs/2111.05639>`_. The saliency of a node is the
    gradient of its state after the last layer, from the loss of the graphs as they are:

    .. math::
        s_v = \left\lVert \frac{\partial \ell}{\partial \mathbf{h}_v} \right\rVert_2

    Source: of the ``2 · anchor_ratio`` most salient nodes, half are drawn as anchors; the nodes
    within k hops of them are transplanted, k from 1 to ``max_hops``. Of the last hop only a share q
    ~ Beta(2, 2) is taken. Destination: random nodes are the anchors, and the nodes within k hops of
    these are cut out, with the same k and q. k and q are drawn once per batch. Every edge between a
    node that stays and one that does not is lost: :math:`e_S` in the source, :math:`e_D` in
    the destination. :math:`\lfloor (e_S + e_D) / 2 \rfloor` new edges join the two parts at
    random nodes that lost edges, which restores the total degree. The label is

    .. math::
        \mathbf{\tilde{y}} = \lambda \mathbf{y}_D + (1 - \lambda) \mathbf{y}_S, \quad
        1 - \lambda = \frac{s}{s + d}

    with s the share of the source's saliency that is transplanted, and d the share of the
    destination's saliency that stays. The loss is that of the graphs as they are plus that of the
    mixed graphs; :meth:`loss` computes both. Without a model, as when a batch is changed by calling
    the method, all nodes are equally salient.

    What the paper leaves open, and our choice: a node that lost several edges is joined as many
    times where both sides lost equally many; otherwise each node of the larger side is joined once
    before one is joined again, and the smaller side's lost edges are used again in turn. The same
    two nodes are joined once, so new edges are missing where few nodes lost many edges, as in dense
    graphs. Nothing is joined where one side lost no edge. A part may be the whole graph where all
    nodes are within a few hops: the mixture is then a part of the source, with its label. A new
    edge has the attributes of the destination's lost edge. Shares of anchors and of the last hop
    are rounded down, to at least one node. New edges have both directions. In the published code
    every hop is taken in part, counted over the whole batch; nodes that lost edges are equally
    likely, however many they lost; and gradients are clipped at a norm of 2, which is left to the
    training. The paper's variant that predicts the new edges is not implemented.

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        anchor_ratio: Fraction of a graph's nodes that are anchors.
        max_hops: Largest radius of a part, in hops.
        generator: Random number generator; by default torch's global one.
    """

    title = "Graph Transplant"
    keeps_undirected = True
    requires = frozenset({"encode"})
    shown = ("anchor_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        anchor_ratio: float = 0.1,
        max_hops: int = 3,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.anchor_ratio = check_fraction("anchor_ratio", anchor_ratio)
        if max_hops < 1:
            raise InputError(f"max_hops must be at least 1; got {max_hops}.")
        self.max_hops = max_hops

    def draw(self, graphs: Graphs, saliency: Tensor | None = None) -> TransplantPlan:
        """Draw pairs, the parts that are swapped, and the edges that join them.

        Args:
            graphs: The graphs.
            saliency: The saliency of each node, ``[N]``; None where all are the same.
        """
        rng = numpy_generator(self.generator)
        device, graph = graphs.node_ptr.device, graphs.node_graph
        partner = torch.from_numpy(rng.permutation(graphs.num_graphs)).to(device)
        hops, share = int(rng.integers(1, self.max_hops + 1)), float(rng.beta(2, 2))
        seeds = [int(seed) for seed in rng.integers(2**62, size=6)]

        anchors = (self.anchor_ratio * graphs.node_counts).long().clamp(min=1)
        among = None if saliency is None else _most_salient(graphs, saliency, 2 * anchors)
        taken = _ball(graphs, _choose(graphs, anchors, seeds[0], among), hops, share, seeds[1])
        removed = _ball(graphs, _choose(graphs, anchors, seeds[2]), hops, share, seeds[3])
        join, join_row = _joined(graphs, partner, taken, removed, seeds[4:])

        even = torch.ones_like(graph, dtype=torch.float32)
        salient = even if saliency is None else saliency + 1e-30  # where no node has a gradient
        parts = torch.stack([salient, salient * taken, salient * ~removed])
        total = parts.new_zeros(3, graphs.num_graphs).index_add_(1, graph, parts)
        s, d = (total[1] / total[0])[partner], total[2] / total[0]
        return TransplantPlan(partner, taken, removed, join, join_row, d / (s + d))

    def change(self, graphs: Graphs, plan: TransplantPlan) -> Graphs:
        """Each graph with a part replaced by a part of its partner."""
        graph, partner = graphs.node_graph, plan.partner
        destination = torch.empty_like(partner)
        destination[partner] = torch.arange(partner.numel(), device=partner.device)
        stays, taken = ((~plan.removed).nonzero().view(-1), plan.taken.nonzero().view(-1))
        # The nodes of a mixed graph: those that stay, and then those of the source.
        row = torch.cat([stays, taken])
        new_graph = torch.cat([graph[stays], destination[graph[taken]]])
        order = new_graph.argsort(stable=True)
        number = torch.empty_like(order)
        number[order] = torch.arange(order.numel(), device=order.device)
        own, given = torch.full_like(graph, -1), torch.full_like(graph, -1)
        own[stays], given[taken] = number[: stays.numel()], number[stays.numel() :]

        own_ends, given_ends = own[graphs.edge_index], given[graphs.edge_index]
        own_edge = (own_ends >= 0).all(0).nonzero().view(-1)
        given_edge = (given_ends >= 0).all(0).nonzero().view(-1)
        joined = torch.stack([own[plan.join[0]], given[plan.join[1]]])
        edge_index = torch.cat(
            [own_ends[:, own_edge], given_ends[:, given_edge], joined, joined.flip(0)], 1
        )
        return with_edges(
            replace(graphs, graphs=mixed_labels(graphs, partner, plan.lam)),
            {name: value[row[order]] for name, value in graphs.nodes.items()},
            pointers(torch.bincount(new_graph, minlength=graphs.num_graphs)),
            edge_index,
            torch.cat([own_edge, given_edge, plan.join_row, plan.join_row]),
        )

    def loss(self, model: GraphsModel, graphs: Graphs, criterion: Criterion) -> Tensor:
        """The loss of the graphs as they are, plus that of the mixed graphs."""
        plain, saliency = _loss_and_saliency(model, graphs, criterion)
        mixed = self.change(graphs, self.draw(graphs, saliency))
        return plain + loss_of_labels(criterion, model(mixed), mixed.graphs)

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Each edge once."""
        return without_repeated_edges(super()._prepare(graphs))


def _loss_and_saliency(
    model: GraphsModel, graphs: Graphs, criterion: Criterion
) -> tuple[Tensor, Tensor]:
    """The loss, and the norm of its gradient at each node's last state, ``[N]``."""
    from ifmixup.nn.inputs import unwrap

    inner = unwrap(model.model)
    layers = getattr(inner, "num_layers", None)
    if layers is None:
        raise ModelError(
            f"{type(inner).__name__} has no attribute num_layers, the number of its layers, which "
            f"Graph Transplant needs."
        )
    with torch.enable_grad():
        if hasattr(inner, "encode_with_readouts"):
            h, earlier = model.encode_with_readouts(graphs)
            options = {"earlier": earlier, "scaled": False}
        else:  # a model of the user's own
            h, options = model.encode(graphs), {}
        h = h if h.requires_grad else h.requires_grad_()
        rest = replace(graphs, nodes={**graphs.nodes, "x": h})
        out = model.classify(model.embed(rest, start=layers, **options))
        loss = loss_of_labels(criterion, out, graphs.graphs)
        # Only READOUT and the head are differentiated.
        (gradient,) = torch.autograd.grad(loss, h, retain_graph=True)
    return loss, gradient.float().norm(dim=1)


def _choose(graphs: Graphs, counts: Tensor, seed: int, among: Tensor | None = None) -> Tensor:
    """``counts`` ``[B]`` random nodes of each graph, of those marked in ``among``: a mask."""
    key = _random_keys(seed, graphs.num_nodes, counts.device)
    if among is not None:
        key = _marked_first(key, among)
    return rank_in_graphs(graphs.node_graph, graphs.node_ptr, key) < counts[graphs.node_graph]


def _most_salient(graphs: Graphs, saliency: Tensor, counts: Tensor) -> Tensor:
    """The ``counts`` ``[B]`` most salient nodes of each graph: a mask ``[N]``."""
    graph = graphs.node_graph
    by_saliency = saliency.argsort(descending=True, stable=True)
    rank = torch.empty_like(by_saliency)
    rank[by_saliency] = torch.arange(rank.numel(), device=rank.device)
    return rank_in_graphs(graph, graphs.node_ptr, rank) < counts[graph]


def _ball(graphs: Graphs, anchors: Tensor, hops: int, share: float, seed: int) -> Tensor:
    """The nodes within ``hops`` of the anchors; of the last hop a ``share``: a mask ``[N]``."""
    source, target = graphs.edge_index
    graph, inside, hop = graphs.node_graph, anchors, anchors
    for number in range(hops):
        reached = count_in_graphs(target, hop[source], graphs.num_nodes) > 0
        hop = reached & ~inside
        if number == hops - 1:
            count = count_in_graphs(graph, hop, graphs.num_graphs)
            key = _marked_first(_random_keys(seed, graphs.num_nodes, graph.device), hop)
            rank = rank_in_graphs(graph, graphs.node_ptr, key)
            hop = hop & (rank < (share * count).long().clamp(min=1)[graph])
        inside = inside | hop
    return inside


def _joined(
    graphs: Graphs, partner: Tensor, taken: Tensor, removed: Tensor, seeds: list[int]
) -> tuple[Tensor, Tensor]:
    """New edges ``[2, J]``, and the edge of the destination that each replaces, ``[J]``."""
    source, target = graphs.edge_index
    stays = ~removed
    lost = (stays[source] & ~stays[target], taken[source] & ~taken[target])
    rows, starts, counts = [], [], []
    for mask, seed in zip(lost, seeds, strict=True):
        row = mask.nonzero().view(-1)
        graph = graphs.edge_graph[row]
        rows.append(row[order_in_graphs(graph, _rounds(source[row], seed))])
        counts.append(torch.bincount(graph, minlength=graphs.num_graphs))
        starts.append(pointers(counts[-1])[:-1])
    ours, theirs = counts[0], counts[1][partner]
    wanted = torch.where((ours > 0) & (theirs > 0), (ours + theirs) // 2, 0)
    number, graph, _ = ranges(torch.zeros_like(wanted), wanted)
    row = rows[0][starts[0][graph] + number % ours[graph]]
    end = source[rows[1][starts[1][partner][graph] + number % theirs[graph]]]
    # The edges of each of our nodes stand together, and meet each of their nodes before one comes
    # again: so few pairs are drawn twice.
    row = row[order_in_graphs(graph, _of_nodes(seeds[0], source[row]))]
    join = torch.stack([source[row], end])
    # The same two nodes are joined once.
    key, order = (join[0] * graphs.num_nodes + join[1]).sort(stable=True)
    first = torch.ones_like(key, dtype=torch.bool)
    first[1:] = key[1:] != key[:-1]
    once = order[first]
    return join[:, once], row[once]


def _rounds(node: Tensor, seed: int) -> Tensor:
    """Keys that sort items so that each ``node`` ``[K]`` comes once, in random order, before any
    comes again.
    """
    by_node = node.argsort(stable=True)
    grouped = node[by_node]
    index = torch.arange(node.numel(), device=node.device)
    new = torch.ones_like(grouped, dtype=torch.bool)
    new[1:] = grouped[1:] != grouped[:-1]
    start = torch.where(new, index, 0).cummax(0).values
    before = torch.empty_like(index)
    before[by_node] = index - start  # how often the node came before
    return (before.clamp(max=2**16 - 1) << 16) | (_of_nodes(seed, node) >> 16)


def _of_nodes(seed: int, node: Tensor) -> Tensor:
    """A pseudo-random integer from 0 to 2³² − 1 for each number, equal for equal ones."""
    return hash_integers(seed, node) & (2**32 - 1)


def _random_keys(seed: int, count: int, device: torch.device) -> Tensor:
    """Pseudo-random integers from 0 to 2³² − 1, ``[count]``."""
    return _of_nodes(seed, torch.arange(count, device=device))


def _marked_first(key: Tensor, marked: Tensor) -> Tensor:
    """Keys of the same range, smaller where ``marked`` than elsewhere."""
    return (key >> 1) | ((~marked).long() << 31)
