"""A score for choosing settings that no single epoch decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from ifmixup.study.protocols import Run
from ifmixup.training.task import higher_is_better


def second_half(curve: Sequence[float]) -> Sequence[float]:
    """What a curve is after half of its epochs, where no epoch is chosen."""
    return curve[len(curve) // 2 :]


def steady(runs: Sequence[Run], *, folds: int | None = None) -> float:
    """The mean validation metric over the second half of the epochs; more is better.

    The best epoch on a few dozen graphs is mostly luck, and a curve that jumps has more of it: a
    search by the best epoch finds unsteady settings.

    Args:
        runs: The finished runs of a setting under ``holdout``, which alone has validation graphs.
        folds: How many there should be; with fewer the score is NaN.
    """
    if not runs or len(runs) < (folds or 0):
        return math.nan
    curves = [result.curves[f"validation_{result.metric}"] for _, result in runs]
    score = fmean(fmean(second_half(curve)) for curve in curves)
    return score if higher_is_better(runs[0][1].metric) else -score
