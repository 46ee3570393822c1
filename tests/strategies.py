"""Graphs nobody thought of: no edges, self-loops, repeated edges, isolated nodes, directed."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

WIDTH = 3
CLASSES = 4


@st.composite
def graphs(
    draw: st.DrawFn, max_nodes: int = 6, weighted: bool = False, edge_attr: bool = False
) -> Data:
    """A graph with one-hot features; directed unless chance makes it otherwise."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=12))
    if draw(st.booleans()):  # undirected
        pairs = pairs + [(j, i) for i, j in pairs]
    features = draw(st.lists(st.integers(0, WIDTH - 1), min_size=n, max_size=n))
    data = Data(
        x=torch.eye(WIDTH)[features],
        edge_index=torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous(),
        y=torch.tensor([draw(st.integers(0, CLASSES - 1))]),
    )
    number = st.floats(0.0625, 2, width=16)
    if weighted:
        weights = draw(st.lists(number, min_size=len(pairs), max_size=len(pairs)))
        data.edge_weight = torch.tensor(weights, dtype=torch.float)
    if edge_attr:
        rows = st.lists(st.tuples(number, number), min_size=len(pairs), max_size=len(pairs))
        data.edge_attr = torch.tensor(draw(rows), dtype=torch.float).reshape(-1, 2)
    return data


# λ as float32 holds it: exact in all that follows.
ratios = st.floats(0, 1, width=32)
inner_ratios = st.floats(2**-10, 1 - 2**-10, width=32)


def dense_edges(graph: Data, n: int) -> Tensor:
    """The matrix e ``[n, n]``: binary, or the sum of the weights of an edge."""
    e = torch.zeros(n, n)
    if graph.edge_weight is None:
        e[graph.edge_index[0], graph.edge_index[1]] = 1
    else:
        e.index_put_(tuple(graph.edge_index), graph.edge_weight, accumulate=True)
    return e


def padded(x: Tensor, n: int) -> Tensor:
    """Zero rows for dummy nodes."""
    return torch.cat([x, x.new_zeros(n - len(x), x.size(1))])
