"""Batch norm over the nodes of a batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NORMS = ("none", "batch")
MOMENTUM = 0.1  # what a step counts in the running statistics; torch's value


class BatchNorm(nn.Module):
    r"""Batch norm over all nodes, as :class:`torch.nn.BatchNorm1d` does it, and for one node too.

    .. math::
        \frac{\mathbf{h} - \mathrm{mean}(\mathbf{h})}{\sqrt{\mathrm{var}(\mathbf{h}) + 10^{-5}}}
        \odot \gamma + \beta

    A single node has no variance; it falls back on the running statistics. A constant that is added
    before the norm is taken away again, so that the layer in front needs no bias.

    Args:
        channels: The width of ``h``.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.momentum = MOMENTUM
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.register_buffer("running_mean", torch.empty(channels))
        self.register_buffer("running_var", torch.empty(channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Forget what was learnt and the running statistics."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        nn.init.zeros_(self.running_mean)
        nn.init.ones_(self.running_var)

    def forward(self, h: Tensor) -> Tensor:
        """Normalise ``h`` ``[N, channels]``."""
        use_batch = False
        if self.training and h.size(0) > 1:  # a branch: a compiled size gives no plain bool
            use_batch = True
        return F.batch_norm(
            h,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=use_batch,
            momentum=self.momentum,
        )


def make_norm(norm: str, channels: int) -> nn.Module:
    """Batch norm over all nodes of the batch, or nothing."""
    return BatchNorm(channels) if norm == "batch" else nn.Identity()
