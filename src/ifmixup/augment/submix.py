"""SubMix: replace a subgraph by one of another graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ifmixup.augment.cache import remember
from ifmixup.augment.diffusion import components, dense_pagerank, pagerank, pagerank_key
from ifmixup.augment.draws import check_fraction, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.augment.rewire import (
    count_in_graphs,
    mixed_labels,
    order_in_graphs,
    with_edges,
)
from ifmixup.components import METHODS
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, pointers, ranges, select

LARGEST_GRAPH = 512  # nodes; PageRank of larger graphs is not computed for all roots beforehand
MOST_NODES = 2**26  # as many 16-bit numbers are kept: 128 MB
AT_ONCE = 2**21  # entries of the matrices that are inverted together


@dataclass(frozen=True)
class SubMixPlan:
    """What :meth:`SubMix.draw` draws for B graphs.

    Attributes:
        partner: The graph whose subgraph each graph gets, as its index in the batch, ``[B]``.
        target: The nodes that are replaced, of all graphs end to end, ``[K]``.
        source: The node of the partner that replaces each of them, ``[K]``.
    """

    partner: Tensor
    target: Tensor
    source: Tensor


@METHODS.register("submix")
class SubMix(Method):
    r"""Replaces a subgraph of each graph by a subgraph of another graph of the batch.

    From `Model-Agnostic Augmentation for Accurate Graph Classification
    <https://arxiv.org/abs/2202.10107>`_. A random root is drawn in the target A and one in the
    source B, and the nodes of its component are ordered by personalised PageRank
    (:func:`~ifmixup.augment.diffusion.dense_pagerank`). The first

    .. math::
        m = \lceil u \cdot \min(|C_A|, |C_B|) \rceil, \quad u \sim U(0, r)

    nodes of each are the subgraphs S_A and S_B; C are the components and r is ``subgraph_ratio``.
    The i-th node of S_A gets the features of the i-th node of S_B; the edges between nodes of S_A
    give way to those between nodes of S_B; all other edges of A stay, also those that cross the
    border. The label is

    .. math::
        \mathbf{\tilde{y}} = \lambda \mathbf{y}_A + (1 - \lambda) \mathbf{y}_B, \quad
        \lambda = \frac{|E_A| - |E(S_A)|}{|E_A| - |E(S_A)| + |E(S_B)|}

    A graph that would have no edges stays as it is.

    Our choices: the source is drawn from the other graphs of the batch, not of the training set,
    each graph being the source once; a batch of one graph is mixed with itself. Nodes and edges
    bring all their attributes along. PageRank counts directed edges in both directions and ignores
    edge weights; nodes of equal PageRank are taken in their order. The published code inverts the
    same matrix, or makes ten steps of power iteration.

    :meth:`fit` computes the orders of the training graphs for all roots once (graphs of up to 512
    nodes, at most 128 MB); without it, or in a loop whose batches do not say which graphs they
    hold, PageRank is computed for the roots that were drawn.

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        subgraph_ratio: Largest fraction r of a component that is replaced.
        teleport: Probability α with which PageRank returns to the root.
        generator: Random number generator; by default torch's global one.
    """

    title = "SubMix"
    keeps_undirected = True
    shown = ("subgraph_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        subgraph_ratio: float = 0.4,
        teleport: float = 0.15,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.subgraph_ratio = check_fraction("subgraph_ratio", subgraph_ratio)
        if not 0 < teleport <= 1:
            raise InputError(f"teleport must be in (0, 1]; got {teleport}.")
        self.teleport = teleport
        self._known: KnownOrders | None = None

    def fit(self, graphs: Any, *, seed: int = 0) -> Any:
        """Order the nodes of the training graphs by PageRank, for every root."""
        self._known = None
        if graphs.index is not None:
            # Nothing but the structure matters.
            structure = replace(graphs, nodes={"graph": graphs.node_graph}, graphs={})
            structure = replace(structure, edges={"edge_index": graphs.edge_index})
            self._known = KnownOrders.of(structure, self.subgraph_ratio, self.teleport)

    def draw(self, graphs: Graphs) -> SubMixPlan:
        """Draw partners, roots and sizes, and with them the nodes that are swapped."""
        rng = numpy_generator(self.generator)
        count, device = graphs.num_graphs, graphs.node_ptr.device
        cycle = rng.permutation(count)  # each graph is followed by its partner
        partner = torch.empty(count, dtype=torch.long, device=device)
        partner[torch.from_numpy(cycle).to(device)] = torch.from_numpy(cycle).roll(-1).to(device)
        size, *which = torch.from_numpy(rng.random((3, count), "float32")).to(device)
        # Of each graph a root as a target and one as a source.
        roots = torch.stack(which, 1) * graphs.node_counts.unsqueeze(1)
        roots = torch.minimum(roots.long(), graphs.node_counts.unsqueeze(1) - 1)
        nodes, start, reached = self._orders(graphs, roots)

        smaller = torch.minimum(reached[:, 0], reached[partner, 1])
        m = (size * self.subgraph_ratio * smaller).ceil().long()
        target, graph, _ = ranges(start[:, 0], m)
        source, _, _ = ranges(start[partner, 1], m)
        return SubMixPlan(
            partner,
            nodes[target].long() + graphs.node_ptr[graph],
            nodes[source].long() + graphs.node_ptr[partner[graph]],
        )

    def change(self, graphs: Graphs, plan: SubMixPlan) -> Graphs:
        """Each graph with a subgraph of its partner."""
        partner, node_ptr = plan.partner, graphs.node_ptr
        edge_graph = graphs.edge_graph
        inside = torch.zeros_like(graphs.node_graph, dtype=torch.bool)
        inside[plan.target] = True
        stays = ~inside[graphs.edge_index].all(0)

        # All edges of the partners; where their ends are in the target: -1 for nowhere.
        edge, graph, _ = ranges(graphs.edge_ptr[partner], graphs.edge_counts[partner])
        start = pointers(graphs.node_counts[partner])
        local = torch.full((int(start[-1]),), -1, device=start.device)
        shift = start[:-1] - node_ptr[partner]
        local[plan.source + shift[graphs.node_graph[plan.target]]] = plan.target
        moved = local[graphs.edge_index[:, edge] + shift[graph]]
        comes = (moved >= 0).all(0)

        kept = count_in_graphs(edge_graph, stays, graphs.num_graphs)
        new = count_in_graphs(graph, comes, graphs.num_graphs)
        changes = kept + new > 0
        lam = torch.where(changes, kept / (kept + new).clamp(min=1), 1.0)
        # A graph that would have no edges stays.
        stays |= ~changes[edge_graph]
        old, comes = stays.nonzero().view(-1), comes.nonzero().view(-1)

        row = torch.arange(graphs.num_nodes, device=node_ptr.device)
        own = changes[graphs.node_graph[plan.target]]
        row[plan.target] = torch.where(own, plan.source, plan.target)
        nodes = {name: value[row] for name, value in graphs.nodes.items()}
        edge_index = torch.cat([graphs.edge_index[:, old], moved[:, comes]], 1)
        graphs = replace(graphs, graphs=mixed_labels(graphs, partner, lam))
        return with_edges(graphs, nodes, node_ptr, edge_index, torch.cat([old, edge[comes]]))

    def _orders(self, graphs: Graphs, roots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The nodes of each graph by PageRank from its roots, numbered within the graph.

        Args:
            graphs: The graphs.
            roots: Their roots, numbered within the graph, ``[B, 2]``.

        Returns:
            Node numbers; the offset of each root's order among them, ``[B, 2]``; and the number of
            nodes that can be reached from each root, ``[B, 2]``.
        """
        known = self._known
        if known is not None and known.node_counts.numel() and graphs.index is not None:
            index = graphs.index.clamp(min=0, max=known.slot.numel() - 1)
            slot = known.slot[index]
            same = (slot >= 0) & (index == graphs.index)
            same &= known.node_counts[slot] == graphs.node_counts
            if bool(same.all()):
                slot = slot.unsqueeze(1)
                start = known.start[slot] + roots * known.width[slot]
                return known.order, start, known.reached[known.node_start[slot] + roots]
        first = graphs.node_ptr[:-1].unsqueeze(1)
        graph, component = graphs.node_graph, components(graphs)
        key = pagerank_key(
            pagerank(graphs, roots + first, self.teleport),
            component.unsqueeze(1) == component[roots + first][graph],
        )
        # The order from the first roots, and then that from the second.
        nodes = torch.cat([order_in_graphs(graph, each) for each in key.unbind(1)])
        nodes = nodes - first.view(-1)[graph].repeat(2)
        size = torch.bincount(component, minlength=graphs.num_nodes)
        start = torch.cat([first, first + graphs.num_nodes], 1)
        return nodes, start, size[component[roots + first]]


