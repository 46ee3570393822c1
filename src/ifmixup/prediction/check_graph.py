"""The edges of one graph, checked before it goes into a batch with others."""

from __future__ import annotations

from torch_geometric.data import Data

from ifmixup.edges import check_edge_index, check_edge_weight, shape_of
from ifmixup.errors import InputError

__all__ = ["check_edges", "shape_of"]


def check_edges(index: int, graph: Data) -> None:
    """Check that a graph has nodes, and that its edges join them.

    Args:
        index: The number of the graph, for messages.
        graph: A graph with features ``x``.
    """
    where, nodes, edges = f"Graph {index}", graph.x.size(0), graph.get("edge_index")
    if not nodes:
        raise InputError(f"{where} has no nodes; at least one is needed.")
    if edges is not None:
        check_edge_index(edges, nodes, where=where)
    if graph.get("edge_weight") is not None:
        check_edge_weight(graph.edge_weight, 0 if edges is None else edges.size(1), where=where)
