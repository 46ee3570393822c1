"""READOUT: from the nodes' representations to one of each graph."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.nn import global_max_pool

from ifmixup.errors import InputError
from ifmixup.nn.aggregate import sum_at

Readout = Callable[[Tensor, Tensor | None, int], Tensor]


def sum_nodes(h: Tensor, batch: Tensor | None, size: int) -> Tensor:
    """The sum of the nodes of each graph: ``[N, F]`` to ``[size, F]``."""
    return h.sum(dim=0, keepdim=True) if batch is None else sum_at(h, batch, size)


def mean_nodes(h: Tensor, batch: Tensor | None, size: int) -> Tensor:
    """The mean of the nodes of each graph: ``[N, F]`` to ``[size, F]``; 0 where there are none."""
    if batch is None:
        return h.mean(dim=0, keepdim=True)
    # Counted in integers: in bfloat16, 256 + 1 is 256.
    count = sum_at(torch.ones_like(batch), batch, size).clamp(min=1)
    return sum_at(h, batch, size) / count.unsqueeze(-1)


READOUTS: dict[str, Readout] = {"mean": mean_nodes, "sum": sum_nodes, "max": global_max_pool}


def num_graphs(batch: Tensor | None, batch_size: int | None) -> int:
    """How many graphs there are, read off ``batch`` (a device sync) only if it is not given.

    Args:
        batch: The graph each node belongs to ``[N]``, or ``None`` for a single graph.
        batch_size: The number of graphs, where it is known.
    """
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
