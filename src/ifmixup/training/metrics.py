"""What is minimised and what is measured, by task. A missing target (NaN) counts nowhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.data.dataset import METRICS
from ifmixup.errors import InputError
from ifmixup.training.task import LOSSES

BINS = 15


def loss_of(task: str, label_smoothing: float = 0.0) -> Callable[..., Tensor]:
    """The loss of a task: a function of the model's output ``[B, T]`` and the target rows."""
    if label_smoothing == 0:
        return _LOSSES[task]
    if task != "classes":
        raise InputError(f"label_smoothing is for classes; these targets are {task}.")
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


def binary_cross_entropy(out: Tensor, y: Tensor, y_weight: Tensor | None = None) -> Tensor:
    r"""The cross-entropy of each label for itself, over the entries that are known.

    .. math:: -\frac{1}{\sum_{bt} m_{bt}} \sum_{bt} m_{bt} \,
              [y_{bt} \log \sigma(o_{bt}) + (1 - y_{bt}) \log (1 - \sigma(o_{bt}))]

    Logits are ``[B, T]``, and so are labels from 0 to 1 and m, ``y_weight``: 1 where a label is
    known and 0 where it is missing (NaN), or what :func:`~ifmixup.mixing.mix_labels` gives. Where
    nothing is known the loss is 0.
    """
    weight, total_weight = _weights(y, y_weight, out.dtype)
    total = F.binary_cross_entropy_with_logits(out, y.nan_to_num(), weight=weight, reduction="sum")
    return total / total_weight


def squared_error(out: Tensor, y: Tensor, y_weight: Tensor | None = None) -> Tensor:
    r"""The squared error over the entries that are known.

    .. math:: \frac{1}{\sum_{bt} m_{bt}} \sum_{bt} m_{bt} \, (o_{bt} - y_{bt})^2

    Values are standardised. For m, and where nothing is known, see :func:`binary_cross_entropy`.
    """
    weight, total_weight = _weights(y, y_weight, out.dtype)
    return ((out - y.nan_to_num()).square() * weight).sum() / total_weight


