"""The three tasks: what is minimised, what is measured, and which way is better."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ifmixup.components import ClassSpec
from ifmixup.errors import InputError
from ifmixup.values import short

TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "F1 (macro)",
    "mcc": "MCC",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
    "nll": "log-loss",
    "brier": "Brier score",
    "ece": "ECE",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R²",
    "spearman": "Spearman's ρ",
}
"""Every metric of :data:`ifmixup.data.dataset.METRICS`, and what it is called in a sentence."""

LOSSES = {"classes": "nll", "labels": "nll", "values": "squared_error"}
"""What the loss of each task is called among the metrics."""

BESIDE = {"classes": "nll", "labels": "nll", "values": "rmse"}
"""What is shown beside the metric that decides: mixing changes probabilities more than winners."""

_LOWER = frozenset(("nll", "brier", "ece", "mae", "rmse", "squared_error", "loss"))
_FRACTIONS = frozenset(
    ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision", "ece")
)
SCORES = ("mcc", "brier", "r2", "spearman")
"""The metrics without a unit that are not given in per cent."""

IN_UNITS = ("mae", "rmse")
"""The metrics in the units of the target."""

OURS = "ifmixup.training.metrics:"
"""What the target of a metric that every run has begins with."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")

Score = tuple[float, float]


def is_ours(spec: ClassSpec) -> bool:
    """Whether every run of the task has this metric."""
    return spec.target.startswith(OURS)


def check_metric_spec(spec: ClassSpec) -> None:
    """Check a metric, which may come from an untrusted file: its name, and which way is better."""
    if is_ours(spec):
        return
    if check_metric_name(spec.name) in TITLES:
        raise InputError(
            f"There is another metric called {spec.name!r}. Give this one another name, such as "
            f"Metric('my_{spec.name}', ...)."
        )
    if not isinstance(dict(spec.options).get("higher_is_better"), bool):
        raise InputError(f"The metric {spec.name!r} does not say whether higher is better.")


def check_metric_name(name: str) -> str:
    """``name`` if a metric can be called so: it stands in tables, curves and stored runs."""
    if not _NAME.fullmatch(name) or name == "loss" or name.startswith(("chosen_", "scaled_")):
        raise InputError(
            f"{short(name)} is not a name for a metric: use up to 60 letters, digits, _ and -, "
            f"a letter first; not 'loss', and not beginning with chosen_ or scaled_."
        )
    return name


def title_of(metric: str) -> str:
    """What a metric is called in a sentence."""
    return TITLES.get(metric, metric.replace("_", " "))


def higher_is_better(metric: str, others: Iterable[ClassSpec] = ()) -> bool:
    """Whether more of ``metric`` is better, as of most; less is better of errors and losses.

    Of a metric that is not ours its own description says so, which is among ``others``: those of
    the run, or of the study. Two studies may use one name for metrics that are better either way.
    """
    for spec in others:
        if spec.name == metric and not is_ours(spec):
            return bool(dict(spec.options)["higher_is_better"])
    return metric not in _LOWER


def is_fraction(metric: str) -> bool:
    """Whether ``metric`` lies between 0 and 1 and is usually given in per cent."""
    return metric in _FRACTIONS


def difference_unit(metric: str) -> str:
    """The unit of a difference: accuracy is what everybody expects, another metric is named."""
    if metric == "accuracy":
        return "points"
    return f"points of {title_of(metric)}" if is_fraction(metric) else title_of(metric)


def metric_of(curves: Mapping[str, Sequence[float]]) -> str:
    """The metric that curves were measured with: the one that their names name."""
    return _metric_of(tuple(curves))


@lru_cache
def _metric_of(names: tuple[str, ...]) -> str:
    for name in names:
        part, _, metric = name.partition("_")
        if part in ("test", "validation") and metric != "loss":
            return metric
    return "accuracy"


def signed(value: float, higher: bool) -> float:
    """``value`` with the sign that makes more better, and NaN the worst; ``higher`` says whether
    higher is better.
    """
    if math.isnan(value):
        return -math.inf
    return value if higher else -value


def validation_score(curves: Mapping[str, Sequence[float]], higher: bool, epoch: int = -1) -> Score:
    """How good validation was after an epoch, from 0: the metric, and among equals the loss.

    Of two scores the higher one is better, whatever the metric.
    """
    value = curves[f"validation_{metric_of(curves)}"][epoch]
    return signed(value, higher), signed(curves["validation_loss"][epoch], False)


def best_value(curves: Mapping[str, Sequence[float]], higher: bool) -> float:
    """The best validation metric of all epochs, with the sign that makes more better."""
    values = list(curves[f"validation_{metric_of(curves)}"])
    if math.isnan(sum(values)):  # if not, as in nearly every run, without a call per epoch
        return max(signed(value, higher) for value in values)
    return signed(max(values) if higher else min(values), higher)


def best_epoch(curves: Mapping[str, Sequence[float]], higher: bool) -> int:
    """The epoch, from 0, that validation chooses: the best metric, then the lowest loss, then the
    earliest.
    """
    values = list(curves[f"validation_{metric_of(curves)}"])
    if not any(map(math.isnan, values)):  # for many runs: without a call per epoch
        best = max(values) if higher else min(values)
        equal = [epoch for epoch, value in enumerate(values) if value == best]
    else:
        equal = list(range(len(values)))
    if len(equal) == 1:
        return equal[0]
    losses = list(curves["validation_loss"])
    scores = [(signed(values[epoch], higher), signed(losses[epoch], False)) for epoch in equal]
    return equal[scores.index(max(scores))]  # the first of equals
