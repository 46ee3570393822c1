"""NodeSam: split one node of each graph in two, and merge the ends of one edge."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ifmixup.augment.draws import hash_integers, hash_uniform, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.augment.rewire import count_in_graphs, with_edges
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs, without_repeated_edges

STAYS, MOVES, BOTH = 0, 1, 2


@dataclass(frozen=True)
class SplitMergePlan:
    """What :meth:`NodeSam.draw` draws for B graphs of N nodes in all.

    Attributes:
        node: The node u of each graph that is split, ``[B]``.
        half: What becomes of the edges between u and each node, ``[N]``: 0, they stay with u;
            1, they move to its new half u'; 2, both halves have them.
        merged: The two nodes of each graph that are merged, ``[B, 2]``; the smaller number comes
            first, and N + g is the new half in graph g.
    """

    node: Tensor
    half: Tensor
    merged: Tensor


@METHODS.register("nodesam")
class NodeSam(Method):
    r"""Splits a random node of each graph, and then merges the ends of a random edge.

    From `Model-Agnostic Augmentation for Accurate Graph Classification
    <https://arxiv.org/abs/2202.10107>`_. Labels stay. So does the number of nodes, exactly; the
    numbers of edges and triangles stay nearly the same on average.

    Split: a node u becomes u and u', joined by an edge; both have its features. Each neighbour of u
    goes to either half at random. A neighbour that is in a triangle with u may go to both, with
    probability :math:`\min(n / k, 1)`, where k is the number of such neighbours and

    .. math::
        n = \tfrac{1}{2} \left( \sqrt{c^2 + 4 t v - 6 t} - c \right), \quad
        c = e - 2 - \frac{3 t}{d}

    of a graph with v nodes and e edges, in which u has d neighbours and t triangles. About n edges
    are so added, as many as merging removes when the two nodes have common neighbours.

    Merge: the ends of a random edge of the split graph, which may be u – u', become one node with
    the mean of their features and the neighbours of both.

    What the paper leaves open, and our choice: attributes that are not floats cannot be averaged,
    and are those of the merged node that comes first in the graph. The edge u – u' has the
    attributes of the first edge of u (a weight of 1 and otherwise 0 where u has no edge). Of two
    edges that become one, that of the first merged node stays. Directed edges count half in e and
    t, as each direction of an undirected edge does, and the edges of both directions go to the same
    half. A self-loop of u stays with u. The order of the nodes differs from the published code's:
    u' gets the index of the node that was merged away.

    Args:
        num_classes: Number of classes; None if ``y`` is float rows already.
        adjustment: Let neighbours in triangles go to both halves; without it, dense graphs lose
            edges.
        generator: Random number generator; by default torch's global one.
    """

    title = "NodeSam"
    keeps_undirected = True
    per_graph = True

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        adjustment: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.adjustment = adjustment

    def draw(self, graphs: Graphs) -> SplitMergePlan:
        """Draw nodes to split, the halves of their neighbours, and edges to merge."""
        rng = numpy_generator(self.generator)
        like = graphs.node_ptr
        seed = int(rng.integers(2**62))
        which, edge = torch.from_numpy(rng.random((2, graphs.num_graphs), "float32")).to(
            like.device
        )
        node = like[:-1] + _below(which, graphs.node_counts)
        half = self._draw_halves(graphs, node, seed)
        return SplitMergePlan(node, half, _draw_merged(graphs, node, half, edge))

    def change(self, graphs: Graphs, plan: SplitMergePlan) -> Graphs:
        """The graphs with one node split and two nodes merged."""
        num_nodes = graphs.num_nodes
        winner, loser = plan.merged.unbind(1)
        old = loser < num_nodes  # else the new half is merged away again
        new = torch.arange(graphs.num_graphs, device=winner.device) + num_nodes

        row, split = _split_edges(graphs, plan, new)
        # The final index of each node; the new half gets the one that became free.
        name = torch.arange(num_nodes + graphs.num_graphs, device=winner.device)
        name[loser] = winner
        name[new] = torch.where(old, loser, winner)
        edge_index = name[split]
        stays = (edge_index[0] != edge_index[1]) | (split[0] == split[1])
        # Sorted by edge, and an edge of the winner comes before the same edge of the loser.
        lost = torch.zeros_like(name, dtype=torch.bool)
        lost[loser] = True
        key = (edge_index[0] * num_nodes + edge_index[1]) * 2 + lost[split].any(0).long()
        kept = stays.nonzero().view(-1)
        key, order = key[kept].sort(stable=True)
        kept = kept[order]
        first = torch.ones_like(kept, dtype=torch.bool)
        first[1:] = (key[1:] >> 1) != (key[:-1] >> 1)
        kept = kept[first]

        index, other = torch.where(old, loser, winner), torch.where(old, loser, plan.node)
        nodes = {}
        for attribute, value in graphs.nodes.items():
            merged = value[winner]
            if value.is_floating_point():
                merged = (merged + value[other]) / 2
            changed = value.index_copy(0, index, value[plan.node])
            nodes[attribute] = changed.index_copy_(0, winner, merged)
        if len(graphs.edges) > 1:
            graphs = _with_blank_edge(graphs)
        return with_edges(graphs, nodes, graphs.node_ptr, edge_index[:, kept], row[kept])

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Each edge once."""
        return without_repeated_edges(super()._prepare(graphs))

    def _draw_halves(self, graphs: Graphs, node: Tensor, seed: int) -> Tensor:
        """Where the neighbours of the nodes that are split go, ``[N]``."""
        number = torch.arange(graphs.num_nodes, device=node.device)
        half = hash_integers(seed, number) & 1
        if not self.adjustment:
            return half
        graph, edge_graph, count = graphs.node_graph, graphs.edge_graph, graphs.num_graphs
        source, target = graphs.edge_index
        proper = source != target
        near = _touched(graphs, (source == node[edge_graph]) & proper, target)
        near |= _touched(graphs, (target == node[edge_graph]) & proper, source)
        opposite = near[source] & near[target] & proper  # the third edge of a triangle
        in_triangle = _touched(graphs, opposite, source) | _touched(graphs, opposite, target)
        v = graphs.node_counts.float()
        e = count_in_graphs(edge_graph, proper, count) / 2
        t = count_in_graphs(edge_graph, opposite, count) / 2
        d = count_in_graphs(graph, near, count).clamp(min=1)
        k = count_in_graphs(graph, in_triangle, count).clamp(min=1)
        c = e - 2 - 3 * t / d
        # (√(c² + δ) − c) / 2, which for c > 0 would lose its digits as a difference.
        delta = 4 * t * v - 6 * t
        root = (c**2 + delta).clamp(min=0).sqrt()
        n = torch.where(c > 0, delta / (2 * (root + c.abs())).clamp(min=1e-12), (root - c) / 2)
        p = torch.where(t > 0, n / k, 0)
        both = in_triangle & (hash_uniform(seed + 1, number) < p[graph])
        return half.masked_fill(both, BOTH)