def _weights(y: Tensor, y_weight: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """How much each entry counts ``[B, T]``, and all of them together; 1 where that is 0."""
    known = ~y.isnan()
    weight = known.to(dtype) if y_weight is None else y_weight.to(dtype) * known
    total = weight.sum()
    return weight, torch.where(total > 0, total, 1)


for _reads in (binary_cross_entropy, squared_error):
    _reads.reads_y_weight = True  # type: ignore[attr-defined]


_LOSSES: dict[str, Callable[..., Tensor]] = {
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

    They are worked out after every epoch, so of the dearer ones only ``metric`` is;
    :func:`all_metrics` gives all.

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
    name = LOSSES[task]
    if name not in found:
        found[name] = float(loss_of(task)(out.double(), y.double()))
    if metric in METRICS[task] and metric not in found:
        found[metric] = _one(metric, out, y, task, unit)
    return found


def all_metrics(
    out: Tensor, y: Tensor, task: str = "classes", unit: Tensor | None = None
) -> dict[str, float]:
    """Every metric of a task, :data:`~ifmixup.data.dataset.METRICS`, and its loss.

    Of labels and values each is the mean over the columns where it is defined, by the graphs where
    the column is known; only ``nll`` of labels is over all known entries, as the loss is. The
    arguments are those of :func:`metrics`.
    """
    out, y = out.detach().cpu(), y.cpu()
    found = metrics(out, y, task, METRICS[task][0], unit)
    others = (name for name in METRICS[task] if name not in found)
    return {**found, **{name: _one(name, out, y, task, unit) for name in others}}


def _one(metric: str, out: Tensor, y: Tensor, task: str, unit: Tensor | None) -> float:
    """One metric that is not among those of every epoch."""
    if metric in _RANKED:
        return _RANKED[metric](*_ranked(out, y, task))
    if task == "classes":
        return _BY_CLASS[metric](out.double(), y)
    columns = []
    for column in range(y.size(1)):
        known = ~y[:, column].isnan()
        given, truth = out[known, column].double(), y[known, column].double()
        if not truth.numel():
            continue
        if task == "labels":  # two classes, of which the first has a logit of 0
            logits = torch.stack([torch.zeros_like(given), given], 1)
            columns.append(_BY_CLASS[metric](logits, truth.long()))
        else:
            scale = 1.0 if unit is None else float(unit[column])
            columns.append(_BY_VALUE[metric](given, truth) * (scale if metric == "rmse" else 1.0))
    return nan_mean(columns)


def nan_mean(values: Sequence[float]) -> float:
    """The mean of the values that are defined; NaN where none is."""
    there = [value for value in values if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan


def _confusion(logits: Tensor, y: Tensor) -> Tensor:
    """How many graphs of class r were taken for class c, ``[C, C]``."""
    classes = logits.size(1)
    return torch.bincount(y * classes + logits.argmax(1), minlength=classes**2).view(
        classes, classes
    )


def f1_macro(logits: Tensor, y: Tensor) -> float:
    r"""F1 of each class that is there or was predicted, and their mean.

    .. math:: F_c = \frac{2\,\mathrm{TP}_c}{2\,\mathrm{TP}_c + \mathrm{FP}_c + \mathrm{FN}_c}
    """
    counts = _confusion(logits, y).double()
    there = counts.sum(0) + counts.sum(1)
    return float((2 * counts.diagonal() / there)[there > 0].mean())


def mcc(logits: Tensor, y: Tensor) -> float:
    r"""Matthews' correlation coefficient, for several classes as by Gorodkin (2004).

    .. math:: \frac{c\,s - \sum_k p_k t_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

    Of s graphs c are right; :math:`t_k` are of class k, :math:`p_k` were taken for it. It is 0
    where all are of one class, or were taken for one.
    """
    counts = _confusion(logits, y).double()
    predicted, true, total = counts.sum(0), counts.sum(1), counts.sum()
    above = counts.trace() * total - predicted @ true
    below = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    return float(above / below.sqrt()) if float(below) > 0 else 0.0


def brier(logits: Tensor, y: Tensor) -> float:
    r"""The Brier score.

    .. math:: \frac{1}{B} \sum_{bc} (\mathrm{softmax}(\mathbf{o}_b)_c - y_{bc})^2

    Of two classes it is half of that, the squared error of the second one's probability.
    """
    rows = F.one_hot(y, logits.size(1)).double()
    total = (logits.double().softmax(1) - rows).square().sum(1).mean()
    return float(total / 2 if logits.size(1) == 2 else total)


def rmse(out: Tensor, y: Tensor) -> float:
    r"""The root of the mean squared error, :math:`\sqrt{\frac{1}{B} \sum_b (o_b - y_b)^2}`."""
    return float((out - y).square().mean().sqrt())


def r2(out: Tensor, y: Tensor) -> float:
    r"""The coefficient of determination; NaN where y is constant.

    .. math:: 1 - \frac{\sum_b (o_b - y_b)^2}{\sum_b (y_b - \bar{y})^2}
    """
    spread = float((y - y.mean()).square().sum())
    return 1 - float((out - y).square().sum()) / spread if spread > 0 else math.nan


def spearman(out: Tensor, y: Tensor) -> float:
    r"""The correlation of ranks, equal values having their mean rank; NaN where one is constant."""
    from scipy.stats import rankdata

    ranks = [torch.from_numpy(rankdata(each.numpy())) for each in (out, y)]
    first, second = (each - each.mean() for each in ranks)
    below = float(first.norm() * second.norm())
    return float(first @ second) / below if below > 0 else math.nan


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


def _balanced_accuracy(logits: Tensor, y: Tensor) -> float:
    right = (logits.argmax(1) == y).double()
    return float(torch.stack([right[y == number].mean() for number in y.unique()]).mean())


_RANKED = {"roc_auc": roc_auc, "average_precision": average_precision}
_BY_CLASS = {
    "balanced_accuracy": _balanced_accuracy,
    "f1_macro": f1_macro,
    "mcc": mcc,
    "brier": brier,
    "ece": calibration_error,
}
_BY_VALUE = {"rmse": rmse, "r2": r2, "spearman": spearman}


def _of_classes(logits: Tensor, y: Tensor) -> dict[str, float]:
    guess = logits.argmax(1)
    right = (guess == y).double()
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": _balanced_accuracy(logits, y),
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
