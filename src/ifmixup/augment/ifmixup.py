"""ifMixup: mix every graph of a batch with a partner from the same batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor

from ifmixup.augment.draws import MixPlan, PairMethod, draw_seed, hash_integers, numpy_generator
from ifmixup.augment.pairing import PAIRINGS, draw_partner
from ifmixup.components import METHODS
from ifmixup.errors import InputError, unknown_name
from ifmixup.graphs import Graphs, concatenate, permute_nodes, ranges, select, split
from ifmixup.mixing import check_mixable, check_ratios, mix_pairs


@METHODS.register("ifmixup")
class IfMixup(PairMethod):
    """Mixes pairs of graphs: their features, edges, node weights and labels.

    From `ifMixup <https://arxiv.org/abs/2110.09344>`_.

    One line in a training loop::

        mixup = IfMixup(num_classes=2)
        for batch in loader:
            batch = mixup(batch)  # y is now float rows [B, C]; there are edge weights
            out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
            loss = F.cross_entropy(out, batch.y)

    The model must read ``edge_weight``. A node that only one graph has gets a ``node_weight`` below
    1; READOUT and batch norm should count it accordingly, as those of :mod:`ifmixup.nn` do. In
    ``eval`` mode the batch is returned unchanged.

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        alpha: First parameter of the distribution of λ, Beta(alpha, beta).
        beta: Second parameter of Beta(alpha, beta).
        p: Probability that a graph is mixed; the others stay as they are.
        pairing: How partners are chosen: random, same-size, self, same-class, other-class or near.
            ``"random"`` is a random permutation of the batch. ``"same-size"`` is a random graph of
            the batch with the same number of nodes, or any graph if there is none. ``"self"`` is
            the graph itself, for use with ``shuffle_every``. ``"same-class"`` is a random graph of
            the batch with the same label; try it if a mixture of two classes would look like a
            third. ``"other-class"`` is one with another label; try it if most random pairs have the
            same label. For both, a graph without a partner stays as it is. ``"near"`` is another
            graph, drawn by a Gaussian kernel on the targets, as in
            `C-Mixup <https://arxiv.org/abs/2210.05775>`_; try it for regression, because the mean
            of two distant values may not fit a mixture of their graphs.
        bandwidth: Standard deviation of the kernel of near, in units of y. Training standardises
            values, so 1 is their standard deviation.
        until: Stop mixing after this many epochs (int) or after this fraction of the training
            (float). Try it if the training loss stays high. In your own loop, call
            :meth:`start_epoch`, and set ``num_epochs`` for a fraction.
        shuffle_every: Number of epochs after which the partners' nodes are permuted anew; None
            never permutes them. In your own loop, call :meth:`start_epoch`. In between, a graph
            keeps its order in all batches (graphs with equally many nodes and edges share one).
        ratio: Draw one λ per pair or per batch: ``"pair"`` or ``"batch"``.
        node_weight: Pass the node weights to the model. They are always attached; without them, a
            node of weight 0.05 counts fully in READOUT and batch norm.
        coalesce: Merge an edge of both graphs into one; see :func:`ifmixup.mix_batch`. Training a
            model that adds weights up does not need it.
        drop: Names of attributes to leave out.
        generator: Random number generator; by default torch's global one.
    """

    title = "ifMixup"
    keeps_undirected = True
    weights_edges = True

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        alpha: float = 20.0,
        beta: float = 1.0,
        p: float = 1.0,
        pairing: str = "random",
        bandwidth: float | None = None,
        until: int | float | None = None,
        shuffle_every: int | None = None,
        ratio: str = "pair",
        node_weight: bool = True,
        coalesce: bool = True,
        drop: Collection[str] = (),
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, alpha=alpha, beta=beta, p=p, ratio=ratio, generator=generator)
        if pairing not in PAIRINGS:
            raise unknown_name("pairing", pairing, PAIRINGS)
        if bandwidth is not None and not bandwidth > 0:
            raise InputError(f"bandwidth must be more than 0; got {bandwidth}.")
        if until is not None and (until < 0 or (isinstance(until, float) and until > 1)):
            raise InputError(
                f"until must be a number of epochs (an int), a fraction of the training in [0, 1] "
                f"(a float), or None; got {until}."
            )
        if shuffle_every is not None and shuffle_every < 1:
            raise InputError(f"shuffle_every must be at least 1, or None; got {shuffle_every}.")
        self.pairing, self.bandwidth, self.until = pairing, bandwidth, until
        self.shuffle_every = shuffle_every
        self.node_weight, self.coalesce, self.drop = node_weight, coalesce, drop
        self.epoch = 0
        # Drawn once: the orders of an epoch are the same after resuming there.
        self._order_seed = 0 if shuffle_every is None else draw_seed(generator)

    def start_epoch(self, epoch: int) -> None:
        """Node orders change every ``shuffle_every`` epochs, and mixing ends with ``until``."""
        self.epoch = epoch

    def draw(self, graphs: Graphs) -> MixPlan:
        """Draw partners, ratios and node orders."""
        plan = self._draw_pairs(graphs.node_counts, graphs.nodes["x"], graphs.graphs.get("y"))
        return replace(plan, node_order=self._node_order(graphs, plan.partner))

    def change(self, graphs: Graphs, plan: MixPlan) -> Graphs:
        """Mix each graph with its partner as ``plan`` says."""
        check_ratios(plan.lam, graphs.num_graphs)
        first = torch.arange(graphs.num_graphs, device=graphs.node_ptr.device)
        partner = plan.partner
        if plan.node_order is not None:
            shuffled = permute_nodes(select(graphs, partner), plan.node_order)
            graphs, partner = concatenate(graphs, shuffled), first + graphs.num_graphs
        return self._mix(graphs, first, partner, plan.lam)

    def take(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Cut batches from prepared graphs and mix the graphs of each with each other."""
        if type(self).draw is not IfMixup.draw or type(self).change is not IfMixup.change:
            return super().take(graphs, batches)
        sizes = [batch.numel() for batch in batches]
        x, y = graphs.nodes["x"], graphs.graphs.get("y")
        plans = [
            self._draw_pairs(graphs.node_counts[b], x, None if y is None else y[b]) for b in batches
        ]
        starts = accumulate(sizes, initial=0)
        partner = torch.cat([p.partner + at for p, at in zip(plans, starts, strict=False)])
        plan = MixPlan(partner, torch.cat([plan.lam for plan in plans]))
        index = torch.cat(list(batches))
        if self.shuffle_every is None:  # without cutting the batches first
            mixed = self._mix(graphs, index, index[partner], plan.lam)
        else:
            together = select(graphs, index)
            order = self._node_order(together, partner)
            mixed = self.change(together, replace(plan, node_order=order))
        return split(mixed, sizes)

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs that can be mixed: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)

    def _mix(self, graphs: Graphs, first: Tensor, second: Tensor, lam: Tensor) -> Graphs:
        coalesce = self.coalesce and not self.repeated_edges
        return mix_pairs(graphs, first, second, lam, coalesce=coalesce)

    def _draw_pairs(self, sizes: Tensor, like: Tensor, y: Tensor | None) -> MixPlan:
        """Partners and ratios for graphs with so many nodes each, ``[B]``, and these labels."""
        rng = numpy_generator(self.generator)
        partner = draw_partner(rng, self.pairing, sizes, y, self.bandwidth or 1.0)
        return self.draw_ratios(rng, partner, like, p=0.0 if self._is_over() else None)

    def _is_over(self) -> bool:
        """Whether the epochs with mixing have passed."""
        if not isinstance(self.until, float):
            return self.until is not None and self.epoch >= self.until
        if self.num_epochs is None:
            raise InputError(
                f"until={self.until} is a fraction of the training, whose length is unknown. Set "
                f"num_epochs of the method, or give until as a number of epochs."
            )
        return self.epoch >= self.until * self.num_epochs

    def _node_order(self, graphs: Graphs, partner: Tensor) -> Tensor | None:
        """The partners' nodes by a random key of their index, graph size and block of epochs."""
        if self.shuffle_every is None:
            return None
        nodes, edges = graphs.node_counts[partner], graphs.edge_counts[partner]
        number, graph, _ = ranges(torch.zeros_like(nodes), nodes)
        salt = hash_integers(self.epoch // self.shuffle_every, nodes * 2**32 + edges)
        key = hash_integers(self._order_seed, salt[graph] + number)
        # One sort by (graph, key): 40 bits of key below 23 of the graph's number.
        return ((graph << 40) | ((key >> 24) & (2**40 - 1))).argsort()
