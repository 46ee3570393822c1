"""A score for choosing settings that no single epoch decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from ifmixup.study.protocols import Run
from ifmixup.training.task import higher_is_better


def steady(protocol: str, runs: Sequence[Run], *, folds: int | None = None) -> float:
    """The mean validation metric over the second half of the epochs; more is better.

    The best epoch on a few dozen graphs is mostly luck, and a curve that jumps has more of it: a
    search by the best epoch finds unsteady settings.

    Args:
        protocol: Of the runs; only ``holdout`` has validation graphs.
        runs: The finished runs of a setting.
        folds: How many there should be; with fewer the score is NaN.
    """
    if not runs or len(runs) < (folds or 0):
        return math.nan
    curves = [result.curves[f"validation_{result.metric}"] for _, result in runs]
    score = fmean(fmean(curve[len(curve) // 2 :]) for curve in curves)
    return score if higher_is_better(runs[0][1].metric) else -score
