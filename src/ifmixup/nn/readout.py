"""READOUT: from the nodes' representations to one per graph, each node counted by its weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
import torch_geometric.nn as pyg
from torch import Tensor

from ifmixup.errors import InputError
from ifmixup.nn.aggregate import sum_at, widened

ReadoutName = Literal["mean", "sum", "max"]


def global_add_pool(
    x: Tensor,
    batch: Tensor | None,
    size: int | None = None,
    *,
    node_weight: Tensor | None = None,
    scaled: bool = False,
) -> Tensor:
    r"""The weighted sum over the nodes of each graph, :math:`\sum_i w_i \mathbf{h}_i`.

    Args:
        x: Node representations ``[N, F]``.
        batch: The graph each node belongs to ``[N]``, or None for a single graph.
        size: The number of graphs ``B``; read off ``batch`` if not given.
        node_weight: :math:`w` ``[N]``, each from 0 to 1; None: all 1, which is PyG's function.
        scaled: Whether the rows of ``x`` are :math:`w_i \mathbf{h}_i` already, as the features of
            mixed graphs are.

    Returns:
        ``[B, F]``
    """
    if node_weight is not None and not scaled:
        x = x * node_weight.to(x.dtype).unsqueeze(-1)
    if batch is None:
        return x.sum(dim=0, keepdim=True)
    return sum_at(x, batch, num_graphs(batch, size))


def global_mean_pool(
    x: Tensor,
    batch: Tensor | None,
    size: int | None = None,
    *,
    node_weight: Tensor | None = None,
    scaled: bool = False,
) -> Tensor:
    r"""The weighted mean of the nodes of each graph, :math:`\sum_i w_i \mathbf{h}_i / \sum_i w_i`.

    It is 0 where a graph has no nodes. The arguments are those of :func:`global_add_pool`.
    """
    size = num_graphs(batch, size)
    total = global_add_pool(x, batch, size, node_weight=node_weight, scaled=scaled)
    # Nodes are counted in integers: in bfloat16, 256 + 1 is 256.
    whole = torch.ones(len(x), dtype=torch.long, device=x.device)
    count = global_add_pool(whole if node_weight is None else widened(node_weight), batch, size)
    return (total / torch.where(count > 0, count, 1).unsqueeze(-1)).to(x.dtype)


def global_max_pool(
    x: Tensor,
    batch: Tensor | None,
    size: int | None = None,
    *,
    node_weight: Tensor | None = None,
    scaled: bool = False,
) -> Tensor:
    r"""The maximum over the nodes of each graph, averaged by node weight.

    .. math::
        \int_0^1 \max \{\mathbf{h}_i : w_i \ge t\} \, dt

    For a graph mixed of A and B it is :math:`\lambda` times the maximum over A's nodes and
    :math:`1 - \lambda` times that over B's. (The maximum of :math:`w_i \mathbf{h}_i` is not: it is
    wrong for negative :math:`\mathbf{h}`.) The arguments are those of :func:`global_add_pool`; rows
    that are ``scaled`` are taken as they are.
    """
    size = num_graphs(batch, size)
    if node_weight is None:
        return pyg.global_max_pool(x, batch, size)
    if batch is None:
        batch = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
    # Nodes by graph, and those of a graph by falling weight: {i : w_i ≥ t} are the first ones.
    order = node_weight.argsort(descending=True, stable=True)
    order = order.index_select(0, batch.index_select(0, order).argsort(stable=True))
    x, batch = x.index_select(0, order), batch.index_select(0, order)
    weight = node_weight.index_select(0, order).to(x.dtype).clamp(0, 1)
    # The maximum of a node and those before it in its graph: one pass over whole numbers in which
    # every node of a later graph is larger.
    best = (_ranks(x.detach()) + (batch * 2**32).unsqueeze(-1)).cummax(0).indices
    first_of_next = torch.cat([batch[1:] != batch[:-1], batch.new_ones(1, dtype=torch.bool)])
    after = torch.cat([weight[1:], weight.new_zeros(1)]).masked_fill(first_of_next[: len(x)], 0)
    step = (weight - after[: len(x)]).unsqueeze(-1)
    return sum_at(x.gather(0, best) * step, batch, size)


def _ranks(x: Tensor) -> Tensor:
    """Whole numbers from 0 to below 2³² ``[N, F]`` in the same order as ``x``, column by column."""
    if x.dtype == torch.float64:
        return x.argsort(0).argsort(0)
    bits = x.float().contiguous().view(torch.int32)
    # Floats are stored as sign and magnitude: turn the negative ones around.
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long() + 2**31


READOUTS: dict[str, Callable[..., Tensor]] = {
    "mean": global_mean_pool,
    "sum": global_add_pool,
    "max": global_max_pool,
}


def num_graphs(batch: Tensor | None, batch_size: int | None) -> int:
    """``batch_size``; where it is not given, it is read off ``batch`` ``[N]`` (a device sync)."""
    if batch is None:
        if batch_size not in (None, 1):
            raise InputError(
                f"batch_size={batch_size} but no batch vector, which means a single graph. "
                "Give batch, the graph each node belongs to."
            )
        return 1
    if batch_size is not None:
        return batch_size
    return int(batch.max()) + 1 if batch.numel() > 0 else 0
