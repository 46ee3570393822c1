"""Subgraph: keep what a random walk visits first."""

from __future__ import annotations

import torch
from torch import Tensor

from ifmixup.augment.draws import check_fraction, draw_seed, hash_uniform
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs, keep_nodes


@METHODS.register("subgraph")
class Subgraph(Method):
    r"""Keeps the nodes that a random walk visits first, and the edges between them.

    From `GraphCL <https://arxiv.org/abs/2010.13902>`_. Of n nodes, ⌈``keep_ratio`` · n⌉ are kept.
    The walk starts at a random node. Each next node is drawn from all neighbours of those visited
    so far, all equally likely. The same in one formula: node v waits
    :math:`E_v \sim \mathrm{Exp}(1)` after its first neighbour is visited, and

    .. math::
        T_v = E_v + \min_{u \to v} T_u, \qquad T_\mathrm{root} = 0

    is the time of its visit, because a neighbour that has waited for long is not more likely to be
    the next. The graphs of a batch are walked on at once.

    The paper keeps 80 % of the nodes, its code for the TU datasets 20 %. What it leaves open, and
    our choice: the walk follows the direction of edges; where no neighbour is left, it continues at
    a random node that it has not visited, so the number of nodes is not random (the paper's code
    stops there). Copies of that code discard the union with the neighbours of later nodes, and so
    draw neighbours of the root only.

    Args:
        num_classes: Number of classes; None if ``y`` is float rows already.
        keep_ratio: Fraction of nodes to keep; at least one is kept.
        generator: Random number generator; by default torch's global one.
    """

    title = "Subgraph"
    keeps_undirected = True
    per_graph = True
    shown = ("keep_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        keep_ratio: float = 0.8,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.keep_ratio = check_fraction("keep_ratio", keep_ratio)

    def draw(self, graphs: Graphs) -> Tensor:
        """Which nodes stay, ``[N]``."""
        seed = draw_seed(self.generator)
        node = torch.arange(graphs.num_nodes, device=graphs.node_ptr.device)
        turn = visits(
            graphs,
            start=hash_uniform(seed, node),
            # Not 0: no node is visited at the same time as the one before it.
            wait=-(1 - hash_uniform(seed + 1, node)).log().clamp(max=-1e-5),
        )
        # Less a little, because 0.1 · 30 may be more than 3.
        wanted = (graphs.node_counts * self.keep_ratio - 1e-4).ceil().clamp(min=1)
        return turn < wanted[graphs.node_graph]

    def change(self, graphs: Graphs, plan: Tensor) -> Graphs:
        """The graphs with only the nodes that stay."""
        return keep_nodes(graphs, plan)


def visits(graphs: Graphs, start: Tensor, wait: Tensor) -> Tensor:
    """The turn of each node in the walk on its graph, from 0, ``[N]``.

    Args:
        graphs: The graphs.
        start: The walk starts, and where it is stuck goes on, at the node of its graph with the
            lowest number that is not visited yet, ``[N]``, each in [0, 1).
        wait: E, how long each node waits after its first neighbour is visited, ``[N]``.
    """
    source, target = graphs.edge_index
    # A node is visited after the lowest start that reaches it; none of the path has a lower one.
    root = _spread(start, source, target, start.new_zeros(1))
    delay = wait[target].masked_fill(root[source] != root[target], torch.inf)
    time = torch.zeros_like(wait).masked_fill(root != start, torch.inf)
    time = _spread(time, source, target, delay)

    order = time.argsort(stable=True)
    graph = graphs.node_graph
    part = (graph << 24) | (root * 2**24).long()  # by graph, and by start
    order = order[part[order].argsort(stable=True)]
    turn = torch.empty_like(order)
    turn[order] = torch.arange(order.numel(), device=order.device)
    return turn - graphs.node_ptr[graph]


def _spread(value: Tensor, source: Tensor, target: Tensor, delay: Tensor) -> Tensor:
    """The least that v_i = min(v_i, v_j + delay_ji over edges j → i) comes to (Bellman-Ford)."""
    while True:
        before = value
        for _ in range(4):  # a look at the numbers makes a GPU wait
            value = value.scatter_reduce(0, target, value.index_select(0, source) + delay, "amin")
        if torch.equal(value, before):
            return value