@dataclass(frozen=True)
class KnownOrders:
    """The nodes of G graphs by PageRank, from every root.

    Attributes:
        slot: For each index of the dataset the number of the graph, -1 if it is not known.
        node_counts: The number of nodes of each graph, ``[G]``.
        node_start: Where the nodes of each graph begin in ``reached``, ``[G]``.
        reached: The number of nodes that can be reached from each node.
        start: Where the orders of each graph begin in ``order``, ``[G]``: one row per root.
        width: The length of these rows, ``[G]``.
        order: The first nodes from every root, numbered within their graph, 16-bit.
    """

    slot: Tensor
    node_counts: Tensor
    node_start: Tensor
    reached: Tensor
    start: Tensor
    width: Tensor
    order: Tensor

    @staticmethod
    def of(graphs: Graphs, ratio: float, teleport: float) -> KnownOrders:
        """The orders of all graphs that are small enough, up to :data:`MOST_NODES` in all.

        They are computed on the processor, whatever the device: the matrices are small.
        """
        device, index = graphs.node_ptr.device, graphs.index.cpu()  # type: ignore[union-attr]
        size = graphs.node_counts.cpu()
        width = (size * ratio).ceil().long().clamp(min=1)
        by_size = size.argsort(stable=True)
        fits = (size[by_size] <= LARGEST_GRAPH) & ((size * width)[by_size].cumsum(0) <= MOST_NODES)
        chosen = by_size[fits]
        size, width = size[chosen], width[chosen]
        slot = torch.full((int(index.max()) + 1,), -1, device="cpu")
        slot[index[chosen]] = torch.arange(chosen.numel(), device="cpu")
        graphs = select(_on_processor(graphs), chosen)
        component = components(graphs)
        rows = size * width

        def check(found: dict[str, Tensor]) -> bool:
            order = found.get("order", rows)
            if found.keys() != {"order"} or order.dtype != torch.int16:
                return False
            if order.shape != (int(rows.sum()),):
                return False
            bound = size.to(torch.int16).repeat_interleave(rows)  # as large as the table
            return bool(((order >= 0) & (order < bound)).all())

        order = remember(
            "submix",
            {"subgraph_ratio": ratio, "teleport": teleport},
            graphs,
            lambda: {"order": _orders(graphs, component, width, teleport)},
            check=check,
        )["order"]
        found = (
            slot,
            size,
            graphs.node_ptr[:-1],
            torch.bincount(component, minlength=graphs.num_nodes)[component],
            pointers(size * width)[:-1],
            width,
            order,
        )
        return KnownOrders(*(value.to(device) for value in found))


