"""The numbers that a protocol reads off finished runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Pair = tuple[int, int]  # (repeat, fold)


@dataclass(frozen=True)
class Choice:
    """What was chosen for a fold.

    Attributes:
        settings: The settings that make a difference, by name.
        epoch: The epoch, counted from 1.
    """

    settings: dict[str, Any]
    epoch: int


@dataclass(frozen=True)
class Reading:
    """What one dataset, model and method reached on the test folds, fold by fold.

    Attributes:
        protocol: ``holdout`` or ``paper``.
        metric: What the numbers are: ``accuracy``, ``roc_auc``, ``average_precision`` or ``mae``.
        scores: By (repeat, fold), at the chosen setting and epoch.
        last: By (repeat, fold), at the last epoch of the chosen setting: no epoch is chosen.
        chosen: By (repeat, fold), what was chosen.
        runs: How many runs were looked at.
        missing: By (repeat, fold), how many runs should be there and are not; empty if all are.
            A mean over what is left is no substitute for them: show it with this count.
        undefined: The (repeat, fold) where the metric is not defined, which have no score.
    """

    protocol: str
    metric: str
    scores: dict[Pair, float]
    last: dict[Pair, float]
    chosen: dict[Pair, Choice]
    runs: int
    missing: dict[Pair, int]
    undefined: tuple[Pair, ...] = ()

    @property
    def optimistic(self) -> bool:
        """Whether the test folds took part in choosing, so that the numbers are too good."""
        return self.protocol == "paper"

    @property
    def complete(self) -> bool:
        """Whether every run is there."""
        return not self.missing

    @property
    def mean(self) -> float:
        """The mean over all folds of all repeats."""
        return mean(self.scores)

    @property
    def std_over_repeats(self) -> float:
        """The standard deviation of the repeats' means; NaN for one repeat."""
        return std_over_repeats(self.scores)

    @property
    def std_over_folds(self) -> float:
        """The mean over repeats of the standard deviation over folds."""
        return std_over_folds(self.scores)

    @property
    def last_mean(self) -> float:
        """As :attr:`mean`, at the last epoch."""
        return mean(self.last)

    @property
    def last_std_over_repeats(self) -> float:
        """As :attr:`std_over_repeats`, at the last epoch."""
        return std_over_repeats(self.last)

    @property
    def last_std_over_folds(self) -> float:
        """As :attr:`std_over_folds`, at the last epoch."""
        return std_over_folds(self.last)


def mean(values: Mapping[Pair, float]) -> float:
    """The mean; NaN of nothing."""
    return math.fsum(values.values()) / len(values) if values else math.nan


def std_over_repeats(values: Mapping[Pair, float]) -> float:
    r"""How much another shuffle of the graphs changes the mean.

    .. math:: \sqrt{\frac{1}{R-1} \sum_r (\bar{a}_r - \bar{a})^2}

    With :math:`\bar{a}_r` the mean over the folds of repeat r; NaN for one repeat.
    """
    return _std([float(np.mean(each)) for each in _by_repeat(values)])


def std_over_folds(values: Mapping[Pair, float]) -> float:
    r"""How much the folds of a cross-validation differ from each other.

    .. math:: \frac{1}{R} \sum_r \sqrt{\frac{1}{K-1} \sum_f (a_{rf} - \bar{a}_r)^2}

    NaN where no repeat has two folds.
    """
    spreads = [_std(each) for each in _by_repeat(values) if len(each) > 1]
    return float(np.mean(spreads)) if spreads else math.nan


def _by_repeat(values: Mapping[Pair, float]) -> list[list[float]]:
    repeats: dict[int, list[float]] = {}
    for (repeat, _), value in sorted(values.items()):
        repeats.setdefault(repeat, []).append(value)
    return list(repeats.values())


def _std(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
