"""Who is mixed with whom: ways to draw a partner from the same batch for each graph."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ifmixup.errors import InputError

PAIRINGS = ("random", "same-size", "self", "same-class", "other-class", "near")


def draw_partner(
    rng: np.random.Generator, pairing: str, sizes: Tensor, y: Tensor | None, bandwidth: float
) -> np.ndarray:
    """Draw the partner of each graph, as its index in the batch, ``[B]``.

    Args:
        rng: Where randomness comes from.
        pairing: One of :data:`PAIRINGS`; see :class:`~ifmixup.augment.IfMixup`.
        sizes: The number of nodes of each graph, ``[B]``.
        y: The label rows, ``[B, ...]``, which some pairings need.
        bandwidth: The σ of the kernel of ``"near"``.
    """
    count = sizes.numel()
    if pairing == "self":
        return np.arange(count)
    if pairing == "random":
        return rng.permutation(count)
    if pairing == "same-size":
        return same_group(rng, sizes.cpu().numpy(), else_any=True)
    if y is None:
        raise InputError(f"pairing={pairing!r} needs labels y, but the graphs have none.")
    rows = y.detach().to("cpu", torch.float32).reshape(count, -1).numpy()
    if pairing == "near":
        return near(rng, rows, bandwidth)
    group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    if pairing == "same-class":
        return same_group(rng, group)
    return other_group(rng, group)


def same_group(
    rng: np.random.Generator, group: np.ndarray, *, else_any: bool = False
) -> np.ndarray:
    """A random other graph of the same group, each the partner of one graph.

    A graph that is alone in its group is paired with itself, or with any graph at random
    (``else_any``).
    """
    count = len(group)
    shuffled = rng.permutation(count)
    # Sorted by group, in random order within each; each takes the next one, the last the first.
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    begin = np.searchsorted(group[order], group[order], "left")
    end = np.searchsorted(group[order], group[order], "right")
    following = np.arange(count) + 1
    following = np.where(following < end, following, begin)
    if else_any:
        following = np.where(end - begin > 1, following, rng.integers(count, size=count))
    partner = np.empty_like(order)
    partner[order] = order[following]
    return partner


def other_group(rng: np.random.Generator, group: np.ndarray) -> np.ndarray:
    """A random graph of any other group, all equally likely; where there is none, itself."""
    count = len(group)
    order = np.argsort(group, kind="stable")
    begin = np.searchsorted(group[order], group, "left")
    end = np.searchsorted(group[order], group, "right")
    others = count - (end - begin)
    number = rng.integers(np.maximum(others, 1))
    number = np.where(number < begin, number, number + (end - begin))  # past the own group
    return np.where(others > 0, order[np.minimum(number, count - 1)], np.arange(count))


def near(rng: np.random.Generator, y: np.ndarray, bandwidth: float) -> np.ndarray:
    """Another graph j with probability ∝ exp(−‖y_i − y_j‖² / 2σ²), for each i.

    Targets that are missing (NaN) in one of the two do not count in the distance.

    Args:
        rng: Where randomness comes from.
        y: The targets, ``[B, T]``.
        bandwidth: σ
    """
    distance = np.zeros((len(y), len(y)))
    for column in y.T.astype(float):
        distance += np.nan_to_num(column[:, None] - column) ** 2
    # The largest of log p + Gumbel noise is a draw from p.
    score = -distance / (2 * bandwidth**2) + rng.gumbel(size=distance.shape)
    if len(y) > 1:
        np.fill_diagonal(score, -np.inf)
    return score.argmax(1)
