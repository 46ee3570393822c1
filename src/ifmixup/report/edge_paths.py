"""The way an edge takes on paper: straight, or bent around nodes that are not its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ifmixup.report.component_layout import Points, to_segments
from ifmixup.report.pair import Edge

CROWD = 150  # edges; in a crowd of more nothing is gained by bending or numbering one
_BENDS = (0.0, 0.15, -0.15, 0.25, -0.25, 0.35, -0.35)
_THERE_AND_BACK = 0.16
_ROOM = 1.15  # radii from the middle of a node that is passed
_STEPS = 16


def path(start: Points, end: Points, bend: float) -> Points:
    """Points ``[17, 2]`` on matplotlib's curve ``arc3`` with ``rad`` = ``bend``; 0 is straight."""
    t = np.linspace(0, 1, _STEPS + 1)[:, None]
    across = np.array([end[1] - start[1], start[0] - end[0]])
    control = (start + end) / 2 + bend * across
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def bends(positions: Points, edges: Sequence[Edge], radius: float) -> list[float]:
    """How much each edge is bent, so that it passes no other node and no edge back.

    Args:
        positions: The centres of the nodes, ``[n, 2]``.
        edges: The edges.
        radius: The radius of a node.
    """
    directed = {(edge.source, edge.target) for edge in edges if edge.directed}
    found = []
    for edge in edges:
        ends = positions[edge.source], positions[edge.target]
        if edge.source == edge.target:
            found.append(0.0)
        elif edge.directed and (edge.target, edge.source) in directed:
            found.append(_THERE_AND_BACK)
        elif len(edges) > CROWD:
            found.append(0.0)
        else:
            others = np.delete(positions, [edge.source, edge.target], axis=0)
            room = [min(_room(others, path(*ends, bend)), _ROOM * radius) for bend in _BENDS]
            found.append(_BENDS[int(np.argmax(room))])
    return found


def loop_direction(node: int, positions: Points, edges: Sequence[Edge]) -> Points:
    """Where a self-loop has room: away from the neighbours, or upwards if there are none."""
    ends = {
        end
        for edge in edges
        for end in (edge.source, edge.target)
        if node in (edge.source, edge.target)
    }
    away = positions[node] - positions[sorted(ends)].mean(0)
    length = float(np.linalg.norm(away))
    return away / length if length > 1e-9 else np.array([0.0, 1.0])


def _room(points: Points, curve: Points) -> float:
    if not len(points):
        return np.inf
    return float(to_segments(points, curve[:-1], np.diff(curve, axis=0)).min())
