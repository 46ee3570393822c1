"""Small graphs of two classes."""

import numpy as np
import torch
from torch_geometric.data import Data

SMALL = {
    "epochs": 3,
    "model__hidden_channels": 8,
    "model__num_layers": 1,
    "random_state": 0,
}


def ring(nodes: int, chord: bool = False) -> Data:
    """A ring; with a chord it is of the other class."""
    here = torch.arange(nodes)
    there = (here + 1) % nodes
    edges = torch.cat([torch.stack([here, there]), torch.stack([there, here])], 1)
    if chord:
        edges = torch.cat([edges, torch.tensor([[0, 2], [2, 0]])], 1)
    degree = torch.bincount(edges[0], minlength=nodes)
    return Data(x=degree.view(-1, 1), edge_index=edges, y=torch.tensor([int(chord)]))


GRAPHS = [ring(4 + n % 5, bool(n % 2)) for n in range(40)]
NAMES = np.array(["ring", "chord"])[[int(graph.y) for graph in GRAPHS]]
