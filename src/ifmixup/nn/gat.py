"""GAT with weighted edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import glorot

from ifmixup.nn.attention import NEGATIVE_SLOPE, AttentionConv, AttentionModel


class GATConv(AttentionConv):
    r"""Attention with the scores of `GAT <https://arxiv.org/abs/1710.10903>`_.

    .. math::
        s_{ij} = \mathrm{LeakyReLU}(
        \mathbf{a}_t^\top W \mathbf{h}_i + \mathbf{a}_s^\top W \mathbf{h}_j)

    Args:
        in_channels: The width of ``h``.
        out_channels: The width of the result, over all heads.
        heads: The number of heads.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int) -> None:
        super().__init__(out_channels, heads)
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels // heads))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels // heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        super().reset_parameters()
        self.lin.reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)

    def messages(self, h: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """What flows along each edge ``[E, H, F]`` and the score of each edge ``[E, H]``."""
        h = self.lin(h).unflatten(-1, (self.heads, -1))
        # a^T [W h_i || W h_j] is a sum of two numbers, each worked out once a node.
        at_source = (h * self.att_src).sum(dim=-1).index_select(0, source)
        at_target = (h * self.att_dst).sum(dim=-1).index_select(0, target)
        return h.index_select(0, source), F.leaky_relu(at_source + at_target, NEGATIVE_SLOPE)


class GAT(AttentionModel):
    r"""Graph attention that reads edge weights.

    .. math::
        \mathbf{h}^k_i = \sigma \left( \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \alpha_{ij} W^k \mathbf{h}^{k-1}_j \right), \quad
        \alpha_{ij} \propto e(i,j) \exp \left( \mathrm{LeakyReLU}(
        \mathbf{a}_t^\top W^k \mathbf{h}^{k-1}_i + \mathbf{a}_s^\top W^k \mathbf{h}^{k-1}_j)
        \right)

    With weight 1 this is the ordinary layer, and an edge of weight 0 is no edge.
    :math:`\mathcal{N}(i) \cup \{i\}` holds node :math:`i` once, with weight 1: a self-loop that
    the graph already has is replaced, whatever its weight.

    Args:
        in_channels: The width of the node features.
        hidden_channels: The width of every layer, over all heads.
        num_layers: The number of layers.
        out_channels: The number of classes.
        dropout: Dropout after the dense layer of the head.
        readout: ``"mean"``, ``"sum"`` or ``"max"``.
        norm: ``"batch"`` or ``"none"``.
        jk: ``"last"``, or ``"sum"`` for jumping knowledge.
        heads: The number of attention heads, which share out ``hidden_channels``.
    """

    conv = GATConv
