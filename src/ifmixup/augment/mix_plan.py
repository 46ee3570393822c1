"""Who is mixed with whom, and how much: what ``ifmixup`` and ``mixup_graph`` draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ifmixup.augment.drawing import check_fraction
from ifmixup.errors import InputError, unknown_name


@dataclass(frozen=True)
class MixPlan:
    """Pairs of a batch of B graphs, and their ratios.

    Attributes:
        partner: The partner of each graph, as its place in the batch, ``[B]``.
        lam: The ratio λ of each pair, ``[B]``; 1 for a graph that is not mixed, which is its own
            partner.
        node_order: The new order of the partners' nodes, laid end to end: place p holds what was
            node ``node_order[p]``. None: as they are.
    """

    partner: Tensor
    lam: Tensor
    node_order: Tensor | None = None


def check_ratio_options(alpha: float, beta: float, p: float, ratio: str) -> None:
    """See that λ can be drawn."""
    if not (0 < alpha < float("inf") and 0 < beta < float("inf")):
        raise InputError(f"Beta(alpha, beta) needs alpha > 0 and beta > 0; got ({alpha}, {beta}).")
    check_fraction("p", p)
    if ratio not in ("pair", "batch"):
        raise unknown_name("ratio", ratio, ("pair", "batch"))


def draw_plan(
    rng: np.random.Generator,
    partner: np.ndarray,
    *,
    alpha: float,
    beta: float,
    p: float,
    ratio: str,
    like: Tensor,
) -> MixPlan:
    """Draw λ ~ Beta(alpha, beta) for each pair, and which graphs are not mixed after all.

    Args:
        rng: Where randomness comes from.
        partner: The partner of each graph, ``[B]``.
        alpha: See above.
        beta: See above.
        p: The probability that a graph is mixed.
        ratio: ``"pair"`` draws a λ a pair, ``"batch"`` a λ a batch.
        like: A tensor with the dtype and device that are used.

    Returns:
        A plan in which every λ drawn, and 1 − λ, lies strictly inside (0, 1) in that dtype.
    """
    count = len(partner)
    eps = torch.finfo(like.dtype).eps
    drawn = rng.beta(alpha, beta, 1 if ratio == "batch" else count)
    lam = torch.from_numpy(drawn).to(like.dtype).clamp(eps, 1 - eps).expand(count)
    if p < 1:
        as_it_is = rng.random(count) >= p
        partner = np.where(as_it_is, np.arange(count), partner)
        lam = lam.masked_fill(torch.from_numpy(as_it_is), 1.0)
    return MixPlan(torch.from_numpy(partner).to(like.device), lam.to(like.device))
