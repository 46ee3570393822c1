"""Batch norm's statistics, measured with the weights that they are used with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ifmixup.nn.model import GraphModel
from ifmixup.nn.norm import MOMENTUM, BatchNorm


def measure_statistics(model: GraphModel, batches: Iterable[dict[str, Any]]) -> None:
    r"""Set the statistics of every batch norm to their mean over ``batches``.

    The running statistics of batch norm average over about the last ten steps. Where an epoch has
    few steps and the learning rate is high, the weights have moved in these, and the model that is
    looked at after an epoch is normalised by what earlier ones computed. With the weights held
    still, the mean over the batches :math:`b = 1 \dots B` is (Wu and Johnson, 2021, "precise" batch
    norm):

    .. math::
        \mu = \frac{1}{B} \sum_b \mathrm{mean}(\mathbf{h}_b), \quad
        \sigma^2 = \frac{1}{B} \sum_b \mathrm{var}(\mathbf{h}_b)

    Args:
        model: The model; only these statistics change.
        batches: What the model takes, such as one epoch of training graphs.
    """
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    was_training = model.training
    model.train()
    try:
        with torch.no_grad():
            for count, inputs in enumerate(batches, start=1):
                for norm in norms:
                    norm.momentum = 1 / count
                model.embed(**inputs)
    finally:
        for norm in norms:
            norm.momentum = MOMENTUM
        model.train(was_training)
