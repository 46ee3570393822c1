"""Packed datasets of single nodes, with what a table says of them."""

from dataclasses import replace

import torch
from torch_geometric.data import Data

from ifmixup.data.dataset import Rows
from ifmixup.training.packed import PackedDataset, pack


def dataset(*counts: int) -> PackedDataset:
    """So many graphs of each class, told apart by their feature."""
    classes = [number for number, count in enumerate(counts) for _ in range(count)]
    graphs = [
        Data(
            x=torch.tensor([[float(i)]]),
            edge_index=torch.zeros(2, 0, dtype=torch.long),
            y=torch.tensor([number]),
        )
        for i, number in enumerate(classes)
    ]
    return pack(graphs, "tiny")


def with_rows(data: PackedDataset, **known) -> PackedDataset:
    """The same with SMILES or columns; ``index`` is by default that of the graphs."""
    return replace(data, rows=Rows(**{"index": range(len(data)), **known}))
