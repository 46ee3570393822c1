"""Personalised PageRank: of one root in each graph of a batch, and of all roots of small graphs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ifmixup.edges import edge_keys, edges_of_keys
from ifmixup.graphs import Graphs

_STEPS = 31  # PageRank is compared in units of 2⁻³¹: nodes that are alike stay in their order


def dense_pagerank(adjacency: Tensor, teleport: float) -> Tensor:
    r"""Personalised PageRank of all roots of small graphs, by a direct solve.

    .. math::
        \mathbf{P} = \alpha \left( \mathbf{I} - (1 - \alpha) \mathbf{\hat{A}} \right)^{-1}, \quad
        \mathbf{\hat{A}} = \mathbf{D}^{-1/2} (\mathbf{A} + \mathbf{I}) \mathbf{D}^{-1/2}

    Args:
        adjacency: Symmetric matrices of 0 and 1, ``[B, n, n]``; padding is isolated nodes.
        teleport: α in (0, 1].

    Returns:
        ``[B, n, n]``: row i is the PageRank of the nodes with root i.
    """
    one = torch.eye(adjacency.size(-1), dtype=adjacency.dtype, device=adjacency.device)
    looped = torch.maximum(adjacency, one)
    scale = looped.sum(-1, keepdim=True).rsqrt()
    normalised = scale * looped * scale.mT
    return teleport * torch.linalg.inv(one - (1 - teleport) * normalised)


def pagerank(graphs: Graphs, root: Tensor, teleport: float) -> Tensor:
    """Personalised PageRank of one root per graph, as :func:`dense_pagerank` defines it.

    Chebyshev iteration: its error shrinks by β / (1 + √(1 − β²)) per step, β = 1 − α, where that of
    power iteration shrinks by β (0.56 and 0.85 at α = 0.15).

    Args:
        graphs: The graphs; directed edges count in both directions.
        root: The root of each graph, several columns of them: ``[B, r]``.
        teleport: α in (0, 1].

    Returns:
        ``[N, r]``, in double precision where the device has it.
    """
    num_nodes, device = graphs.num_nodes, root.device
    dtype = torch.float32 if device.type == "mps" else torch.float64
    source, target = both_directions(graphs)
    degree = torch.ones(num_nodes, dtype=dtype, device=device)
    degree.index_add_(0, target, degree.new_ones(()).expand(target.numel()))
    beta = 1 - teleport
    scale = degree.rsqrt()
    weight = (beta * scale[source] * scale[target]).unsqueeze(1)
    own = (beta / degree).unsqueeze(1)

    start = torch.zeros(num_nodes, root.size(1), dtype=dtype, device=device)
    start.scatter_(0, root, teleport)
    rate = beta / (1 + math.sqrt(1 - beta**2))
    steps = 1 if beta == 0 else math.ceil((_STEPS + 3) * math.log(2) / -math.log(rate))
    before, now, omega = start, start, 2.0
    for step in range(steps):
        omega = 1.0 if step == 0 else 1 / (1 - omega * beta**2 / (2 if step == 1 else 4))
        spread = (own * now).index_add_(0, target, weight * now[source]).add_(start)
        before, now = now, before + omega * (spread - before)
    return now


def components(graphs: Graphs) -> Tensor:
    """The connected component of each node: the number of its first node, ``[N]``."""
    source, target = graphs.edge_index
    label = torch.arange(graphs.num_nodes, device=source.device)
    while True:
        # Each node takes the smallest label around it, and then the label of that node.
        least = label.scatter_reduce(0, target, label[source], "amin")
        least.scatter_reduce_(0, source, label[target], "amin")
        least = least[least]
        if torch.equal(least, label):
            return label
        label = least


def pagerank_key(score: Tensor, reached: Tensor) -> Tensor:
    """Integers from 0 to 2³² − 1 that sort nodes by PageRank, the highest first.

    Args:
        score: PageRank, ``[...]``.
        reached: Whether a node is in the component of the root, ``[...]``; others come last.
    """
    scaled = (score.clamp(0, 1) * 2**_STEPS).round().long()
    return torch.where(reached, 2**_STEPS - scaled, 2**32 - 1)


def both_directions(graphs: Graphs) -> Tensor:
    """Each edge once in both directions, without self-loops, ``[2, E']``."""
    edge_index = graphs.edge_index
    keys = edge_keys(graphs.num_nodes, edge_index, edge_index.flip(0)).unique()
    found = edges_of_keys(keys, graphs.num_nodes)
    return found[:, found[0] != found[1]]
