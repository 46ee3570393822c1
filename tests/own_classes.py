"""A model and a method of a user's own, as a PyG user would write them."""

from dataclasses import replace

import torch
from torch import nn
from torch_geometric.nn import GraphConv, global_mean_pool

from ifmixup.augment import Method


class Net(nn.Module):
    def __init__(self, in_channels, out_channels, width: int = 8, depth: int = 1):
        super().__init__()
        widths = [in_channels, *[width] * depth]
        self.convs = nn.ModuleList(map(GraphConv, widths[:-1], widths[1:]))
        self.head = nn.Linear(width, out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        for conv in self.convs:
            x = conv(x, edge_index, edge_weight).relu()
        return self.head(global_mean_pool(x, batch))


class Noise(Method):
    def __init__(self, num_classes=None, *, std: float = 0.1, generator=None):
        super().__init__(num_classes, generator=generator)
        self.std = std

    def draw(self, graphs):
        x = graphs.nodes["x"]
        return torch.randn(x.shape, generator=self.generator).to(x)

    def change(self, graphs, plan):
        x = graphs.nodes["x"] + self.std * plan
        return replace(graphs, nodes={**graphs.nodes, "x": x})