def _draw_merged(graphs: Graphs, node: Tensor, half: Tensor, draw: Tensor) -> Tensor:
    """The ends of a random edge of each split graph, ``[B, 2]``, the smaller number first."""
    new = torch.arange(graphs.num_graphs, device=node.device) + graphs.num_nodes
    added = torch.stack([node, new], 1)
    if not graphs.edge_index.size(1):
        return added
    source, target = graphs.edge_index
    _, side = _sides(graphs, node, half)
    proper = source != target
    copies = proper.long() + (proper & (side == BOTH))
    before = torch.cat([copies.new_zeros(1), copies.cumsum(0)])
    start, end = before[graphs.edge_ptr[:-1]], before[graphs.edge_ptr[1:]]
    drawn = _below(draw, end - start + 2)  # the two directions of the new edge come last
    index = start + drawn
    edge = (torch.searchsorted(before, index, right=True) - 1).clamp(max=source.numel() - 1)
    # Of an edge that both halves have, the second copy is the new half's.
    moved = (side[edge] == MOVES) | ((side[edge] == BOTH) & (index > before[edge]))
    ends = graphs.edge_index[:, edge]
    ends = torch.where(moved & (ends == node), new, ends)
    chosen = torch.stack([ends.amin(0), ends.amax(0)], 1)
    return torch.where((drawn >= end - start).unsqueeze(1), added, chosen)


def _split_edges(graphs: Graphs, plan: SplitMergePlan, new: Tensor) -> tuple[Tensor, Tensor]:
    """The edges after the split: the row each comes from, ``[E']``, and its ends, ``[2, E']``."""
    edge_index, edge_graph = graphs.edge_index, graphs.edge_graph
    touches, side = _sides(graphs, plan.node, plan.half)
    half = new[edge_graph].expand(2, -1)
    moved = torch.where(touches & (side == MOVES), half, edge_index)
    twice = (side == BOTH).nonzero().view(-1)
    copies = torch.where(touches, half, edge_index)[:, twice]
    joined = torch.stack([plan.node, new])
    count = edge_index.size(1)
    number = torch.arange(count, device=new.device)
    first = torch.full_like(plan.node, count)
    if len(graphs.edges) > 1:
        # The new edge has the attributes of the first edge of the node; E stands for none.
        first.scatter_reduce_(0, edge_graph, number.where(touches.any(0), count), "amin")
    row = torch.cat([number, twice, first, first])
    return row, torch.cat([moved, copies, joined, joined.flip(0)], 1)


def _sides(graphs: Graphs, node: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Which ends of each edge are a split node, ``[2, E]``, and to which half it goes, ``[E]``.

    A self-loop stays.
    """
    edge_index = graphs.edge_index
    touches = edge_index == node[graphs.edge_graph]
    one_end = touches[0] != touches[1]
    other = torch.where(touches[0], edge_index[1], edge_index[0])
    return touches, torch.where(one_end, half[other], STAYS)


def _touched(graphs: Graphs, edge: Tensor, end: Tensor) -> Tensor:
    """Which nodes are the ``end`` ``[E]`` of one of the edges marked in ``edge`` ``[E]``."""
    return count_in_graphs(end, edge, graphs.num_nodes) > 0


def _below(draw: Tensor, counts: Tensor) -> Tensor:
    """Integers from 0 to counts − 1 from ``draw`` in [0, 1)."""
    return torch.minimum((draw * counts).long(), counts - 1)


def _with_blank_edge(graphs: Graphs) -> Graphs:
    """The same graphs with one more row of edge attributes: a weight of 1, and otherwise 0."""
    edges = {
        name: torch.cat([value, value.new_full((1, *value.shape[1:]), name == "edge_weight")])
        for name, value in graphs.edges.items()
        if name != "edge_index"
    }
    return replace(graphs, edges={"edge_index": graphs.edge_index, **edges})
