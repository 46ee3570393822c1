"""Paths of a few nodes that carry everything a graph can carry."""

import torch
from torch_geometric.data import Batch, Data


def path(n: int) -> Data:
    """0 → 1 → … → n − 1."""
    return Data(
        x=torch.arange(float(n)).view(n, 1),
        edge_index=torch.stack([torch.arange(n - 1), torch.arange(1, n)]),
        edge_attr=torch.arange(10.0, 10 + n - 1),
        y=torch.tensor([n]),
        name=f"path {n}",
    )


def batch_of(*sizes: int) -> Batch:
    return Batch.from_data_list([path(n) for n in sizes])


def same(one: Data, other: Data) -> bool:
    assert set(one.keys()) == set(other.keys())
    return all(
        torch.equal(one[key], other[key])
        if isinstance(one[key], torch.Tensor)
        else one[key] == other[key]
        for key in one.keys()  # noqa: SIM118 - Data is no dict
    )
