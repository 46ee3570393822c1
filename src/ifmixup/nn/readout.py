"""READOUT: from the nodes' representations to one of each graph."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from ifmixup.errors import InputError

Readout = Callable[[Tensor, Tensor | None, int | None], Tensor]

READOUTS: dict[str, Readout] = {
    "mean": global_mean_pool,
    "sum": global_add_pool,
    "max": global_max_pool,
}


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
