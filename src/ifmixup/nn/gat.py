"""GAT and GATv2: attention that reads edge weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import glorot, reset, zeros

from ifmixup.components import MODELS
from ifmixup.errors import InputError
from ifmixup.nn.aggregate import Neighbours, sum_at, without_loops
from ifmixup.nn.graph_model import GraphModel, Jump, NormName, PreparedEdges, WeightedConv
from ifmixup.nn.readout import ReadoutName


def weighted_softmax(score: Tensor, edge_weight: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    r"""A softmax over the edges of each target node that counts every edge by its weight.

    .. math::
        \alpha_{ij} = \frac{e(i,j) \exp(s_{ij})}{\sum_k e(i,k) \exp(s_{ik})}

    Scores are ``[E, H]``, and so is the result; each target needs an edge of weight above 0.
    """
    weight = edge_weight.unsqueeze(-1)
    # The largest score of the edges that count. Among the others may be a larger one, which would
    # make all that count underflow.
    counting = score.detach().masked_fill(weight == 0, -math.inf)
    top = score.new_full((num_nodes, score.size(1)), -math.inf)
    top = top.scatter_reduce(0, target.unsqueeze(-1).expand_as(score), counting, "amax")
    # Only an edge of weight 0 can lie above its top. The bound keeps exp finite there, because of
    # which 0 · exp is 0; below it, the gradient towards the zero weight is exact.
    bound = math.log(torch.finfo(score.dtype).max) / 2
    share = weight * (score - top.index_select(0, target)).clamp(max=bound).exp()
    return share / sum_at(share, target, num_nodes).index_select(0, target)


class _AttentionConv(WeightedConv, ABC):
    """What :class:`GATConv` and :class:`GATv2Conv` share: all but the scores."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.concat, self.negative_slope, self.dropout = concat, negative_slope, dropout
        width = heads * out_channels if concat else out_channels
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self._make(in_channels, heads * out_channels, bias)
        self.reset_parameters()

    @abstractmethod
    def _make(self, in_channels: int, width: int, bias: bool) -> None:
        """Make the parameters other than the bias of the result."""

    @abstractmethod
    def _messages(self, x: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """What flows along each edge ``[E, H, F]`` and the score of each edge ``[E, H]``."""

    def reset_parameters(self) -> None:
        """Reset all learnable parameters."""
        zeros(self.bias)
        for child in self.children():
            reset(child)
        for name, parameter in self.named_parameters(recurse=False):
            if name != "bias":
                glorot(parameter)

    def __repr__(self) -> str:
        sizes = f"{self.in_channels}, {self.out_channels}, heads={self.heads}"
        return f"{type(self).__name__}({sizes})"

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours | PreparedEdges,
        *,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``x`` ``[N, in_channels]``; see :meth:`prepare`.

        Weights are given by keyword only, because PyG's third argument is ``edge_attr`` here.

        Returns:
            ``[N, heads * out_channels]``, or ``[N, out_channels]`` with ``concat=False``.
        """
        (source, target), weight, _ = self.prepare(x, edge_index, edge_weight)
        messages, score = self._messages(x, source, target)
        alpha = weighted_softmax(score, weight, target, x.size(0)).to(messages.dtype)
        if self.dropout > 0:
            alpha = F.dropout(alpha, self.dropout, self.training)
        out = sum_at(alpha.unsqueeze(-1) * messages, target, x.size(0))
        out = out.flatten(start_dim=1) if self.concat else out.mean(dim=1)
        return out if self.bias is None else out + self.bias

    def _prepare(self, neighbours: Neighbours, edge_weight: Any, edge_attr: Any) -> PreparedEdges:
        """The edges and one self-loop of weight 1 for every node, each ``[E + N]``."""
        nodes = torch.arange(neighbours.num_nodes, device=neighbours.ptr.device)
        ends = [torch.cat([end, nodes]) for end in (neighbours.source, neighbours.target)]
        # Loops of the graph's own get weight 0.
        weights = [without_loops(neighbours, edge_weight), edge_weight.new_ones(len(nodes))]
        return PreparedEdges(ends, torch.cat(weights))


class GATConv(_AttentionConv):
    r"""The attention layer of `GAT <https://arxiv.org/abs/1710.10903>`_ with edge weights.

    .. math::
        \sum_{j \in \mathcal{N}(i) \cup \{i\}} \alpha_{ij} W \mathbf{h}_j + \mathbf{b}, \quad
        \alpha_{ij} \propto e(i,j) \exp \left( \mathrm{LeakyReLU}(
        \mathbf{a}_t^\top W \mathbf{h}_i + \mathbf{a}_s^\top W \mathbf{h}_j) \right)

    With weights of 1 it is :class:`torch_geometric.nn.GATConv`, with the same parameters. The
    self-loop has weight 1: one that the graph already has is replaced, whatever its weight.

    A ``torch_geometric.nn.Sequential`` passes arguments by position only; there, write
    ``(conv.prepare, "x, edge_index, edge_weight -> edges"), (conv, "x, edges -> x")``.

    Args:
        in_channels: The width of ``x``, or -1 to read it off the first input.
        out_channels: The width of each head.
        heads: The number of heads.
        concat: Whether to concatenate the heads; otherwise they are averaged.
        negative_slope: The slope of the LeakyReLU.
        dropout: Dropout of the attention coefficients.
        bias: Whether to add :math:`\mathbf{b}`.
    """

    def _make(self, in_channels: int, width: int, bias: bool) -> None:
        self.lin = Linear(in_channels, width, bias=False, weight_initializer="glorot")
        self.att_src = nn.Parameter(torch.empty(1, self.heads, self.out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, self.heads, self.out_channels))

    def _messages(self, x: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        h = self.lin(x).unflatten(-1, (self.heads, -1))
        # a^T [W h_i || W h_j] is a sum of two numbers, each worked out once per node.
        at_source = (h * self.att_src).sum(dim=-1).index_select(0, source)
        at_target = (h * self.att_dst).sum(dim=-1).index_select(0, target)
        return h.index_select(0, source), F.leaky_relu(at_source + at_target, self.negative_slope)


class GATv2Conv(_AttentionConv):
    r"""The attention layer of `GATv2 <https://arxiv.org/abs/2105.14491>`_ with edge weights.

    .. math::
        \sum_{j \in \mathcal{N}(i) \cup \{i\}} \alpha_{ij} W_s \mathbf{h}_j + \mathbf{b}, \quad
        \alpha_{ij} \propto e(i,j) \exp \left(
        \mathbf{a}^\top \mathrm{LeakyReLU}(W_t \mathbf{h}_i + W_s \mathbf{h}_j) \right)

    Both maps have a bias. With weights of 1 it is :class:`torch_geometric.nn.GATv2Conv`, with the
    same parameters. Arguments and self-loops are those of :class:`GATConv`.
    """

    def _make(self, in_channels: int, width: int, bias: bool) -> None:
        self.lin_l = Linear(in_channels, width, bias=bias, weight_initializer="glorot")
        self.lin_r = Linear(in_channels, width, bias=bias, weight_initializer="glorot")
        self.att = nn.Parameter(torch.empty(1, self.heads, self.out_channels))

    def _messages(self, x: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        at_source = self.lin_l(x).unflatten(-1, (self.heads, -1)).index_select(0, source)
        at_target = self.lin_r(x).unflatten(-1, (self.heads, -1)).index_select(0, target)
        both = F.leaky_relu(at_source + at_target, self.negative_slope)
        return at_source, (both * self.att).sum(dim=-1)


class _AttentionModel(GraphModel):
    """A model of attention layers.

    Args:
        heads: Number of attention heads. Together they have ``hidden_channels`` channels.
    """

    conv: ClassVar[type[_AttentionConv]]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        readout: ReadoutName = "sum",
        norm: NormName = "batch",
        jk: Jump = "last",
        heads: int = 1,
    ) -> None:
        if heads < 1 or hidden_channels % heads != 0:
            raise InputError(
                f"hidden_channels={hidden_channels} is not divisible by heads={heads}. Choose "
                f"heads that divide hidden_channels."
            )
        self.heads = heads  # of the layers, which the base makes
        sizes = in_channels, hidden_channels, num_layers, out_channels
        super().__init__(*sizes, dropout=dropout, readout=readout, norm=norm, jk=jk)

    def init_conv(self, in_channels: int, out_channels: int) -> _AttentionConv:
        """Heads that share out the width."""
        return self.conv(in_channels, out_channels // self.heads, self.heads)


@MODELS.register("gat", hidden_channels=64, num_layers=5, dropout=0.5)
class GAT(_AttentionModel):
    """Graph attention with edge weights: layers of :class:`GATConv`.

    With weights of 1 these are the ordinary layers; an edge of weight 0 counts as absent. The
    arguments are those of :class:`GraphModel` and ``heads``.

    Args:
        heads: Number of attention heads. Together they have ``hidden_channels`` channels.
    """

    title = "GAT"
    conv = GATConv


@MODELS.register("gatv2", hidden_channels=64, num_layers=5, dropout=0.5)
class GATv2(_AttentionModel):
    """Graph attention whose ranking of the neighbours depends on the node, with edge weights.

    It has layers of :class:`GATv2Conv`. Arguments are as in :class:`~ifmixup.nn.GAT`.
    """

    title = "GATv2"
    conv = GATv2Conv
