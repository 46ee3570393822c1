"""What is known of the metrics and the losses: the one place that says which way is better."""

from __future__ import annotations

TITLES = {
    "accuracy": "accuracy",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
    "mae": "MAE",
}
"""Every metric of :data:`ifmixup.data.dataset.METRICS`, and what it is called in a sentence."""

LOSSES = {"classes": "nll", "labels": "nll", "values": "squared_error"}
"""What the loss of each task is called among the metrics."""


def higher_is_better(metric: str) -> bool:
    """Whether more of ``metric`` is better: of every one but the error and the loss."""
    return metric not in ("mae", "loss")


def is_fraction(metric: str) -> bool:
    """Whether ``metric`` lies between 0 and 1, so that it can be said in per cent."""
    return metric != "mae"


def difference_unit(metric: str) -> str:
    """What a difference is said in: accuracy is what everybody expects, another metric is named."""
    if metric == "accuracy":
        return "points"
    return f"points of {TITLES[metric]}" if is_fraction(metric) else TITLES[metric]
