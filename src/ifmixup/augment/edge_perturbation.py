"""EdgePerturbation: move random edges elsewhere in their graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ifmixup.augment.draws import check_fraction, draw_seed, hash_integers, hash_uniform
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.edges import edge_keys
from ifmixup.graphs import Graphs, edge_pointers, graph_of, pointers, ranges, take_edges


@dataclass(frozen=True)
class PerturbationPlan:
    """Pairs of nodes that lose their edge, and pairs that get one instead.

    Attributes:
        removed: Node numbers in the batch, ``[2, R]``.
        added: The first of ``removed`` move here, ``[2, A]`` with A ≤ R; the others are dropped.
    """

    removed: Tensor
    added: Tensor


@METHODS.register("edge_perturbation")
class EdgePerturbation(Method):
    """Removes a fraction of the edges of each graph and adds as many between other nodes.

    From `GraphCL <https://arxiv.org/abs/2010.13902>`_. Of the e pairs of nodes of a graph that an
    edge joins, k = ``perturb_ratio`` · e are drawn (rounded up or down by chance), and as many of
    the pairs that none joins; all are equally likely. The i-th pair drawn loses its edges to the
    i-th new pair: both directions of an undirected edge move together, and edge attributes and
    weights move with them. Where fewer than k pairs are free, the other edges are dropped.

    The paper perturbs 20 %; its code for the TU datasets removes 10 % and adds none (that is
    :class:`DropEdge`, except that the number is fixed). What it leaves open: self-loops stay, and
    none is added; a new edge has the attributes of the one that it replaces.

    Args:
        num_classes: Number of classes; None if ``y`` is float rows already.
        perturb_ratio: Fraction of edges to move.
        generator: Random number generator; by default torch's global one.
    """

    title = "Edge Perturbation"
    keeps_undirected = True
    per_graph = True
    shown = ("perturb_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        perturb_ratio: float = 0.2,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.perturb_ratio = check_fraction("perturb_ratio", perturb_ratio)

    def draw(self, graphs: Graphs) -> PerturbationPlan:
        """Draw the pairs that edges leave, and where they go."""
        seed = draw_seed(self.generator)
        device, count = graphs.node_ptr.device, graphs.num_graphs
        size = graphs.node_counts
        first = pointers(size * (size - 1) // 2)  # the pairs of all graphs, end to end
        joined = _pairs(graphs, first).unique()
        graph = torch.searchsorted(first, joined, right=True) - 1
        start = pointers(torch.bincount(graph, minlength=count))
        edges = start.diff()
        chance = hash_uniform(seed, torch.arange(count, device=device))
        # At a ratio of 1 the sum may be rounded up to one edge more than there are.
        remove = torch.minimum((self.perturb_ratio * edges + chance).long(), edges)
        free = first.diff() - edges
        add = torch.minimum(remove, free)

        # The joined pairs of each graph in random order: the first move, the next are dropped.
        number = torch.arange(joined.numel(), device=device)
        key = hash_integers(seed + 1, number) >> 24 & (2**40 - 1)
        joined_at_random = joined[((graph << 40) | key).argsort()]
        turn = number - start[graph]
        moved = turn < add[graph]
        dropped = (turn < remove[graph]) & ~moved
        removed = torch.cat([joined_at_random[moved], joined_at_random[dropped]])

        # Pair number m of those that no edge joins has m plus the joined ones before it.
        missing = distinct(seed + 2, add, free)
        added = missing + torch.searchsorted(joined - number, missing, right=True)
        flip = hash_integers(seed - 1, added) < 0
        ends = _nodes(graphs, first, added)
        ends = torch.where(flip, ends.flip(0), ends)
        return PerturbationPlan(_nodes(graphs, first, removed), ends)

    def change(self, graphs: Graphs, plan: PerturbationPlan) -> Graphs:
        """The graphs with edges moved from ``removed`` to ``added``, sorted by source."""
        if not plan.removed.numel():
            return graphs
        count, moving = graphs.num_nodes, plan.added.size(1)
        key, order = _key(plan.removed, count).sort()
        wanted = _key(graphs.edge_index, count)
        at = torch.searchsorted(key, wanted).clamp_(max=key.numel() - 1)
        pair = order[at].masked_fill(key[at] != wanted, -1)  # of each edge; −1: it stays
        staying = (pair < moving).nonzero().view(-1)
        edge_index, pair = take_edges(graphs.edge_index, staying), pair[staying]

        moved = (pair >= 0).nonzero().view(-1)
        old, pair = edge_index[:, moved], pair[moved]
        forward = old[0] == plan.removed[0, pair]
        new = torch.where(forward, plan.added[:, pair], plan.added.flip(0)[:, pair])
        edge_index[:, moved] = new
        sort = edge_keys(count, edge_index).argsort(stable=True)
        edge_index, staying = take_edges(edge_index, sort), staying[sort]
        edges = {name: v[staying] for name, v in graphs.edges.items() if name != "edge_index"}
        return replace(
            graphs,
            edges={"edge_index": edge_index, **edges},
            edge_ptr=edge_pointers(edge_index, graphs.node_ptr, count),
        )


def distinct(seed: int, count: Tensor, size: Tensor) -> Tensor:
    """Draw ``count[g]`` different numbers of 0, …, ``size[g]`` − 1, for every g at once.

    A number that was drawn twice is drawn again: no set of numbers is more likely than another.
    Where more than half are wanted, those that are not are drawn.

    Args:
        seed: The same seed draws the same numbers.
        count: How many of each g, ``[B]``.
        size: Of how many, ``[B]``.

    Returns:
        The numbers in order, those of g counted from the sum of the sizes before g on.
    """
    start = pointers(size)
    few = torch.minimum(count, size - count)
    ptr = pointers(few)
    group = graph_of(ptr, int(ptr[-1]))
    again = torch.arange(group.numel(), device=size.device)
    drawn = torch.empty_like(again)
    while again.numel():
        number = hash_integers(seed, again) & (2**63 - 1)
        drawn[again] = start[group[again]] + number % size[group[again]]
        drawn = drawn.sort().values  # each stays among those of its group
        again = (drawn[1:] == drawn[:-1]).nonzero().view(-1) + 1
        seed += 1
    many = count > few
    if not bool(many.any()):
        return drawn
    every = ranges(start[:-1][many], size[many])[0]
    return torch.cat([drawn[~many[group]], every[~torch.isin(every, drawn)]]).sort().values


def _key(pair: Tensor, num_nodes: int) -> Tensor:
    """One number for each pair of nodes ``[2, K]``, whichever comes first."""
    return torch.minimum(*pair) * num_nodes + torch.maximum(*pair)


def _pairs(graphs: Graphs, first: Tensor) -> Tensor:
    """The number of the pair that each edge joins; self-loops are left out.

    In a graph of n nodes the pair {i, i + d mod n} has the number (d − 1) · n + i, where d is at
    most half of n: all n (n − 1) / 2 pairs without a gap, with whole numbers only.
    """
    source, target = graphs.edge_index
    graph = graphs.edge_graph
    proper = (source != target).nonzero().view(-1)
    graph, source, target = graph[proper], source[proper], target[proper]
    size, start = graphs.node_counts[graph], graphs.node_ptr[graph]
    i, step = source - start, (target - source) % size
    turned = (2 * step > size) | ((2 * step == size) & (2 * i >= size))
    i = torch.where(turned, target - start, i)
    step = torch.where(turned, size - step, step)
    return first[graph] + (step - 1) * size + i


def _nodes(graphs: Graphs, first: Tensor, pair: Tensor) -> Tensor:
    """The two nodes of pairs with these numbers, ``[2, K]``."""
    graph = torch.searchsorted(first, pair, right=True) - 1
    size, start = graphs.node_counts[graph], graphs.node_ptr[graph]
    number = pair - first[graph]
    i = number % size
    j = (i + torch.div(number, size, rounding_mode="floor") + 1) % size
    return torch.stack([start + i, start + j])
