"""GCN with weighted edges and skip connections."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import zeros

from ifmixup.components import MODELS
from ifmixup.nn.aggregate import Neighbours, sum_at, weighted_sum, without_loops
from ifmixup.nn.graph_model import GraphModel, PreparedEdges, WeightedConv


class GCNConv(WeightedConv):
    r"""The weighted graph convolution of `GCN <https://arxiv.org/abs/1609.02907>`_, as PyG's.

    .. math::
        W \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}} \mathbf{h}_j + \mathbf{b},
        \quad \hat{d}_i = 1 + \sum_{j \in \mathcal{N}(i)} e(i, j)

    Parameters and results are those of :class:`torch_geometric.nn.GCNConv`, except that a self-loop
    of the graph has weight 1, whatever weight is given. The degree counts incoming edges.

    Args:
        in_channels: The width of ``x``, or -1 to read it off the first input.
        out_channels: The width of the result.
        bias: Whether to add :math:`\mathbf{b}`, which has no effect before batch norm.

    Example:
        >>> conv = GCNConv(3, 8)
        >>> conv(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 0.5])).shape
        torch.Size([2, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all learnable parameters."""
        self.lin.reset_parameters()
        zeros(self.bias)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Neighbours | PreparedEdges,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``x`` ``[N, in_channels]`` to ``[N, out_channels]``; see :meth:`prepare`."""
        edges = self.prepare(x, edge_index, edge_weight)
        # Both orders give the same; the sum over edges comes where the rows are narrower.
        if 0 < self.lin.in_channels <= self.lin.out_channels:
            return F.linear(weighted_sum(x, *edges), self.lin.weight, self.bias)
        x = weighted_sum(self.lin(x), *edges)
        return x if self.bias is None else x + self.bias

    def _prepare(self, neighbours: Neighbours, edge_weight: Any, edge_attr: Any) -> PreparedEdges:
        """Edges and unit self-loops, normalised symmetrically: ``[E]`` and ``[N, 1]``."""
        edge_weight = without_loops(neighbours, edge_weight)
        degree = 1 + sum_at(edge_weight, neighbours.target, neighbours.num_nodes)
        scale = degree.rsqrt()
        at_source = scale.index_select(0, neighbours.source)
        at_target = scale.index_select(0, neighbours.target)
        loops = degree.reciprocal().unsqueeze(-1)
        return PreparedEdges(neighbours, at_source * edge_weight * at_target, loops)


@MODELS.register("gcn", hidden_channels=64, num_layers=5, dropout=0.5)
class GCN(GraphModel):
    r"""Graph convolutions (:class:`GCNConv`) with edge weights, and a skip connection around each.

    .. math::
        \mathbf{h}^{k} = \sigma(\mathrm{conv}(\mathbf{h}^{k-1})) + \mathbf{h}^{k-1}

    The arguments are those of :class:`GraphModel`.
    """

    title = "GCN"
    skip = True

    def init_conv(self, in_channels: int, out_channels: int) -> GCNConv:
        """With a bias only where no batch norm takes it away again."""
        return GCNConv(in_channels, out_channels, bias=self.norm == "none")
