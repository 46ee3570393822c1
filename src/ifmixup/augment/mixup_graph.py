"""MixupGraph: mix the representations that READOUT gives, and the labels."""

from __future__ import annotations

import torch
from torch import Tensor

from ifmixup.augment.drawing import numpy_generator
from ifmixup.augment.method import Method
from ifmixup.augment.mix_plan import MixPlan, check_ratio_options, draw_plan
from ifmixup.augment.registry import register


@register("mixup_graph")
class MixupGraph(Method):
    """h̃ = λ h_A + (1 − λ) h_B and ỹ = λ y_A + (1 − λ) y_B, where h is what READOUT gives.

    The graphs themselves stay as they are. In a loop of one's own::

        h = model.embed(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        h, y = method.mix_embeddings(h, y_rows)
        loss = F.cross_entropy(model.classify(h), y)

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        alpha: λ ~ Beta(alpha, beta).
        beta: See ``alpha``.
        p: The probability that a representation is mixed.
        ratio: ``"pair"`` draws a λ a pair, ``"batch"`` a λ a batch.
        generator: Where randomness comes from; else torch's global generator.
    """

    keeps_undirected = True
    per_graph = True

    def __init__(
        self,
        num_classes: int | None = None,
        alpha: float = 20.0,
        beta: float = 1.0,
        p: float = 1.0,
        ratio: str = "pair",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        check_ratio_options(alpha, beta, p, ratio)
        self.alpha, self.beta, self.p, self.ratio = alpha, beta, p, ratio

    def plan_embeddings(self, h: Tensor) -> MixPlan:
        """Draw partners and ratios for representations ``h`` ``[B, D]``."""
        rng = numpy_generator(self.generator)
        return draw_plan(
            rng,
            rng.permutation(h.size(0)),
            alpha=self.alpha,
            beta=self.beta,
            p=self.p,
            ratio=self.ratio,
            like=h,
        )

    def apply_embeddings(self, h: Tensor, y: Tensor, plan: MixPlan) -> tuple[Tensor, Tensor]:
        """Mix representations ``h`` ``[B, D]`` and label rows ``y`` as ``plan`` says."""

        def share(value: Tensor) -> Tensor:
            return plan.lam.to(value.dtype).view(-1, *[1] * (value.dim() - 1))

        def mixed(value: Tensor) -> Tensor:
            return share(value) * value + (1 - share(value)) * value[plan.partner]

        # A missing label (NaN) counts only where its graph has a share.
        lam = share(y)
        rows = torch.where(lam == 1, y, torch.where(lam == 0, y[plan.partner], mixed(y)))
        return mixed(h), rows

    def mix_embeddings(self, h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Draw and mix in ``train`` mode; leave alone in ``eval`` mode."""
        return self.apply_embeddings(h, y, self.plan_embeddings(h)) if self.training else (h, y)
