"""What a model is given, checked at its door: shapes and types only, never values (no sync)."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor, nn

from ifmixup.errors import InputError
from ifmixup.graphs import Graphs
from ifmixup.nn.neighbours import Neighbours


def check_nodes(x: Tensor | None, batch: Tensor | None, in_channels: int) -> None:
    """Node features must be floating point ``[N, in_channels]`` and ``batch`` must be ``[N]``."""
    if x is None:
        raise InputError(
            "x is None: the graphs have no node features. Make some first, for example with "
            "torch_geometric.transforms.Constant or OneHotDegree."
        )
    if x.dim() != 2 or x.size(1) != in_channels or not x.is_floating_point():
        raise InputError(
            f"x is {_describe(x)}, but the model was made for floating-point node features "
            f"[N, {in_channels}]."
        )
    if batch is not None and batch.shape != x.shape[:1]:
        raise InputError(
            f"batch is {_describe(batch)}, but needs one graph number for each of the "
            f"{x.size(0)} nodes."
        )


def check_edges(
    num_nodes: int,
    edge_index: Tensor | Neighbours,
    edge_weight: Tensor | None,
    edge_attr: Tensor | None,
    edge_dim: int | None,
) -> None:
    """Weights must be floating point ``[E]``; attributes are ``[E, edge_dim]`` or not there.

    Both an attribute that nothing would read and a missing one are errors, because a model that
    leaves out part of its input still trains.
    """
    if isinstance(edge_index, Neighbours):
        num_edges = edge_index.num_edges
        if edge_index.num_nodes != num_nodes:
            raise InputError(
                f"The Neighbours are of {edge_index.num_nodes} nodes, but x has {num_nodes} rows."
            )
    elif edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(f"edge_index is {_describe(edge_index)}, but needs the shape [2, E].")
    else:
        num_edges = edge_index.size(1)
    if edge_weight is not None and (
        edge_weight.shape != (num_edges,) or not edge_weight.is_floating_point()
    ):
        raise InputError(
            f"edge_weight is {_describe(edge_weight)}, but needs one floating-point weight for "
            f"each of the {num_edges} edges. (The batch vector is the fourth argument.)"
        )
    if edge_attr is None:
        if edge_dim is not None:
            raise InputError(
                f"The model was made with edge_dim={edge_dim}, but edge_attr is missing. "
                "Give edge_attr, or make the model without edge_dim."
            )
    elif edge_dim is None:
        raise InputError(
            "edge_attr was given to a model that does not read it. Use GIN(edge_dim=...), or move "
            "the attributes into the node features with the transform EdgeAttrToNodes."
        )
    elif edge_attr.shape != (num_edges, edge_dim) or not edge_attr.is_floating_point():
        raise InputError(
            f"edge_attr is {_describe(edge_attr)}, but the model was made for floating-point "
            f"attributes [{num_edges}, {edge_dim}]."
        )


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


class GraphsModel:
    """A model that takes Graphs: ours by the fast way, any other by forward(x, edge_index,
    edge_weight, batch).
    """

    def __init__(
        self, model: nn.Module, *, undirected: bool = False, node_weight: bool = True
    ) -> None:
        self.model, self.undirected, self.node_weight = model, undirected, node_weight

    def __call__(self, graphs: Graphs) -> Tensor:
        """Logits ``[B, C]``."""
        return self._called(self.model, graphs)

    def embed(self, graphs: Graphs) -> Tensor:
        """Graph representations ``[B, D]``."""
        return self._called(self.model.embed, graphs)

    def classify(self, h: Tensor) -> Tensor:
        """Logits ``[B, C]`` of representations."""
        return self.model.classify(h)  # type: ignore[operator]

    def inputs(self, graphs: Graphs) -> dict[str, Any]:
        """What the model's ``forward`` takes."""
        ours = hasattr(self.model, "edge_dim")
        edge_index: Any = graphs.edge_index
        if ours and self.undirected:
            edge_index = Neighbours.mirrored(edge_index, graphs.num_nodes)
        found = {
            "x": graphs.nodes["x"],
            "edge_index": edge_index,
            "edge_weight": graphs.edges.get("edge_weight"),
            "batch": graphs.node_graph,
        }
        if ours:
            found["batch_size"] = graphs.num_graphs
        names = inspect.signature(self.model.forward).parameters
        if "edge_attr" in names and "edge_attr" in graphs.edges:
            found["edge_attr"] = graphs.edges["edge_attr"]
        if self.node_weight and "node_weight" in names and "node_weight" in graphs.nodes:
            found["node_weight"] = graphs.nodes["node_weight"]
        return found

    def call(self, inputs: dict[str, Any]) -> Tensor:
        """Logits of what :meth:`inputs` gave."""
        inputs = dict(inputs)
        four = [inputs.pop(name) for name in ("x", "edge_index", "edge_weight", "batch")]
        return self.model(*four, **inputs)

    def _called(self, function: Any, graphs: Graphs) -> Tensor:
        inputs = self.inputs(graphs)
        four = [inputs.pop(name) for name in ("x", "edge_index", "edge_weight", "batch")]
        return function(*four, **inputs)
