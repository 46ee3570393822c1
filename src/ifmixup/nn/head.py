"""From the representation of a graph to its logits."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LastHead(nn.Sequential):
    """A dense layer, ReLU, dropout and a linear layer on the last layer's readout.

    Args:
        hidden_channels: The width of the readout and of the dense layer.
        out_channels: The number of classes.
        dropout: The share of the dense layer's outputs set to zero while training.
    """

    def __init__(self, hidden_channels: int, out_channels: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(hidden_channels, hidden_channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_channels, out_channels),
        )


class SumHead(nn.Module):
    r"""Jumping knowledge as in `GIN <https://arxiv.org/abs/1810.00826>`_.

    .. math::
        \sum_k \mathrm{dropout}(W^k \mathbf{h}_G^k + \mathbf{b}^k)

    Args:
        widths: The width of each readout; they come concatenated.
        out_channels: The number of classes.
        dropout: The share of each linear layer's outputs set to zero while training.
    """

    def __init__(self, widths: list[int], out_channels: int, dropout: float) -> None:
        super().__init__()
        self.widths = widths
        self.linears = nn.ModuleList(nn.Linear(width, out_channels) for width in widths)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor) -> Tensor:
        """Map the concatenated readouts ``[B, sum(widths)]`` to logits ``[B, C]``."""
        readouts = h.split(self.widths, dim=-1)
        logits = [self.dropout(lin(r)) for lin, r in zip(self.linears, readouts, strict=True)]
        return torch.stack(logits).sum(dim=0)
