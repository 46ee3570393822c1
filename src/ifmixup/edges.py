"""An edge (i, j) of a graph with n nodes as one number, i · n + j, for sorting and merging; and
where the edges of each node begin.
"""

from __future__ import annotations

import torch
from torch import Tensor


def edge_keys(num_nodes: int, *edge_indices: Tensor) -> Tensor:
    """The numbers of the edges of some ``edge_index`` ``[2, E]``, laid end to end."""
    # Written in place: for graphs of millions of edges new memory costs more than arithmetic.
    keys = edge_indices[0].new_empty(sum(edge_index.size(1) for edge_index in edge_indices))
    start = 0
    for source, target in edge_indices:
        end = start + source.numel()
        torch.mul(source, num_nodes, out=keys[start:end]).add_(target)
        start = end
    return keys


def edges_of_keys(keys: Tensor, num_nodes: int) -> Tensor:
    """The ``edge_index`` ``[2, E]`` of the edges with these numbers ``[E]``."""
    edge_index = keys.new_empty(2, keys.numel())
    torch.div(keys, num_nodes, rounding_mode="trunc", out=edge_index[0])
    torch.remainder(keys, num_nodes, out=edge_index[1])
    return edge_index


def starts_of(index: Tensor, size: int) -> Tensor:
    """Where each of the numbers 0, …, size − 1 begins in a sorted ``index``, and the end.

    PyG's ``index2ptr`` is the same, but not on every device.

    Returns:
        ``[size + 1]``
    """
    return torch.searchsorted(index, torch.arange(size + 1, device=index.device, dtype=index.dtype))


def merge_pair(keys: Tensor, values: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Sort edges that stand at most twice, so that each stands once; its values are added.

    Args:
        keys: The numbers of the edges, ``[E]``; each at most twice.
        values: What the edges carry, each ``[E, ...]``.

    Returns:
        The different keys in order, ``[E']``, and the values, each ``[E', ...]``.
    """
    keys, order = keys.sort(stable=True)
    values = [value.index_select(0, order) for value in values]
    again = keys[1:] == keys[:-1]
    second = again.nonzero().view(-1) + 1
    if not second.numel():
        return keys, values
    first = torch.cat([again.new_ones(1), ~again]).nonzero().view(-1)
    merged = [
        value.index_add_(0, second - 1, value.index_select(0, second)).index_select(0, first)
        for value in values
    ]
    return keys.index_select(0, first), merged
