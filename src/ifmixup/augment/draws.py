"""Random draws, all from the given generator and the same on every device; and what ``ifmixup`` and
``mixup_graph`` draw: who is mixed with whom, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ifmixup.augment.method import Method
from ifmixup.errors import InputError, unknown_name


def draw_seed(generator: torch.Generator | None) -> int:
    """One number from ``generator``, which seeds all other draws."""
    device = generator.device if generator is not None else "cpu"
    return int(torch.randint(2**62, (), generator=generator, device=device))


def numpy_generator(generator: torch.Generator | None) -> np.random.Generator:
    """A NumPy generator seeded from ``generator``: it can draw Beta, torch's cannot."""
    return np.random.default_rng(draw_seed(generator))


def hash_integers(seed: int, key: Tensor) -> Tensor:
    """A pseudo-random int64 for each int64 ``key``: the SplitMix64 function of seed + key · golden
    ratio.

    Equal keys get equal numbers: the two directions of an undirected edge, or the nodes of a graph
    in another batch, need no table and no sorting.
    """

    def wrap(number: int) -> int:  # as a signed 64-bit integer; products wrap around by themselves
        return (number + 2**63) % 2**64 - 2**63

    def shift(value: Tensor, bits: int) -> Tensor:  # logical, where torch's >> keeps the sign
        return (value >> bits) & (2 ** (64 - bits) - 1)

    value = key * wrap(0x9E3779B97F4A7C15) + wrap(seed * 0xD1342543DE82EF95 + 1)
    value = (value ^ shift(value, 30)) * wrap(0xBF58476D1CE4E5B9)
    value = (value ^ shift(value, 27)) * wrap(0x94D049BB133111EB)
    return value ^ shift(value, 31)


def hash_uniform(seed: int, key: Tensor) -> Tensor:
    """A pseudo-random float32 in [0, 1) for each int64 ``key``."""
    return ((hash_integers(seed, key) >> 40) & (2**24 - 1)).float() / 2**24


def check_fraction(name: str, value: float) -> float:
    """``value`` if it is in [0, 1]."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} must be in [0, 1]; got {value}.")
    return value


@dataclass(frozen=True)
class MixPlan:
    """Pairs of a batch of B graphs, and their ratios.

    Attributes:
        partner: The partner of each graph, as its index in the batch, ``[B]``.
        lam: The ratio λ of each pair, ``[B]``; 1 for a graph that is not mixed, which is its own
            partner.
        node_order: The new order of the partners' nodes, end to end: node i is what was node
            ``node_order[i]``. None leaves them in their order.
    """

    partner: Tensor
    lam: Tensor
    node_order: Tensor | None = None


class PairMethod(Method):
    """What ``ifmixup`` and ``mixup_graph`` share: the options of λ, and how it is drawn.

    :class:`~ifmixup.augment.IfMixup` describes the arguments.
    """

    shown: ClassVar[tuple[str, ...]] = ("alpha", "beta")

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
        if not (0 < alpha < float("inf") and 0 < beta < float("inf")):
            raise InputError(
                f"Beta(alpha, beta) needs alpha > 0 and beta > 0; got ({alpha}, {beta})."
            )
        if ratio not in ("pair", "batch"):
            raise unknown_name("ratio", ratio, ("pair", "batch"))
        self.alpha, self.beta, self.ratio = alpha, beta, ratio
        self.p = check_fraction("p", p)

    def draw_ratios(
        self,
        rng: np.random.Generator,
        partner: np.ndarray,
        like: Tensor,
        *,
        p: float | None = None,
    ) -> MixPlan:
        """Draw λ for each graph and its ``partner`` ``[B]``, and who is not mixed after all.

        Every λ drawn, and 1 − λ, lies strictly inside (0, 1) in the dtype of ``like``.
        """
        count = len(partner)
        eps = torch.finfo(like.dtype).eps
        drawn = rng.beta(self.alpha, self.beta, 1 if self.ratio == "batch" else count)
        lam = torch.from_numpy(drawn).to(like.dtype).clamp(eps, 1 - eps).expand(count)
        p = self.p if p is None else p
        if p < 1:
            as_it_is = rng.random(count) >= p
            partner = np.where(as_it_is, np.arange(count), partner)
            lam = lam.masked_fill(torch.from_numpy(as_it_is), 1.0)
        return MixPlan(torch.from_numpy(partner).to(like.device), lam.to(like.device))
