"""DropEdge: drop random edges."""

from __future__ import annotations

import torch
from torch import Tensor

from ifmixup.augment.draws import check_fraction, draw_seed, hash_uniform
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs, keep_edges


class Drop(Method):
    """What ``drop_edge`` and ``drop_node`` share: the option ``drop_ratio``."""

    shown = ("drop_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        drop_ratio: float = 0.2,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.drop_ratio = check_fraction("drop_ratio", drop_ratio)


@METHODS.register("drop_edge")
class DropEdge(Drop):
    """Drops each edge with probability ``drop_ratio``; i → j and j → i together.

    From `DropEdge <https://arxiv.org/abs/1907.10903>`_.

    Args:
        num_classes: See :class:`Method`.
        drop_ratio: Expected fraction of edges to drop.
        generator: See :class:`Method`.
    """

    title = "DropEdge"
    keeps_undirected = True
    per_graph = True

    def draw(self, graphs: Graphs) -> Tensor:
        """Which edges stay, ``[E]``, in the order of their graphs."""
        source, target = graphs.edge_index
        # the same for both directions
        key = torch.minimum(source, target) * graphs.num_nodes + torch.maximum(source, target)
        return hash_uniform(draw_seed(self.generator), key) >= self.drop_ratio

    def change(self, graphs: Graphs, plan: Tensor) -> Graphs:
        """The graphs with only the edges that stay."""
        return keep_edges(graphs, plan)
