"""How good an epoch is on the graphs that choose one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ifmixup.training.task import TITLES, higher_is_better

Score = tuple[float, float]


def metric_of(curves: Mapping[str, Sequence[float]]) -> str:
    """The metric that curves were measured with: the one that their names name."""
    for metric in TITLES:
        if f"test_{metric}" in curves or f"validation_{metric}" in curves:
            return metric
    return "accuracy"


def signed(value: float, metric: str) -> float:
    """``value`` so that more is better, and NaN the worst."""
    if math.isnan(value):
        return -math.inf
    return value if higher_is_better(metric) else -value


def validation_score(curves: Mapping[str, Sequence[float]], epoch: int = -1) -> Score:
    """How good validation was after an epoch, from 0: the metric, and among equals the loss.

    Of two scores the higher one is the better one, whatever the metric.
    """
    metric = metric_of(curves)
    value, loss = curves[f"validation_{metric}"][epoch], curves["validation_loss"][epoch]
    return signed(value, metric), signed(loss, "loss")
