"""Mean ranks of methods over datasets, folds and models, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifmixup.errors import InputError

DRAWS = 2000


@dataclass(frozen=True)
class MeanRank:
    """The mean rank of a method, 1 being the best, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def mean_ranks(
    scores: Sequence[NDArray[np.float64]], *, draws: int = DRAWS, seed: int = 0
) -> list[MeanRank]:
    """The mean rank of each method, and a percentile interval of a bootstrap of two levels.

    Methods are ranked within each fold; equal scores share the mean of their ranks. Every dataset
    counts the same. A bootstrap draw takes as many datasets, with replacement, and of each as many
    folds: the interval covers that other datasets and other folds would have been measured. With
    few datasets it is rough.

    Args:
        scores: One array per dataset, ``[folds, M]`` or ``[folds, models, M]``, in which more is
            better. The models of a fold are drawn together.
        draws: The number of bootstrap draws.
        seed: Seeds the bootstrap.
    """
    from scipy.stats import rankdata

    if not scores or any(each.ndim < 2 or not each.size for each in scores):
        raise InputError("Ranks need at least one dataset, each with at least one fold.")
    ranks = [rankdata(-each, axis=-1) for each in scores]
    folds = [each.reshape(len(each), -1, each.shape[-1]).mean(1) for each in ranks]
    mean = np.mean([each.mean(0) for each in folds], 0)
    rng = np.random.default_rng(seed)
    drawn = np.empty((draws, len(mean)))
    for draw in range(draws):
        chosen = [folds[i] for i in rng.integers(len(folds), size=len(folds))]
        again = [each[rng.integers(len(each), size=len(each))].mean(0) for each in chosen]
        drawn[draw] = np.mean(again, 0)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return [MeanRank(*map(float, each)) for each in zip(mean, low, high, strict=True)]
