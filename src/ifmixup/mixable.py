"""What can be mixed: graphs that were checked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from torch import Tensor

from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, without_repeated_edges
from ifmixup.labels import label_rows


def check_mixable(
    graphs: Graphs, drop: Collection[str] = (), num_classes: int | None = None
) -> Graphs:
    """See that graphs can be mixed, and let each edge stand once, sorted, and labels be rows.

    Args:
        graphs: The graphs; they are not changed.
        drop: Names of attributes to leave out.
        num_classes: The number of classes; needed where ``y`` is class numbers.
    """
    if "x" in drop or "edge_index" in drop:
        raise InputError("x and edge_index cannot be dropped: they are what is mixed.")

    def without(level: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in level.items() if name not in drop}

    y = without(graphs.graphs).get("y")  # other graph attributes speak of one graph
    graphs = replace(graphs, nodes=without(graphs.nodes), edges=without(graphs.edges), graphs={})
    x = check_features(graphs)
    weight = graphs.edges.get("edge_weight")
    if weight is not None and weight.dim() != 1:
        raise InputError(f"edge_weight must have the shape [E]; got {list(weight.shape)}.")
    for name, value in {**graphs.nodes, **graphs.edges}.items():
        if name != "edge_index":
            _check_attribute(graphs, name, value)
    if y is not None:
        graphs.graphs["y"] = label_rows(y, graphs.num_graphs, num_classes, x.dtype)
    return without_repeated_edges(graphs)


def check_features(graphs: Graphs) -> Tensor:
    """The node features ``x``, if they can be mixed."""
    x = graphs.nodes.get("x")
    if x is None or (x.dim() == 2 and x.size(1) == 0):
        raise InputError(
            "The graph has no node features x. Give it some, for example one-hot degrees "
            "(torch_geometric.transforms.OneHotDegree)."
        )
    if not x.is_floating_point() or x.dim() != 2:
        raise InputError(
            f"Node features x must be floats of shape [N, d]; got {x.dtype} {list(x.shape)}. "
            f"One-hot encode class numbers (torch.nn.functional.one_hot), then .float()."
        )
    return x


def _check_attribute(graphs: Graphs, name: str, value: Tensor) -> None:
    if not value.is_floating_point():
        raise InputError(
            f"The attribute {name!r} is {value.dtype} and cannot be interpolated. "
            f"One-hot encode it (or .float() a number), or leave it out with drop=[{name!r}]."
        )
    # A sum is finite only if all its terms are: one cheap pass, and a second to find the culprit.
    if not bool(value.sum().isfinite()) and not bool(value.isfinite().all()):
        row = int((~value.isfinite()).view(value.size(0), -1).any(1).nonzero()[0])
        place = graphs.node_graph if name in graphs.nodes else graphs.edge_graph
        raise InputError(
            f"The attribute {name!r} of graph {int(place[row])} in the batch is not finite "
            f"(row {row}). Replace NaN and infinity before mixing."
        )
