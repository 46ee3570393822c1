"""What is minimised and what is measured, by task. A missing target (NaN) counts nowhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.errors import InputError
from ifmixup.training.task import LOSSES

BINS = 15


def loss_of(task: str, label_smoothing: float = 0.0) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of a task: a function of the model's output ``[B, T]`` and the target rows."""
    if label_smoothing == 0:
        return _LOSSES[task]
    if task != "classes":
        raise InputError(f"label_smoothing is for classes; the targets here are {task}.")
    return partial(cross_entropy, label_smoothing=label_smoothing)


def number_known(y: Tensor) -> Tensor:
    """How many entries of target rows are known: what the mean of a masked loss is over."""
    return (~y.isnan()).sum()


def cross_entropy(out: Tensor, y: Tensor, label_smoothing: float = 0.0) -> Tensor:
    r"""The cross-entropy to class numbers ``[B]`` or soft rows ``[B, C]``.

    .. math:: -\frac{1}{B} \sum_{bc} y_{bc} \log \mathrm{softmax}(\mathbf{o}_b)_c
    """
    if y.is_floating_point() and y.dtype != out.dtype:  # of a model in another precision
        dtype = torch.promote_types(out.dtype, y.dtype)
        out, y = out.to(dtype), y.to(dtype)
    return F.cross_entropy(out, y, label_smoothing=label_smoothing)


def binary_cross_entropy(out: Tensor, y: Tensor) -> Tensor:
    r"""The cross-entropy of each label for itself, over the M entries that are known.

    .. math:: -\frac{1}{M} \sum_{(b,t)\,\mathrm{known}}
              y_{bt} \log \sigma(o_{bt}) + (1 - y_{bt}) \log (1 - \sigma(o_{bt}))

    Logits are ``[B, T]``, and so are labels from 0 to 1. Where nothing is known the loss is 0.
    """
    known = ~y.isnan()
    total = F.binary_cross_entropy_with_logits(
        out, y.nan_to_num(), weight=known.to(out.dtype), reduction="sum"
    )
    return total / number_known(y).clamp(min=1)


def squared_error(out: Tensor, y: Tensor) -> Tensor:
    r"""The squared error over the M entries that are known.

    .. math:: \frac{1}{M} \sum_{(b,t)\,\mathrm{known}} (o_{bt} - y_{bt})^2

    Values are standardised. Where nothing is known the loss is 0.
    """
    known = ~y.isnan()
    error = torch.where(known, out - y.nan_to_num(), 0.0)
    return error.square().sum() / number_known(y).clamp(min=1)


_LOSSES = {
    "classes": cross_entropy,
    "labels": binary_cross_entropy,
    "values": squared_error,
}


def metrics(
    out: Tensor,
    y: Tensor,
    task: str = "classes",
    metric: str = "accuracy",
    unit: Tensor | None = None,
) -> dict[str, float]:
    """The metrics of a task by name, its loss among them; NaN where one is not defined.

    They are worked out after every epoch, so that of the dearer ones only ``metric`` is.

    - ``classes``: accuracy, balanced accuracy, negative log-likelihood (``nll``) and expected
      calibration error (``ece``);
    - ``labels``: ``nll`` of each known label, and ``accuracy``, the mean over the columns;
    - ``values``: ``mae``, and ``squared_error``, which is standardised.

    Args:
        out: What the model gives: logits ``[B, C]`` or ``[B, T]``, or standardised values.
        y: Class numbers ``[B]``, or rows ``[B, T]`` with NaN for what is missing, standardised as
            ``out`` is.
        unit: What one unit of ``out`` is in the values' own units, ``[T]``.
    """
    out, y = out.detach().cpu(), y.cpu()  # in double, which not every device has
    if task == "values":
        scale = torch.ones(y.size(1)) if unit is None else unit.cpu()
        found = {"mae": _known_mean((out.double() - y.double()).abs() * scale.double(), y)}
    elif task == "classes":
        found = _of_classes(out, y)
    else:
        found = {"accuracy": _known_mean(((out > 0) == (y == 1)).double(), y)}
    if metric in _RANKED:
        found[metric] = _RANKED[metric](*_ranked(out, y, task))
    name = LOSSES[task]
    if name not in found:
        found[name] = float(loss_of(task)(out.double(), y.double()))
    return found


def calibration_error(logits: Tensor, y: Tensor) -> float:
    r"""The expected calibration error over equal bins of confidence.

    .. math:: \sum_b \frac{|b|}{B} \, |\mathrm{accuracy}(b) - \mathrm{confidence}(b)|
    """
    confidence, guess = logits.double().softmax(1).max(1)
    right = (guess == y).double()
    position = (confidence * BINS).long().clamp(max=BINS - 1)
    gap = torch.zeros(BINS, dtype=torch.double)
    return float(gap.index_add_(0, position, right - confidence).abs().sum() / y.numel())


