"""DropNode: drop random nodes and their edges."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from ifmixup.augment.draws import check_fraction, draw_seed, hash_uniform
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs, keep_nodes


@METHODS.register("drop_node")
class DropNode(Method):
    """Drops each node and its edges with probability ``drop_ratio``; at least one stays.

    Args:
        num_classes: The number of classes; None where ``y`` is float rows already.
        drop_ratio: The expected fraction of nodes that are dropped.
        generator: Where randomness comes from; else torch's global generator.
    """

    keeps_undirected = True
    per_graph = True
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

    def draw(self, graphs: Graphs) -> Tensor:
        """Which nodes stay, ``[N]``."""
        node = torch.arange(graphs.num_nodes, device=graphs.node_ptr.device)
        draw = hash_uniform(draw_seed(self.generator), node)
        graph = graphs.node_graph
        best = scatter(draw, graph, dim_size=graphs.num_graphs, reduce="max")
        return (draw >= self.drop_ratio) | (draw == best[graph])

    def change(self, graphs: Graphs, plan: Tensor) -> Graphs:
        """The graphs with only the nodes that stay."""
        return keep_nodes(graphs, plan)
