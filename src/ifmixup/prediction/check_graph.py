"""One graph that somebody gave, checked before it stands among others in a batch."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError


def check_edges(place: int, graph: Data) -> None:
    """See that edges join nodes that are there: in a batch they would reach into other graphs.

    Args:
        place: The number of the graph, for messages.
        graph: A graph with features ``x``.
    """
    nodes, edges = graph.x.size(0), graph.get("edge_index")
    if not nodes:
        raise InputError(f"Graph {place} has no nodes; at least one is needed.")
    count = 0
    if edges is not None:
        if edges.dim() != 2 or edges.size(0) != 2 or edges.is_floating_point():
            raise InputError(
                f"Graph {place} has edge_index of {shape_of(edges)}; integers [2, E] are needed."
            )
        count = edges.size(1)
    if edges is not None and count:
        low, high = (int(end) for end in edges.aminmax())
        if low < 0 or high >= nodes:
            raise InputError(
                f"Graph {place} has edges of nodes {low} to {high}, but its nodes are numbered "
                f"from 0 to {nodes - 1}."
            )
    weight = graph.get("edge_weight")
    if weight is None:
        return
    if weight.shape != (count,) or not weight.is_floating_point():
        raise InputError(
            f"Graph {place} has edge_weight of {shape_of(weight)}; a float for each of its {count} "
            f"edges is needed."
        )
    if not bool(weight.isfinite().all()) or bool((weight < 0).any()):
        raise InputError(f"Graph {place} has weights of edges that are negative or not finite.")


def shape_of(tensor: Tensor) -> str:
    """The type and shape of a tensor, for messages: ``float32 [5, 3]``."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
