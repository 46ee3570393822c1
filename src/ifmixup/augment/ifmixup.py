"""ifMixup: mix every graph of a batch with a partner from the same batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from ifmixup.augment.drawing import draw_seed, hash_integers, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.augment.mix_plan import MixPlan, check_ratio_options, draw_plan
from ifmixup.augment.registry import register
from ifmixup.errors import InputError, unknown_name
from ifmixup.graphs import Graphs, concatenate, permute_nodes, ranges, select, split
from ifmixup.mixable import check_mixable
from ifmixup.mixing import check_ratios, mix_pairs


@register("ifmixup")
class IfMixup(Method):
    """Mixes pairs of graphs: their features, edges and labels.

    From `ifMixup <https://arxiv.org/abs/2110.09344>`_.

    One line in a training loop::

        mixup = IfMixup(num_classes=2)
        for batch in loader:
            batch = mixup(batch)  # y is now float rows [B, C]; edge_weight carries the mixing
            out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
            loss = F.cross_entropy(out, batch.y)

    The model must read ``edge_weight``. In ``eval`` mode only labels become rows.

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        alpha: λ ~ Beta(alpha, beta).
        beta: See ``alpha``.
        p: The probability that a graph is mixed; else it passes as it is.
        pairing: ``"random"``: a random permutation of the batch. ``"same-size"``: a random graph of
            the batch with as many nodes; a graph with none such is paired with any graph at random.
            ``"self"``: with itself, which makes sense with ``shuffle_every``.
        shuffle_every: Permute the partner's node order before mixing, with new orders every so many
            epochs (call :meth:`set_epoch`); None never does. In between, a graph keeps its order in
            whichever batch it is met (graphs with as many nodes and edges share one).
        ratio: ``"pair"`` draws a λ a pair, ``"batch"`` a λ a batch.
        coalesce: Whether an edge of both graphs stands once; see :func:`ifmixup.mix_batch`.
        drop: Names of attributes to leave out.
        generator: Where randomness comes from; else torch's global generator.
    """

    keeps_undirected = True

    def __init__(
        self,
        num_classes: int | None = None,
        alpha: float = 20.0,
        beta: float = 1.0,
        p: float = 1.0,
        pairing: str = "random",
        shuffle_every: int | None = None,
        ratio: str = "pair",
        coalesce: bool = True,
        generator: torch.Generator | None = None,
        drop: Collection[str] = (),
    ) -> None:
        super().__init__(num_classes, generator=generator)
        check_ratio_options(alpha, beta, p, ratio)
        if pairing not in ("random", "same-size", "self"):
            raise unknown_name("pairing", pairing, ("random", "same-size", "self"))
        if shuffle_every is not None and shuffle_every < 1:
            raise InputError(f"shuffle_every must be at least 1, or None; got {shuffle_every}.")
        self.alpha, self.beta, self.p, self.ratio = alpha, beta, p, ratio
        self.pairing = pairing
        self.shuffle_every = shuffle_every
        self.coalesce = coalesce
        self.drop = drop
        self.epoch = 0
        # Drawn once, so that the orders of an epoch are the same after resuming there.
        self._order_seed = 0 if shuffle_every is None else draw_seed(generator)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch it is; node orders change every ``shuffle_every`` epochs."""
        self.epoch = epoch

    def prepare(self, graphs: Graphs) -> Graphs:
        """See that graphs can be mixed: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)

    def draw(self, graphs: Graphs) -> MixPlan:
        """Draw partners, ratios and node orders."""
        plan = self._draw_pairs(graphs.node_counts, graphs.nodes["x"])
        return replace(plan, node_order=self._node_order(graphs, plan.partner))

    def change(self, graphs: Graphs, plan: MixPlan) -> Graphs:
        """Mix each graph with its partner as ``plan`` says."""
        check_ratios(plan.lam, graphs.num_graphs)
        place = torch.arange(graphs.num_graphs, device=graphs.node_ptr.device)
        partner = plan.partner
        if plan.node_order is not None:
            shuffled = permute_nodes(select(graphs, partner), plan.node_order)
            graphs, partner = concatenate(graphs, shuffled), place + graphs.num_graphs
        return mix_pairs(graphs, place, partner, plan.lam, coalesce=self.coalesce)

    def take(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Cut batches from prepared graphs and mix the graphs of each with each other."""
        sizes = [batch.numel() for batch in batches]
        plans = [self._draw_pairs(graphs.node_counts[b], graphs.nodes["x"]) for b in batches]
        starts = accumulate(sizes, initial=0)
        partner = torch.cat([p.partner + at for p, at in zip(plans, starts, strict=False)])
        plan = MixPlan(partner, torch.cat([plan.lam for plan in plans]))
        index = torch.cat(list(batches))
        if self.shuffle_every is None:  # pairs are mixed from where they lie
            mixed = mix_pairs(graphs, index, index[partner], plan.lam, coalesce=self.coalesce)
        else:
            together = select(graphs, index)
            order = self._node_order(together, partner)
            mixed = self.change(together, replace(plan, node_order=order))
        return split(mixed, sizes)

    def _draw_pairs(self, number_of_nodes: Tensor, like: Tensor) -> MixPlan:
        """Partners and ratios for graphs with so many nodes each, ``[B]``."""
        rng = numpy_generator(self.generator)
        return draw_plan(
            rng,
            self._draw_partner(rng, number_of_nodes),
            alpha=self.alpha,
            beta=self.beta,
            p=self.p,
            ratio=self.ratio,
            like=like,
        )

    def _draw_partner(self, rng: np.random.Generator, number_of_nodes: Tensor) -> np.ndarray:
        count = number_of_nodes.numel()
        if self.pairing == "self":
            return np.arange(count)
        shuffled = rng.permutation(count)
        if self.pairing == "random":
            return shuffled
        # Graphs of a size stand together in random order; each takes the next one of its size, the
        # last the first.
        sizes = number_of_nodes.cpu().numpy()
        order = shuffled[np.argsort(sizes[shuffled], kind="stable")]
        begin = np.searchsorted(sizes[order], sizes[order], "left")
        end = np.searchsorted(sizes[order], sizes[order], "right")
        following = np.arange(count) + 1
        following = np.where(following < end, following, begin)
        following = np.where(end - begin > 1, following, rng.integers(count, size=count))
        partner = np.empty_like(order)
        partner[order] = order[following]
        return partner

    def _node_order(self, graphs: Graphs, partner: Tensor) -> Tensor | None:
        """The partners' nodes by a random key of their place, graph size and block of epochs."""
        if self.shuffle_every is None:
            return None
        nodes, edges = graphs.node_counts[partner], graphs.edge_counts[partner]
        place, graph, _ = ranges(torch.zeros_like(nodes), nodes)
        salt = hash_integers(self.epoch // self.shuffle_every, nodes * 2**32 + edges)
        key = hash_integers(self._order_seed, salt[graph] + place)
        # One sort by (graph, key): 40 bits of key below 23 of the graph's number.
        return ((graph << 40) | ((key >> 24) & (2**40 - 1))).argsort()
