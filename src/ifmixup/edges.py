"""Edges: checked; as one number each, i · n + j for the edge (i, j) of n nodes, to sort and merge
them; and where the edges of each node begin.
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
    """Check that ``edge_index`` is integers ``[2, E]`` from 0 to ``num_nodes`` − 1.

    In a batch, an edge to a node that does not exist would reach into another graph. The message of
    the ``error`` begins with ``where``, what has these edges: ``"Graph 7"``.
    """
    if (
        not isinstance(edge_index, Tensor)
        or edge_index.dim() != 2
        or edge_index.size(0) != 2
        or edge_index.is_floating_point()
        or edge_index.is_complex()
        or edge_index.dtype == torch.bool
    ):
        raise error(
            f"{where}: edge_index must be integers of shape [2, E]; got {shape_of(edge_index)}."
        )
    if not edge_index.numel():
        return
    low, high = (int(end) for end in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        raise error(
            f"{where}: edge_index names nodes from {low} to {high}, but there are {num_nodes} "
            f"nodes, numbered from 0 to {num_nodes - 1}."
        )


def check_edge_weight(
    edge_weight: object,
    num_edges: int,
    *,
    where: str = "The graph",
    error: type[Exception] = InputError,
) -> None:
    """Check that ``edge_weight`` is one finite float per edge, 0 or more."""
    if (
        not isinstance(edge_weight, Tensor)
        or edge_weight.shape != (num_edges,)
        or not edge_weight.is_floating_point()
    ):
        raise error(
            f"{where}: edge_weight must be floats of shape [{num_edges}], one per edge; got "
            f"{shape_of(edge_weight)}."
        )
    wrong = ~(edge_weight.isfinite() & (edge_weight >= 0))
    if bool(wrong.any()):
        edge = int(wrong.nonzero()[0])
        raise error(
            f"{where}: edge_weight must be finite and not negative; edge {edge} has "
            f"{float(edge_weight[edge]):g}."
        )


def shape_of(value: object) -> str:
    """The type and shape of a tensor, for messages: ``float32 [5, 3]``."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


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

    PyG's ``index2ptr`` is the same, ``[size + 1]``, but not on every device.
    """
    return torch.searchsorted(index, torch.arange(size + 1, device=index.device, dtype=index.dtype))


def merge_pair(keys: Tensor, values: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Sort edges, of which each occurs at most twice, and merge them; their values are added.

    From ``keys`` ``[E]`` and ``values``, each ``[E, ...]``, to the different keys in order,
    ``[E']``, and their values, each ``[E', ...]``.
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
