"""Writing the weights of edges next to them, where they hide nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ifmixup.report.component_layout import Points, to_segments
from ifmixup.report.edge_paths import bends, loop_direction, path
from ifmixup.report.graph_panel import EDGE_COLOURS
from ifmixup.report.pair import Edge, weight_text

_FROM_THE_MIDDLE = (8, 7, 9, 6, 10, 5, 11, 4, 12)  # steps of a path
_GAPS = (1.5, 5.5)  # between an edge and a number beside it, in points
_HIDES = 10  # a place that costs so much is not used


def draw_weights(
    axes: Axes, positions: Points, edges: Sequence[Edge], radius: float, size: float
) -> None:
    """Write the weight on each edge, or beside a short one, if nodes and other numbers leave room.

    Args:
        axes: Where to draw, in points.
        positions: The centres of the nodes, ``[n, 2]``.
        edges: The edges.
        radius: The radius of a node.
        size: The font size.
    """
    curves = [
        path(positions[edge.source], positions[edge.target], bend)
        for edge, bend in zip(edges, bends(positions, edges, radius), strict=True)
    ]
    taken: list[tuple[Points, Points]] = []
    lengths = [float(np.linalg.norm(curve[-1] - curve[0])) for curve in curves]
    # Short edges first: they have the least choice.
    for row in sorted(range(len(edges)), key=lambda row: lengths[row]):
        edge, curve, text = edges[row], curves[row], weight_text([edges[row].weight])
        half = np.array([0.62 * len(text) + 0.2, 1.1]) * size / 2  # of the text's width and height
        on = curve[list(_FROM_THE_MIDDLE)]
        if edge.source == edge.target:
            on = on[:1] + 2 * radius * loop_direction(edge.source, positions, edges)
        along = (curve[-1] - curve[0]) / max(lengths[row], 1e-9)
        across = np.array([-along[1], along[0]])
        touching = half @ np.abs(across)
        aside = [side * (touching + gap) * across for gap in _GAPS for side in (1, -1)]
        places = np.concatenate([on, *(on + shift for shift in aside)])
        cost = _touched(places, half, positions, radius, taken)
        cost += _crossed(places, half, [c for other, c in enumerate(curves) if other != row])
        cost[len(on) :] += 3
        if lengths[row] - 2 * radius < 3 * half @ np.abs(along):  # little would be left of the edge
            cost[: len(on)] += 4
        best = int(np.argmin(cost))
        if cost[best] >= _HIDES:
            continue
        taken.append((places[best], half))
        axes.text(
            float(places[best, 0]),
            float(places[best, 1]),
            text,
            label="weight",
            color=EDGE_COLOURS[edge.origin],
            fontsize=size,
            ha="center",
            va="center_baseline",
            zorder=2,
            bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.9},
        )


def _touched(
    places: Points,
    half: Points,
    positions: Points,
    radius: float,
    taken: Sequence[tuple[Points, Points]],
) -> Points:
    """Ten for each node and each number that a text at each of ``places`` would touch."""
    gap = np.clip(np.abs(places[:, None] - positions) - half, 0, None)
    touched = (np.linalg.norm(gap, axis=2) < radius + 0.5).sum(1)
    for place, size in taken:
        touched = touched + (np.abs(places - place) < half + size).all(1)
    return _HIDES * touched.astype(float)


def _crossed(places: Points, half: Points, curves: Sequence[Points]) -> Points:
    """One for each curve that a text would touch; five at most: that is better than no number."""
    if not curves:
        return np.zeros(len(places))
    start = np.concatenate([curve[:-1] for curve in curves])
    along = np.concatenate([np.diff(curve, axis=0) for curve in curves])
    distance = to_segments(places, start, along).reshape(len(places), len(curves), -1).min(2)
    return np.minimum((distance < half.min()).sum(1), 5)
