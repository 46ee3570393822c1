"""Random draws, all from the given generator and the same on every device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ifmixup.errors import InputError


def draw_seed(generator: torch.Generator | None) -> int:
    """One number from ``generator`` that seeds all else."""
    device = generator.device if generator is not None else "cpu"
    return int(torch.randint(2**62, (), generator=generator, device=device))


def numpy_generator(generator: torch.Generator | None) -> np.random.Generator:
    """A NumPy generator seeded from ``generator``: it can draw Beta, torch's cannot."""
    return np.random.default_rng(draw_seed(generator))


def hash_integers(seed: int, key: Tensor) -> Tensor:
    """A pseudo-random int64 for each int64 ``key``: the SplitMix64 function of seed + key · golden
    ratio.

    Equal keys get equal numbers, wherever they stand: the two directions of an undirected edge, or
    the nodes of a graph that is met again in another batch, need no table and no sorting.
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
