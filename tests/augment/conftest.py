"""A batch of small graphs that differ in everything."""

import pytest
import torch
from torch_geometric.data import Batch, Data


def ring(n: int, label: int) -> Data:
    """An undirected ring; node i has feature i mod 3."""
    node = torch.arange(n)
    following = (node + 1) % n
    edges = torch.cat([torch.stack([node, following]), torch.stack([following, node])], 1)
    return Data(x=torch.eye(3)[node % 3], edge_index=edges, y=torch.tensor([label]))


@pytest.fixture
def batch() -> Batch:
    graphs = [ring(n, n % 2) for n in (3, 5, 4, 5, 7, 3, 5)]
    graphs.append(
        Data(x=torch.eye(3)[[2]], edge_index=torch.zeros(2, 0).long(), y=torch.tensor([1]))
    )
    return Batch.from_data_list(graphs)
