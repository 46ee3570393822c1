"""GCN with weighted edges and skip connections."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import zeros

from ifmixup.nn.aggregate import sum_at, weighted_sum, without_loops
from ifmixup.nn.model import GraphModel


def gcn_weights(edge_index: Tensor, edge_weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    r"""The symmetric normalisation of the edges and of the unit self-loops.

    .. math::
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}}, \quad \frac{1}{\hat{d}_i}
        \quad \text{with} \quad \hat{d}_i = 1 + \sum_{j \in \mathcal{N}(i)} e(i, j)

    Args:
        edge_index: ``[2, E]``
        edge_weight: ``[E]``; the weights of self-loops do not count.
        num_nodes: ``N``

    Returns:
        The weights of the edges ``[E]`` and of the nodes themselves ``[N]``.
    """
    source, target = edge_index
    edge_weight = without_loops(edge_index, edge_weight)
    degree = 1 + sum_at(edge_weight, target, num_nodes)
    scale = degree.rsqrt()
    return (
        scale.index_select(0, source) * edge_weight * scale.index_select(0, target),
        degree.reciprocal(),
    )


class GCNConv(nn.Module):
    r"""The weighted graph convolution, before its non-linearity.

    .. math::
        W \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{e(i,j)}{\sqrt{\hat{d}_j \hat{d}_i}} \mathbf{h}_j + \mathbf{b}

    Args:
        in_channels: The width of ``h``.
        out_channels: The width of the result.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        self.lin.reset_parameters()
        zeros(self.bias)

    def forward(
        self, h: Tensor, edge_index: Tensor, edge_weight: Tensor, self_weight: Tensor
    ) -> Tensor:
        """Convolve ``h`` ``[N, in_channels]`` with the weights of :func:`gcn_weights`."""
        # Both orders give the same; the edges are the costly part, so they see the narrower side.
        narrow_first = self.lin.in_channels < self.lin.out_channels
        h = h if narrow_first else self.lin(h)
        out = weighted_sum(h, edge_index, edge_weight) + self_weight.unsqueeze(-1) * h
        return (self.lin(out) if narrow_first else out) + self.bias


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
            GCNConv,
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
        edge_index: Tensor,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple[Tensor, ...]:
        """The edges with the normalised weights of :func:`gcn_weights`."""
        if edge_weight is None:
            edge_weight = x.new_ones(edge_index.size(1))
        return edge_index, *gcn_weights(edge_index, edge_weight, x.size(0))
