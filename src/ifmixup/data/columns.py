"""What the nodes or edges of graphs carry, gathered column by column and checked."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError

TENSOR = {"node": "x", "edge": "edge_attr"}
"""Where a graph keeps the features of its nodes and of its edges."""

Kind = int | str


@dataclass(frozen=True)
class Column:
    """One column of what nodes or edges carry.

    Attributes:
        name: What it is called, for messages.
        kinds: The categories in order, one column of the features each; None for numbers, which
            stay as they are.
    """

    name: str
    kinds: tuple[Kind, ...] | None = None

    @property
    def width(self) -> int:
        """How many columns of the features it becomes."""
        return 1 if self.kinds is None else len(self.kinds)

    @property
    def feature_names(self) -> list[str]:
        """What those columns are called."""
        if self.kinds is None:
            return [self.name]
        return [f"{self.name}={kind}" for kind in self.kinds]


def column_texts(graphs: list[Data], level: str) -> list[list[str]] | None:
    """The columns of ``node_kinds`` or ``edge_kinds``, over all graphs; None if there are none."""
    key = f"{level}_kinds"
    have = [key in graph for graph in graphs]
    if not any(have):
        return None
    if not all(have):
        raise InputError(f"Graph {have.index(False)} has no {key}, but others have it.")
    rows = [row for graph in graphs for row in graph[key]]
    for place, graph in enumerate(graphs):
        if len(graph[key]) != count(graph, level):
            raise InputError(
                f"Graph {place} has {len(graph[key])} rows of {key}, but {count(graph, level)} "
                f"{level}s."
            )
    # Graphs without any edge have no rows: one column is then as good as any.
    widths = {len(row) for row in rows} or {1}
    if len(widths) > 1:
        raise InputError(f"The rows of {key} have different lengths: {sorted(widths)}.")
    return [[row[i] for row in rows] for i in range(widths.pop())]


def column_numbers(graphs: list[Data], level: str) -> Tensor | None:
    """``x`` or ``edge_attr`` of all graphs, ``[rows, columns]``; None if there is none."""
    key = TENSOR[level]
    found = [graph.get(key) for graph in graphs]
    if all(value is None for value in found):
        return None
    parts: list[Tensor] = []
    for place, (graph, value) in enumerate(zip(graphs, found, strict=True)):
        if value is None and level == "edge" and graph.num_edges == 0:
            continue
        if value is None:
            raise InputError(f"Graph {place} has no {key}, but others have it.")
        if not isinstance(value, Tensor) or value.dim() not in (1, 2):
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise InputError(
                f"Graph {place} has {key} of shape {shape}; [rows, columns] is needed."
            )
        rows = value.unsqueeze(-1) if value.dim() == 1 else value
        rows = rows.float() if rows.dtype == torch.bool else rows
        if len(rows) != count(graph, level):
            raise InputError(
                f"Graph {place} has {len(rows)} rows of {key}, but {count(graph, level)} {level}s."
            )
        if parts and rows.size(1) != parts[0].size(1):
            raise InputError(
                f"Graphs 0 and {place} differ: {key} has {parts[0].size(1)} columns and "
                f"{rows.size(1)}. Encode all graphs alike."
            )
        if parts and rows.is_floating_point() != parts[0].is_floating_point():
            raise InputError(
                f"Graphs 0 and {place} differ: {key} is {parts[0].dtype} and {rows.dtype}. Give "
                "categories as integers and numbers as floats."
            )
        parts.append(rows)
    return torch.cat(parts)


def count(graph: Data, level: str) -> int:
    """The number of nodes or edges of a graph."""
    return int(graph.num_nodes or 0) if level == "node" else int(graph.num_edges)
