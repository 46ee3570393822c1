"""Edges as numbers: an edge (i, j) of n nodes is i · n + j, for sorting and merging; and the one
check that edges join nodes that exist.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ifmixup.errors import InputError


def check_edge_index(
    edge_index: object,
    num_nodes: int,
    *,
    where: str = "The graph",
    error: type[Exception] = InputError,
) -> None:
    """Check that edges are integers ``[2, E]`` and join nodes from 0 to ``num_nodes`` − 1.

    Args:
        edge_index: The edges; any object, because it may come from an untrusted file.
        num_nodes: The number of nodes.
        where: Which graph it is, for the message: ``"Graph 3"``, ``"line 7 of edges.csv"``.
        error: The error to raise.
    """
    if not isinstance(edge_index, Tensor):
        given = type(edge_index).__name__
        raise error(f"{where}: edge_index must be a tensor of shape [2, E]; got {given}.")
    kind = edge_index.dtype
    whole = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or not whole:
        raise error(
            f"{where}: edge_index must be integers of shape [2, E]; got "
            f"{str(kind).removeprefix('torch.')} of shape {list(edge_index.shape)}."
        )
    if not edge_index.numel():
        return
    low, high = (int(end) for end in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        raise error(
            f"{where}: edge_index names nodes from {low} to {high}, but there are {num_nodes} "
            f"nodes, numbered from 0 to {num_nodes - 1}."
        )


def edge_keys(num_nodes: int, *edge_indices: Tensor) -> Tensor:
    """The numbers of the edges of some ``edge_index`` ``[2, E]``, end to end."""
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
    """Sort edges and merge those that occur twice; their values are added.

    Args:
        keys: The numbers of the edges, ``[E]``; each at most twice.
        values: The attributes of the edges, each ``[E, ...]``.

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
