"""DropEdge: leave random edges out."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch

from ifmixup.augment.drawing import check_fraction, draw_seed, hash_uniform
from ifmixup.augment.method import Method
from ifmixup.augment.registry import register
from ifmixup.batches import put_together, take_apart
from ifmixup.graphs import keep_edges


@register("drop_edge")
class DropEdge(Method):
    """Each edge falls with probability ``drop_ratio``; i → j and j → i fall together.

    From `DropEdge <https://arxiv.org/abs/1907.10903>`_.

    Args:
        num_classes: The number of classes; None where ``y`` is float rows already.
        drop_ratio: The expected fraction of edges that fall.
        generator: Where randomness comes from; else torch's global generator.
    """

    def __init__(
        self,
        num_classes: int | None = None,
        drop_ratio: float = 0.2,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.drop_ratio = check_fraction("drop_ratio", drop_ratio)

    def plan(self, batch: Batch) -> Tensor:
        """Which edges stay, ``[E]``, in the order of their graphs."""
        graphs = take_apart(batch)
        ends, _ = graphs.edge_index.sort(0)  # the same for both directions
        key = ends[0] * graphs.num_nodes + ends[1]
        return hash_uniform(draw_seed(self.generator), key) >= self.drop_ratio

    def augment(self, batch: Batch, plan: Tensor) -> Batch:
        """The graphs with only the edges that stay."""
        return put_together(keep_edges(take_apart(batch), plan))
