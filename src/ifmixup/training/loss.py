"""What is minimised, by task. What is missing in a target (NaN) counts nowhere."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def loss_of(task: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of a task, a function of what a model gives ``[B, T]`` and the target rows."""
    return _LOSSES[task]


def number_known(y: Tensor) -> Tensor:
    """How many entries of target rows are known: what the mean of a masked loss is over."""
    return (~y.isnan()).sum()


def cross_entropy(out: Tensor, y: Tensor) -> Tensor:
    r"""The cross-entropy to class numbers ``[B]`` or soft rows ``[B, C]``.

    .. math:: -\frac{1}{B} \sum_{bc} y_{bc} \log \mathrm{softmax}(\mathbf{o}_b)_c
    """
    return F.cross_entropy(out, y)


def binary_cross_entropy(out: Tensor, y: Tensor) -> Tensor:
    r"""The cross-entropy of each label for itself, over the M entries that are known.

    .. math:: -\frac{1}{M} \sum_{(b,t)\,\mathrm{known}}
              y_{bt} \log \sigma(o_{bt}) + (1 - y_{bt}) \log (1 - \sigma(o_{bt}))

    Args:
        out: Logits ``[B, T]``.
        y: From 0 to 1, or NaN, ``[B, T]``. Where nothing is known the loss is 0.
    """
    known = ~y.isnan()
    total = F.binary_cross_entropy_with_logits(
        out, y.nan_to_num(), weight=known.to(out.dtype), reduction="sum"
    )
    return total / number_known(y).clamp(min=1)


def squared_error(out: Tensor, y: Tensor) -> Tensor:
    r"""The squared error over the M entries that are known.

    .. math:: \frac{1}{M} \sum_{(b,t)\,\mathrm{known}} (o_{bt} - y_{bt})^2

    Args:
        out: What the model gives, ``[B, T]``.
        y: Standardised values, or NaN, ``[B, T]``. Where nothing is known the loss is 0.
    """
    known = ~y.isnan()
    error = torch.where(known, out - y.nan_to_num(), 0.0)
    return error.square().sum() / number_known(y).clamp(min=1)


_LOSSES = {
    "classes": cross_entropy,
    "labels": binary_cross_entropy,
    "values": squared_error,
}
