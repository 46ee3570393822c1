"""GCN with weighted edges and skip connections."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import zeros

from ifmixup.nn.aggregate import sum_at, weighted_sum, without_loops
from ifmixup.nn.model import GraphModel
from ifmixup.nn.neighbours import Neighbours


def gcn_weights(neighbours: Neighbours, edge_weight: Tensor) -> tuple[Tensor, Tensor]:
    r"""The symmetric normalisation of the edges and of the unit self-loops.

    .. math::
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}}, \quad \frac{1}{\hat{d}_i}
        \quad \text{with} \quad \hat{d}_i = 1 + \sum_{j \in \mathcal{N}(i)} e(i, j)

    Args:
        neighbours: The edges.
        edge_weight: ``[E]``; the weights of self-loops do not count.

    Returns:
        The weights of the edges ``[E]`` and of the nodes themselves ``[N, 1]``.
    """
    edge_weight = without_loops(neighbours, edge_weight)
    degree = 1 + sum_at(edge_weight, neighbours.target, neighbours.num_nodes)
    scale = degree.rsqrt()
    at_source = scale.index_select(0, neighbours.source)
    at_target = scale.index_select(0, neighbours.target)
    return at_source * edge_weight * at_target, degree.reciprocal().unsqueeze(-1)


class GCNConv(nn.Module):
    r"""The weighted graph convolution, before its non-linearity.

    .. math::
        W \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}} \mathbf{h}_j + \mathbf{b}

    Args:
        in_channels: The width of ``h``.
        out_channels: The width of the result.
        bias: Whether to add :math:`\mathbf{b}`; batch norm takes it away again.
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        self.lin.reset_parameters()
        zeros(self.bias)

    def forward(
        self, h: Tensor, neighbours: Neighbours, edge_weight: Tensor, self_weight: Tensor
    ) -> Tensor:
        """Convolve ``h`` ``[N, in_channels]`` with the weights of :func:`gcn_weights`."""
        # Both orders give the same; the sum over edges comes where the rows are narrower.
        if self.lin.in_channels <= self.lin.out_channels:
            h = weighted_sum(h, neighbours, edge_weight, self_weight)
            return F.linear(h, self.lin.weight, self.bias)
        h = weighted_sum(self.lin(h), neighbours, edge_weight, self_weight)
        return h if self.bias is None else h + self.bias


class GCN(GraphModel):
    r"""Graph convolutions with edge weights, and a skip connection around each.

    .. math::
        \mathbf{h}^{k}_i = \sigma \left( W^k \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}} \mathbf{h}^{k-1}_{j} \right) + \mathbf{h}^{k-1}_i,
        \quad \hat{d}_i = 1 + \sum_{j \in \mathcal{N}(i)} e(i, j)

    :math:`\mathcal{N}(i) \cup \{i\}` holds node :math:`i` once, with weight 1: a self-loop that
    the graph already has is replaced, whatever its weight. The degree counts incoming edges.

    Args:
        in_channels: The width of the node features.
        hidden_channels: The width of every layer.
        num_layers: The number of layers.
        out_channels: The number of classes.
        dropout: Dropout after the dense layer of the head.
        readout: ``"mean"``, ``"sum"`` or ``"max"``.
        norm: ``"batch"`` or ``"none"``.
        jk: ``"last"``, or ``"sum"`` for jumping knowledge.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        readout: str = "sum",
        norm: str = "batch",
        jk: str = "last",
    ) -> None:
        super().__init__(
            partial(GCNConv, bias=norm == "none"),
            in_channels,
            hidden_channels,
            num_layers,
            out_channels,
            dropout=dropout,
            readout=readout,
            norm=norm,
            jk=jk,
            skip=True,
        )

    def edges(
        self,
        x: Tensor,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple[Any, ...]:
        """The edges with the normalised weights of :func:`gcn_weights`."""
        if edge_weight is None:
            edge_weight = x.new_ones(neighbours.num_edges)
        return neighbours, *gcn_weights(neighbours, edge_weight)
