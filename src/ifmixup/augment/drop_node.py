"""DropNode: drop random nodes and their edges."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from ifmixup.augment.draws import draw_seed, hash_uniform
from ifmixup.augment.drop_edge import Drop
from ifmixup.components import METHODS
from ifmixup.graphs import Graphs, keep_nodes


@METHODS.register("drop_node")
class DropNode(Drop):
    """Drops each node and its edges with probability ``drop_ratio``; at least one stays.

    The node dropping of `GraphCL <https://arxiv.org/abs/2010.13902>`_.

    Args:
        num_classes: See :class:`Method`.
        drop_ratio: Expected fraction of nodes to drop.
        generator: See :class:`Method`.
    """

    title = "DropNode"
    keeps_undirected = True
    per_graph = True

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
