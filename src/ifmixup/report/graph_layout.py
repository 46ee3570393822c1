"""Where the nodes of a graph stand in a box of points (1/72 inch).

Each connected component is laid out on its own. Components stand in rows; dummy nodes stand in a
tidy grid below them, beside them or in a corner: whatever lets the whole be largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np

from ifmixup.report.component_layout import Points, lay_out

_LARGEST_UNIT = 76.0  # in points: a graph of three nodes need not fill a page


def fit(
    num_nodes: int,
    edges: Iterable[tuple[int, int]],
    width: float,
    height: float,
    *,
    num_dummies: int = 0,
) -> tuple[Points, float]:
    """Lay out a graph in a box.

    Args:
        num_nodes: The number of nodes n.
        edges: The two nodes of each edge.
        width: The width of the box, in points.
        height: The height of the box, in points.
        num_dummies: How many of the nodes, the last ones, are dummy nodes.

    Returns:
        The positions ``[n, 2]`` from the lower left corner of the box, and the unit in points:
        about the distance of neighbouring nodes. Half a unit stays free at the border.
    """
    graph = nx.Graph((u, v) for u, v in edges if u != v)
    graph.add_nodes_from(range(num_nodes))
    parts = sorted((sorted(c) for c in nx.connected_components(graph)), key=lambda c: (-len(c), c))
    singles = [part[0] for part in parts if len(part) == 1]
    parts = [part for part in parts if len(part) > 1]
    blocks = [_component(graph, part) for part in parts]
    # Isolated nodes of the graph itself stay with it, apart from dummy nodes.
    split = len(singles) - num_dummies if num_dummies else 0
    isolated, loose = singles[:split], singles[split:]

    box = np.array([width, height])
    placed, unit = np.empty((0, 2)), 0.0
    for candidate in _arrangements(blocks, len(isolated), len(loose), width / height):
        scale = float((box / _size(candidate)).min())
        if scale > unit * 1.001:
            placed, unit = candidate, scale
    unit = min(unit, _LARGEST_UNIT)
    positions = np.empty_like(placed)
    positions[[node for part in [*parts, isolated, loose] for node in part]] = placed * unit
    return positions + (box - _size(placed) * unit) / 2, unit


def _component(graph: nx.Graph, nodes: list[int]) -> Points:
    part = nx.Graph()
    part.add_nodes_from(nodes)
    part.add_edges_from(sorted(sorted(edge) for edge in graph.subgraph(nodes).edges))
    return lay_out(part)


def _arrangements(
    blocks: list[Points], num_isolated: int, num_loose: int, aspect: float
) -> Iterator[Points]:
    """Ways to turn blocks, to put them in rows with the isolated nodes, and to add a grid."""
    for stretch in (1.0, 2.0, 4.0, 0.5):
        turned = [_turn(block, stretch * aspect) for block in blocks]
        if num_isolated:
            turned.append(_grid(num_isolated, math.ceil(math.sqrt(num_isolated))))
        mains = []
        for columns in range(1, len(turned) + 1):
            rows = [turned[i : i + columns] for i in range(0, len(turned), columns)]
            mains.append(_join([_join(row, axis=0) for row in rows], axis=1))
        if not num_loose:
            yield from mains
        for grid in (_grid(num_loose, columns) for columns in range(1, num_loose + 1)):
            if not mains:
                yield grid
            for main in mains:
                yield from _in_corners(main, grid)
                yield _join([main, grid], axis=1)
                yield _join([main, grid], axis=0)


def _in_corners(main: Points, grid: Points) -> Iterator[Points]:
    """A grid in a corner of a block's box, if a line divides the two: no edge is in its way."""
    room = _size(main) - _size(grid)
    if (room < 0).any():
        return
    angles = np.linspace(0, math.pi / 2, 19)
    for right, top in ((1, 0), (0, 0), (1, 1), (0, 1)):
        moved = grid + room * np.array([right, top])
        normal = np.stack([np.cos(angles) * (2 * right - 1), np.sin(angles) * (2 * top - 1)])
        if ((moved @ normal).min(0) - (main @ normal).max(0)).max() >= 1:
            yield np.concatenate([main, moved])


def _turn(points: Points, aspect: float) -> Points:
    """Turn points so that they fill a box of the given aspect best."""
    turned = [_to_corner(points @ _rotation(math.pi * step / 36)) for step in range(36)]
    return max(turned, key=lambda p: float((np.array([aspect, 1]) / _size(p)).min()))


def _grid(number: int, columns: int) -> Points:
    return _to_corner(
        np.array([(i % columns, -(i // columns)) for i in range(number)], dtype=float)
    )


def _join(blocks: list[Points], axis: int) -> Points:
    """Blocks to the right of each other (axis 0) or below (axis 1), centred on the other axis."""
    end, moved = 0.0, []
    for block in blocks:
        shift = -_size(block) / 2
        shift[axis] = end if axis == 0 else end - _size(block)[1]
        end += _size(block)[0] if axis == 0 else -_size(block)[1]
        moved.append(block + shift)
    return _to_corner(np.concatenate(moved))


def _to_corner(points: Points) -> Points:
    return points - points.min(0) + 0.5


def _size(points: Points) -> Points:
    return points.max(0) + 0.5


def _rotation(angle: float) -> Points:
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
