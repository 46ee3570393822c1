"""MixupGraph: mix the representations that READOUT gives, and the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ifmixup.augment.draws import MixPlan, PairMethod, numpy_generator
from ifmixup.augment.method import Criterion, loss_of_labels
from ifmixup.augment.rewire import mixed_labels
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs
from ifmixup.mixing import check_ratios, mix_rows

if TYPE_CHECKING:
    from ifmixup.nn.inputs import GraphsModel


@METHODS.register("mixup_graph")
class MixupGraph(PairMethod):
    """Mixes pairs of graph representations, the output of READOUT, and their labels.

    h̃ = λ h_A + (1 − λ) h_B and ỹ = λ y_A + (1 − λ) y_B, from `Mixup for Node and Graph
    Classification <https://doi.org/10.1145/3442381.3449796>`_. The graphs stay as they are; mixing
    happens in :meth:`loss`. With a plan::

        plan = method.plan(batch)
        h = model.embed(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        h, y = method.mix(h, y_rows, plan)
        loss = F.cross_entropy(model.classify(h), y)

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        alpha: First parameter of the distribution of λ, Beta(alpha, beta).
        beta: Second parameter of Beta(alpha, beta).
        p: Probability that a graph is mixed; the others stay as they are.
        ratio: Draw one λ per pair or per batch: ``"pair"`` or ``"batch"``.
        generator: Random number generator; by default torch's global one.
    """

    title = "MixupGraph"
    keeps_undirected = True
    requires = frozenset({"embed"})

    def draw(self, graphs: Graphs) -> MixPlan:
        """Draw partners, within the batch, and ratios."""
        rng = numpy_generator(self.generator)
        x = graphs.nodes["x"]
        like = x if x.is_floating_point() else x.new_empty(0, dtype=torch.get_default_dtype())
        return self.draw_ratios(rng, rng.permutation(graphs.num_graphs), like)

    def mix(self, h: Tensor, y: Tensor, plan: MixPlan) -> tuple[Tensor, Tensor]:
        """Mix representations ``h`` ``[B, D]`` and label rows ``y`` ``[B, ...]``."""
        check_ratios(plan.lam, h.size(0))
        mixed = mix_rows(h, h[plan.partner], plan.lam, inside=True)
        return mixed, mix_rows(y, y[plan.partner], plan.lam)

    def loss(self, model: GraphsModel, graphs: Graphs, criterion: Criterion) -> Tensor:
        """The loss of mixed representations and labels."""
        plan = self.draw(graphs)
        h, _ = self.mix(model.embed(graphs), graphs.graphs["y"], plan)
        rows = mixed_labels(graphs, plan.partner, plan.lam)
        return loss_of_labels(criterion, model.classify(h), rows)