def _orders(graphs: Graphs, component: Tensor, width: Tensor, teleport: float) -> Tensor:
    """The first ``width`` ``[G]`` nodes from every root of every graph, end to end, 16-bit."""
    size, begin, filled = graphs.node_counts, 0, 0
    found = torch.empty(int((size * width).sum()), dtype=torch.int16, device="cpu")
    while begin < size.numel():
        # Graphs of similar size together: they are sorted, and the last one is the largest.
        number = torch.arange(1, size.numel() - begin + 1, device="cpu")
        end = begin + max(1, int((number * size[begin:] ** 2 <= AT_ONCE).sum()))
        part = select(graphs, torch.arange(begin, end, device="cpu"))
        label = component[graphs.node_ptr[begin] : graphs.node_ptr[end]]
        part_found = _orders_together(part, label, width[begin:end], teleport)
        found[filled : filled + part_found.numel()] = part_found
        begin, filled = end, filled + part_found.numel()
    return found


def _orders_together(graphs: Graphs, component: Tensor, width: Tensor, teleport: float) -> Tensor:
    """The same for graphs that are few and small enough for one stack of matrices."""
    count, most = graphs.num_graphs, int(graphs.node_counts.max())
    graph = graphs.node_graph
    local = torch.arange(graphs.num_nodes, device="cpu") - graphs.node_ptr[graph]
    source, target = local[graphs.edge_index]
    adjacency = torch.zeros(count, most, most, dtype=torch.float64, device="cpu")
    adjacency[graphs.edge_graph, source, target] = 1
    adjacency[graphs.edge_graph, target, source] = 1
    label = torch.full((count, most), -1, device="cpu")
    label[graph, local] = component
    reached = label.unsqueeze(1) == label.unsqueeze(2)
    key = pagerank_key(dense_pagerank(adjacency, teleport), reached)
    number = torch.arange(most, device="cpu")
    real, taken = number < graphs.node_counts.unsqueeze(1), number < width.unsqueeze(1)
    order = key.argsort(dim=-1, stable=True).to(torch.int16)
    return order[real.unsqueeze(2) & taken.unsqueeze(1)]


def _on_processor(graphs: Graphs) -> Graphs:
    return replace(
        graphs,
        nodes={name: value.cpu() for name, value in graphs.nodes.items()},
        edges={name: value.cpu() for name, value in graphs.edges.items()},
        node_ptr=graphs.node_ptr.cpu(),
        edge_ptr=graphs.edge_ptr.cpu(),
        index=None if graphs.index is None else graphs.index.cpu(),
    )
