"""What is measured on a set of graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

BINS = 15


def metrics(logits: Tensor, y: Tensor) -> dict[str, float]:
    """Accuracy, balanced accuracy, negative log-likelihood and expected calibration error.

    Args:
        logits: ``[B, C]``
        y: Class numbers ``[B]``.
    """
    logits, y = logits.cpu(), y.cpu()  # in double, which not every device has
    guess = logits.argmax(1)
    right = (guess == y).double()
    per_class = [right[y == number].mean() for number in y.unique()]
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(torch.stack(per_class).mean()),
        "nll": float(F.cross_entropy(logits.double(), y)),
        "ece": calibration_error(logits, y),
    }


def calibration_error(logits: Tensor, y: Tensor) -> float:
    r"""The expected calibration error over equal bins of confidence.

    .. math:: \sum_b \frac{|b|}{B} \, |\mathrm{accuracy}(b) - \mathrm{confidence}(b)|
    """
    confidence, guess = logits.double().softmax(1).max(1)
    right = (guess == y).double()
    place = (confidence * BINS).long().clamp(max=BINS - 1)
    gap = torch.zeros(BINS, dtype=torch.double)
    return float(gap.index_add_(0, place, right - confidence).abs().sum() / y.numel())
