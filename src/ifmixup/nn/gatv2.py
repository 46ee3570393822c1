"""GATv2 with weighted edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import glorot

from ifmixup.nn.attention import NEGATIVE_SLOPE, AttentionConv, AttentionModel


class GATv2Conv(AttentionConv):
    r"""Attention with the scores of `GATv2 <https://arxiv.org/abs/2105.14491>`_.

    .. math::
        s_{ij} = \mathbf{a}^\top \mathrm{LeakyReLU}(W_t \mathbf{h}_i + W_s \mathbf{h}_j)

    The messages are :math:`W_s \mathbf{h}_j`; both maps have a bias.

    Args:
        in_channels: The width of ``h``.
        out_channels: The width of the result, over all heads.
        heads: The number of heads.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int) -> None:
        super().__init__(out_channels, heads)
        self.lin_l = Linear(in_channels, out_channels, weight_initializer="glorot")
        self.lin_r = Linear(in_channels, out_channels, weight_initializer="glorot")
        self.att = nn.Parameter(torch.empty(1, heads, out_channels // heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        super().reset_parameters()
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()
        glorot(self.att)

    def messages(self, h: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """What flows along each edge ``[E, H, F]`` and the score of each edge ``[E, H]``."""
        at_source = self.lin_l(h).unflatten(-1, (self.heads, -1)).index_select(0, source)
        at_target = self.lin_r(h).unflatten(-1, (self.heads, -1)).index_select(0, target)
        score = (F.leaky_relu(at_source + at_target, NEGATIVE_SLOPE) * self.att).sum(dim=-1)
        return at_source, score


class GATv2(AttentionModel):
    r"""Graph attention whose ranking of the neighbours depends on the node, with edge weights.

    .. math::
        \mathbf{h}^k_i = \sigma \left( \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \alpha_{ij} W_s^k \mathbf{h}^{k-1}_j \right), \quad
        \alpha_{ij} \propto e(i,j) \exp \left( \mathbf{a}^\top \mathrm{LeakyReLU}(
        W_t^k \mathbf{h}^{k-1}_i + W_s^k \mathbf{h}^{k-1}_j) \right)

    Weights, self-loops and arguments are as in :class:`~ifmixup.nn.GAT`.
    """

    conv = GATv2Conv