def fit_temperature(logits: Tensor, y: Tensor) -> float:
    r"""The temperature T for which :math:`\mathrm{softmax}(\mathbf{o} / T)` has the least loss.

    "On Calibration of Modern Neural Networks" (Guo et al., 2017, https://arxiv.org/abs/1706.04599).
    The loss is convex in 1/T. T is kept between 0.01 and 100, because without a mistake among the
    graphs the least loss is at 0. The graphs were not trained on.
    """
    from scipy.optimize import minimize_scalar

    logits, y = logits.detach().cpu().double(), y.cpu()

    def loss(log_temperature: float) -> float:
        return float(F.cross_entropy(logits / math.exp(log_temperature), y))

    bounds = (math.log(0.01), math.log(100))
    return math.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x)


def roc_auc(scores: Tensor, y: Tensor) -> float:
    r"""The area under the ROC curve, the mean over the columns that have both classes.

    Of a column with P positives and N negatives:

    .. math:: \frac{1}{PN} \sum_{i\,\mathrm{positive}} \big|\{j\,\mathrm{negative}: s_j < s_i\}\big|
              + \tfrac{1}{2} \big|\{j\,\mathrm{negative}: s_j = s_i\}\big|

    All columns in one go: one by one, hundreds of labels would take longer than an epoch.

    Args:
        scores: ``[B, T]``
        y: 0, 1, or NaN for what is not known, ``[B, T]``.
    """
    positive, negative = y == 1, y == 0
    below = _count(scores, negative)
    not_above = torch.minimum(_count(scores, negative, right=True), negative.sum(0).double())
    won = torch.where(positive, (below + not_above) / 2, 0.0).sum(0)
    return _mean_of_columns(won / (positive.sum(0) * negative.sum(0)), scores, y)


def average_precision(scores: Tensor, y: Tensor) -> float:
    r"""The average precision, the mean over the columns that have both classes.

    The precision at a positive is the part of the graphs with no lower score that is positive, too:

    .. math:: \frac{1}{P} \sum_{i\,\mathrm{positive}}
              \frac{|\{j\,\mathrm{positive}: s_j \ge s_i\}|}{|\{j: s_j \ge s_i\}|}

    The arguments are those of :func:`roc_auc`.
    """
    positive, negative = y == 1, y == 0
    as_high = positive.sum(0) - _count(scores, positive)
    others = negative.sum(0) - _count(scores, negative)
    precision = torch.where(positive, as_high / (as_high + others), 0.0).sum(0)
    return _mean_of_columns(precision / positive.sum(0), scores, y)


def _count(scores: Tensor, among: Tensor, *, right: bool = False) -> Tensor:
    """For each score, how many of its column's scores in ``among`` are lower (or not higher)."""
    ordered = torch.where(among, scores, math.inf).T.contiguous().sort().values
    return torch.searchsorted(ordered, scores.T.contiguous(), right=right).T.double()


_RANKED = {"roc_auc": roc_auc, "average_precision": average_precision}


def _of_classes(logits: Tensor, y: Tensor) -> dict[str, float]:
    guess = logits.argmax(1)
    right = (guess == y).double()
    per_class = [right[y == number].mean() for number in y.unique()]
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(torch.stack(per_class).mean()),
        "nll": float(F.cross_entropy(logits.double(), y)),
        "ece": calibration_error(logits, y),
    }


def _ranked(out: Tensor, y: Tensor, task: str) -> tuple[Tensor, Tensor]:
    """Scores and 0/1 rows: labels as they are, classes one against the rest.

    Of two classes only the second counts: it is the positive one.
    """
    if task == "labels":
        return out.double(), y
    scores, rows = out.double().softmax(1), F.one_hot(y, out.size(1)).double()
    if out.size(1) == 2:
        scores, rows = (out[:, 1:] - out[:, :1]).double(), rows[:, 1:]
    return scores, rows


def _known_mean(values: Tensor, y: Tensor) -> float:
    """The mean over the columns of the mean where ``y`` is known; NaN where it nowhere is."""
    known = ~y.isnan()
    by_column = torch.where(known, values, 0.0).sum(0) / known.sum(0)
    return float(by_column[known.any(0)].mean())


def _mean_of_columns(values: Tensor, scores: Tensor, y: Tensor) -> float:
    """The mean of the columns that have both classes, and a score where it is known."""
    both = (y == 1).any(0) & (y == 0).any(0) & ~(scores.isnan() & ~y.isnan()).any(0)
    return float(values[both].mean()) if bool(both.any()) else math.nan
