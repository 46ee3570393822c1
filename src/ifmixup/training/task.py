"""The three tasks: what is minimised, what is measured, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

TITLES = {
    "accuracy": "accuracy",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
    "mae": "MAE",
}
"""Every metric of :data:`ifmixup.data.dataset.METRICS`, and what it is called in a sentence."""

LOSSES = {"classes": "nll", "labels": "nll", "values": "squared_error"}
"""What the loss of each task is called among the metrics."""

Score = tuple[float, float]


def higher_is_better(metric: str) -> bool:
    """Whether more of ``metric`` is better: of every one but the error and the loss."""
    return metric not in ("mae", "loss")


def is_fraction(metric: str) -> bool:
    """Whether ``metric`` lies between 0 and 1, so it can be given in per cent."""
    return metric != "mae"


def difference_unit(metric: str) -> str:
    """The unit of a difference: accuracy is what everybody expects, another metric is named."""
    if metric == "accuracy":
        return "points"
    return f"points of {TITLES[metric]}" if is_fraction(metric) else TITLES[metric]


def metric_of(curves: Mapping[str, Sequence[float]]) -> str:
    """The metric that curves were measured with: the one that their names name."""
    for metric in TITLES:
        if f"test_{metric}" in curves or f"validation_{metric}" in curves:
            return metric
    return "accuracy"


def signed(value: float, metric: str) -> float:
    """``value`` with the sign that makes more better, and NaN the worst."""
    if math.isnan(value):
        return -math.inf
    return value if higher_is_better(metric) else -value


def validation_score(curves: Mapping[str, Sequence[float]], epoch: int = -1) -> Score:
    """How good validation was after an epoch, from 0: the metric, and among equals the loss.

    Of two scores the higher one is better, whatever the metric.
    """
    metric = metric_of(curves)
    value, loss = curves[f"validation_{metric}"][epoch], curves["validation_loss"][epoch]
    return signed(value, metric), signed(loss, "loss")


def best_epoch(curves: Mapping[str, Sequence[float]]) -> int:
    """The epoch, from 0, that validation chooses: the best metric, then the lowest loss, then the
    earliest.
    """
    epochs = range(len(curves["validation_loss"]))
    return max(epochs, key=lambda epoch: validation_score(curves, epoch))  # the first of equals
