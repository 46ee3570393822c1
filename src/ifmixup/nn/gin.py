"""GIN with weighted edges, and with edge attributes where asked for."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset, zeros

from ifmixup.nn.aggregate import sum_at, weighted_sum
from ifmixup.nn.model import GraphModel
from ifmixup.nn.neighbours import Neighbours
from ifmixup.nn.norm import make_norm


class GINConv(nn.Module):
    r"""The weighted isomorphism operator with a two-layer MLP.

    .. math::
        \text{MLP} \left( (1 + \epsilon) \cdot \mathbf{h}_i
        + \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j \right)

    With edge attributes :math:`\mathbf{a}_{ij}` the message is, as in
    `GINE <https://arxiv.org/abs/1905.12265>`_,
    :math:`e(i, j) \cdot \mathrm{ReLU}(\mathbf{h}_j + W_a \mathbf{a}_{ij} + \mathbf{b}_a)`.

    Args:
        in_channels: The width of ``h``.
        out_channels: The width of the result.
        norm: ``"batch"`` for batch norm inside the MLP, or ``"none"``.
        edge_dim: The width of the edge attributes, or ``None`` for none.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, norm: str, edge_dim: int | None = None
    ) -> None:
        super().__init__()
        bias = norm == "none"  # batch norm, here and after the MLP, takes a bias away again
        self.mlp = nn.Sequential(
            nn.Linear(in_channels, out_channels, bias=bias),
            make_norm(norm, out_channels),
            nn.ReLU(inplace=True),
            nn.Linear(out_channels, out_channels, bias=bias),
        )
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin_edge = None if edge_dim is None else nn.Linear(edge_dim, in_channels)

    def reset_parameters(self) -> None:
        """Draw the weights anew; ε starts at 0."""
        reset(self.mlp)
        zeros(self.eps)
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()

    def forward(
        self,
        h: Tensor,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Convolve ``h`` ``[N, in_channels]``; weights ``[E]``, attributes ``[E, edge_dim]``."""
        if self.lin_edge is None:
            return self.mlp(weighted_sum(h, neighbours, edge_weight, 1 + self.eps))
        messages = (h.index_select(0, neighbours.source) + self.lin_edge(edge_attr)).relu_()
        if edge_weight is not None:
            messages = messages * edge_weight.unsqueeze(-1)
        return self.mlp((1 + self.eps) * h + sum_at(messages, neighbours.target, h.size(0)))


class GIN(GraphModel):
    r"""Graph isomorphism layers with edge weights.

    .. math::
        \mathbf{h}^{k}_i = \text{MLP}^{k} \left( (1 + \epsilon^{k}) \cdot \mathbf{h}_i^{k-1}
        + \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j^{k-1} \right)

    A self-loop is an edge like any other, as it is for PyG.

    Args:
        in_channels: The width of the node features.
        hidden_channels: The width of every layer.
        num_layers: The number of layers.
        out_channels: The number of classes.
        dropout: Dropout after the dense layer of the head.
        readout: ``"mean"``, ``"sum"`` or ``"max"``.
        norm: ``"batch"`` (inside every MLP and after it) or ``"none"``.
        jk: ``"last"``, or ``"sum"`` for jumping knowledge.
        edge_dim: The width of ``edge_attr``, which the model then needs (GINE); ``None`` for none.
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
        edge_dim: int | None = None,
    ) -> None:
        super().__init__(
            partial(GINConv, norm=norm, edge_dim=edge_dim),
            in_channels,
            hidden_channels,
            num_layers,
            out_channels,
            dropout=dropout,
            readout=readout,
            norm=norm,
            jk=jk,
            edge_dim=edge_dim,
        )

    def edges(
        self,
        x: Tensor,
        neighbours: Neighbours,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple[Any, ...]:
        """The edges as they are."""
        return neighbours, edge_weight, edge_attr
