"""Models of a user's own with parameters or arguments that need care."""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric.nn import GraphConv, Linear, global_add_pool, global_mean_pool

from own_classes import Net


class LazyNet(Net):
    """Widths that the first graphs decide: of torch's and of PyG's layers."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 8) -> None:
        super().__init__(in_channels, out_channels, width)
        self.convs = nn.ModuleList([GraphConv(-1, width)])
        self.middle = Linear(-1, width)
        self.head = nn.LazyLinear(out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        x = self.convs[0](x, edge_index, edge_weight).relu()
        return self.head(self.middle(global_mean_pool(x, batch)))


class FrozenNet(Net):
    """Only the head is trained."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 8) -> None:
        super().__init__(in_channels, out_channels, width)
        self.convs.requires_grad_(False)


class MixedNet(Net):
    """A head in double precision."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 8) -> None:
        super().__init__(in_channels, out_channels, width)
        self.head.double()

    def forward(self, x, edge_index, edge_weight, batch):
        x = self.convs[0](x, edge_index, edge_weight).relu()
        return self.head(global_mean_pool(x, batch).double())


class EdgeNet(nn.Module):
    """Takes edge attributes and node weights by keyword, and remembers which it was given."""

    def __init__(
        self, in_channels: int, out_channels: int, edge_dim: int | None, width: int = 8
    ) -> None:
        super().__init__()
        self.given = set()
        self.bond = nn.Linear(edge_dim or 1, width)
        self.atom = nn.Linear(in_channels, width)
        self.head = nn.Linear(width, out_channels)

    def forward(self, x, edge_index, edge_weight, batch, *, edge_attr=None, node_weight=None):
        named = {"edge_attr": edge_attr, "node_weight": node_weight}
        self.given |= {name for name, value in named.items() if value is not None}
        if edge_attr is None:
            edge_attr = x.new_ones(edge_index.size(1), 1)
        message = self.bond(edge_attr) * self.atom(x)[edge_index[0]]
        if edge_weight is not None:
            message = message * edge_weight.unsqueeze(1)
        h = self.atom(x).index_add(0, edge_index[1], message).relu()
        if node_weight is not None:
            h = h * node_weight.unsqueeze(1)
        return self.head(global_add_pool(h, batch))


class TableNet(Net):
    """Cannot be built on the device meta: it reads a number off a tensor."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 8) -> None:
        super().__init__(in_channels, out_channels, width)
        self.scale = float(torch.linspace(0, 1, 3)[1].item())
        self.register_buffer("mask", torch.full((out_channels,), -torch.inf), persistent=False)
        self.shift = torch.ones(1)  # neither a parameter nor a buffer

    def forward(self, x, edge_index, edge_weight, batch):
        out = super().forward(x, edge_index, edge_weight, batch)
        return torch.maximum(out * self.scale + self.shift, self.mask)
