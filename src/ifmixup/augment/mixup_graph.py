"""MixupGraph: mix the representations that READOUT gives, and the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ifmixup.augment.draws import MixPlan, check_ratio_options, draw_plan, numpy_generator
from ifmixup.augment.method import Criterion, Method
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs
from ifmixup.mixing import check_ratios, mix_labels

if TYPE_CHECKING:
    from ifmixup.nn.inputs import GraphsModel


@METHODS.register("mixup_graph")
class MixupGraph(Method):
    """h̃ = λ h_A + (1 − λ) h_B and ỹ = λ y_A + (1 − λ) y_B, where h is what READOUT gives.

    The graphs themselves stay as they are; the mixing is in :meth:`loss`. With a plan::

        plan = method.plan(batch)
        h = model.embed(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        h, y = method.mix(h, y_rows, plan)
        loss = F.cross_entropy(model.classify(h), y)

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        alpha: λ ~ Beta(alpha, beta).
        beta: See ``alpha``.
        p: The probability that a representation is mixed.
        ratio: ``"pair"`` draws one λ per pair, ``"batch"`` one per batch.
        generator: Where randomness comes from; else torch's global generator.
    """

    keeps_undirected = True
    requires = frozenset({"embed"})
    shown = ("alpha", "beta")

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        alpha: float = 20.0,
        beta: float = 1.0,
        p: float = 1.0,
        ratio: str = "pair",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        check_ratio_options(alpha, beta, p, ratio)
        self.alpha, self.beta, self.p, self.ratio = alpha, beta, p, ratio

    def draw(self, graphs: Graphs) -> MixPlan:
        """Draw partners, within the batch, and ratios."""
        rng = numpy_generator(self.generator)
        x = graphs.nodes["x"]
        return draw_plan(
            rng,
            rng.permutation(graphs.num_graphs),
            alpha=self.alpha,
            beta=self.beta,
            p=self.p,
            ratio=self.ratio,
            like=x if x.is_floating_point() else x.new_empty(0, dtype=torch.get_default_dtype()),
        )

    def mix(self, h: Tensor, y: Tensor, plan: MixPlan) -> tuple[Tensor, Tensor]:
        """Mix representations ``h`` ``[B, D]`` and label rows ``y`` ``[B, ...]``."""
        check_ratios(plan.lam, h.size(0))
        lam = plan.lam.to(h.dtype).view(-1, *[1] * (h.dim() - 1))
        mixed = lam * h + (1 - lam) * h[plan.partner]
        return mixed, mix_labels(y, y[plan.partner], plan.lam)

    def loss(self, model: GraphsModel, graphs: Graphs, criterion: Criterion) -> Tensor:
        """The loss of mixed representations and labels."""
        h, y = self.mix(model.embed(graphs), graphs.graphs["y"], self.draw(graphs))
        return criterion(model.classify(h), y)
