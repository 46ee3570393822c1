"""Small graphs with something to learn: labels and values, some of them missing."""

import math

import torch
from torch_geometric.data import Data


def rings(count: int, seed: int = 0) -> list[Data]:
    """Rings of 4 to 8 nodes with two one-hot kinds of nodes and a number that is not 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(count):
        size = int(torch.randint(4, 9, (1,), generator=generator))
        share = torch.rand(1, generator=generator)
        kind = (torch.rand(size, generator=generator) < share).float()
        number = 40 + 5 * torch.randn(size, generator=generator)
        node = torch.arange(size)
        there = torch.stack([node, (node + 1) % size])
        graphs.append(
            Data(
                x=torch.stack([kind, 1 - kind, number], 1),
                edge_index=torch.cat([there, there.flip(0)], 1),
            )
        )
    return graphs


def with_values(count: int = 60, seed: int = 0) -> list[Data]:
    """y: 300 + 50 times the share of the first kind; the mean number, missing for every third."""
    graphs = rings(count, seed)
    for i, graph in enumerate(graphs):
        share, _, number = graph.x.mean(0).tolist()
        graph.y = torch.tensor([[300 + 50 * share, math.nan if i % 3 == 2 else number]])
    return graphs


def with_labels(count: int = 60, seed: int = 0) -> list[Data]:
    """y: is the share of the first kind large; and the mean number, missing for every third?"""
    graphs = rings(count, seed)
    for i, graph in enumerate(graphs):
        share, _, number = graph.x.mean(0).tolist()
        second = math.nan if i % 3 == 2 else float(number > 40)
        graph.y = torch.tensor([[float(share > 0.5), second]])
    return graphs
