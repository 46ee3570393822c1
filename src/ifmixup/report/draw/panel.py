"""Drawing one graph on axes whose data units are points, so every size is known in advance.

``positions`` are the centres of the nodes, ``[n, 2]``, and ``radius`` is the radius of a node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle, FancyArrowPatch

from ifmixup.report.draw.colours import EDGE_COLOURS, Colours
from ifmixup.report.draw.layout import Points, segment_distances
from ifmixup.report.draw.pair import Edge, Origin, weight_text

CROWD = 150  # edges; in a larger crowd bending or numbering one does not help
_BENDS = (0.0, 0.15, -0.15, 0.25, -0.25, 0.35, -0.35)
_THERE_AND_BACK = 0.16  # the bend of an edge that has an edge in the other direction
_ROOM = 1.15  # radii between an edge and the centre of a node that it passes
_STEPS = 16  # of a path
_DASHES = (0, (2.4, 1.5))

_FROM_THE_MIDDLE = (8, 7, 9, 6, 10, 5, 11, 4, 12)  # steps of a path where its number may stand
_GAPS = (1.5, 5.5)  # between an edge and a number beside it, in points
_HIDES = 10  # the cost of a spot where a number would cover something


def node_patches(
    x: float, y: float, radius: float, colour: Colours | None, ring: str | None = None
) -> list[Circle]:
    """A circle of the node's colour; without one a dashed double circle, for a dummy node.

    A ``ring`` of another colour says where the node comes from.
    """
    width = min(0.9, radius / 9)
    if colour is not None:
        face = (float(colour[0]), float(colour[1]), float(colour[2]))
        edge = {"ec": ring or "#333333", "lw": width if ring is None else min(2.4, radius / 4)}
        return [Circle((x, y), radius, fc=face, **edge, label="node", zorder=3)]
    style = {"fc": "white", "ec": "#666666", "ls": _DASHES, "lw": width, "label": "dummy"}
    return [Circle((x, y), part, **style, zorder=3) for part in (radius, 0.74 * radius)]


def draw_nodes(
    axes: Axes,
    positions: Points,
    colours: Colours,
    radius: float,
    *,
    labels: Sequence[str] | None = None,
    rings: Sequence[str] | None = None,
) -> None:
    """Draw nodes with their numbers, or with ``labels``; those beyond the colours ``[m, 3]`` are
    dummy nodes.
    """
    for node, (x, y) in enumerate(positions):
        colour = colours[node] if node < len(colours) else None
        label = str(node) if labels is None else labels[node]
        for patch in node_patches(x, y, radius, colour, rings[node] if rings else None):
            axes.add_artist(patch)
        size = radius * (1.15, 1.0, 0.74, 0.6)[min(len(label), 4) - 1]
        if colour is None:
            size, ink = 0.84 * size, "#555555"
        else:
            ink = "white" if float(colour @ (0.299, 0.587, 0.114)) < 0.45 else "black"
        _write(axes, (x, y), label, size, color=ink, label="number", zorder=4)


def draw_edges(
    axes: Axes, positions: Points, edges: Sequence[Edge], radius: float, widest: float
) -> None:
    """Draw edges as lines, directed ones as arrows, and loops as circles.

    An edge of weight 1 is as wide as ``widest``, the others in proportion to their weight.
    """
    kinds: dict[Origin, list[tuple[Edge, float]]] = {origin: [] for origin in EDGE_COLOURS}
    for edge, bend in zip(edges, bends(positions, edges, radius), strict=True):
        kinds[edge.origin].append((edge, bend))
    for origin, mine in sorted(kinds.items(), key=lambda kind: -len(kind[1])):  # the rarest on top
        if not mine:
            continue
        colour = EDGE_COLOURS[origin]
        lines = [(e, bend) for e, bend in mine if not e.directed and e.source != e.target]
        axes.add_collection(
            LineCollection(
                [path(positions[e.source], positions[e.target], bend) for e, bend in lines],
                linewidths=[widest * e.weight for e, _ in lines],
                colors=colour,
                alpha=0.6 if len(edges) > CROWD else None,
                label=f"edges {origin}",
                zorder=1,
            )
        )
        for edge, bend in mine:
            start, end, width = positions[edge.source], positions[edge.target], widest * edge.weight
            if edge.source == edge.target:
                x, y = start + 1.2 * radius * loop_direction(edge.source, positions, edges)
                style = {"ec": colour, "lw": width, "label": f"loop {origin}", "zorder": 1}
                axes.add_artist(Circle((x, y), 0.8 * radius, fill=False, **style))
            elif edge.directed:
                arrow = FancyArrowPatch(
                    (start[0], start[1]),
                    (end[0], end[1]),
                    arrowstyle="-|>",
                    connectionstyle=f"arc3,rad={bend}",
                    shrinkA=radius,
                    shrinkB=radius,
                    mutation_scale=1.2 * radius,
                    color=colour,
                    lw=width,
                    label=f"arrow {origin}",
                    zorder=1,
                )
                axes.add_artist(arrow)


def draw_weights(
    axes: Axes, positions: Points, edges: Sequence[Edge], radius: float, size: float
) -> None:
    """Write the weight on each edge, or beside a short one, where nodes and numbers leave room."""
    curves = [
        path(positions[edge.source], positions[edge.target], bend)
        for edge, bend in zip(edges, bends(positions, edges, radius), strict=True)
    ]
    taken: list[tuple[Points, Points]] = []
    lengths = [float(np.linalg.norm(curve[-1] - curve[0])) for curve in curves]
    # Short edges first: they have the least choice.
    for i in sorted(range(len(edges)), key=lambda i: lengths[i]):
        edge, curve, text = edges[i], curves[i], weight_text([edges[i].weight])
        half = np.array([0.62 * len(text) + 0.2, 1.1]) * size / 2  # of the text's width and height
        on = curve[list(_FROM_THE_MIDDLE)]
        if edge.source == edge.target:
            on = on[:1] + 2 * radius * loop_direction(edge.source, positions, edges)
        along = (curve[-1] - curve[0]) / max(lengths[i], 1e-9)
        across = np.array([-along[1], along[0]])
        touching = half @ np.abs(across)
        aside = [side * (touching + gap) * across for gap in _GAPS for side in (1, -1)]
        spots = np.concatenate([on, *(on + shift for shift in aside)])
        cost = _touched(spots, half, positions, radius, taken)
        cost += _crossed(spots, half, [*curves[:i], *curves[i + 1 :]])
        cost[len(on) :] += 3
        if lengths[i] - 2 * radius < 3 * half @ np.abs(along):  # little of the edge would be seen
            cost[: len(on)] += 4
        best = int(np.argmin(cost))
        if cost[best] < _HIDES:
            taken.append((spots[best], half))
            ground = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.9}
            style = {"color": EDGE_COLOURS[edge.origin], "label": "weight", "zorder": 2}
            _write(axes, spots[best].tolist(), text, size, bbox=ground, **style)


def path(start: Points, end: Points, bend: float) -> Points:
    """Points ``[17, 2]`` on matplotlib's curve ``arc3`` with ``rad`` = ``bend``; 0 is straight."""
    t = np.linspace(0, 1, _STEPS + 1)[:, None]
    across = np.array([end[1] - start[1], start[0] - end[0]])
    control = (start + end) / 2 + bend * across
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def bends(positions: Points, edges: Sequence[Edge], radius: float) -> list[float]:
    """How much each edge is bent, so it avoids other nodes and the edge back."""
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
            curves = [path(*ends, bend) for bend in _BENDS]
            distances = [segment_distances(others, c[:-1], np.diff(c, axis=0)) for c in curves]
            room = [distance.min(initial=_ROOM * radius) for distance in distances]
            found.append(_BENDS[int(np.argmax(room))])
    return found


def loop_direction(node: int, positions: Points, edges: Sequence[Edge]) -> Points:
    """Where a self-loop has room: away from the neighbours, or upwards if there are none."""
    pairs = [(edge.source, edge.target) for edge in edges]
    ends = {end for pair in pairs if node in pair for end in pair}
    away = positions[node] - positions[sorted(ends)].mean(0)
    length = float(np.linalg.norm(away))
    return away / length if length > 1e-9 else np.array([0.0, 1.0])


def _write(axes: Axes, where: Sequence[float], text: str, size: float, **style: object) -> None:
    """Text whose middle is at a point."""
    x, y = where
    axes.text(x, y, text, fontsize=size, ha="center", va="center_baseline", **style)  # type: ignore[arg-type]


def _touched(
    spots: Points,
    half: Points,
    positions: Points,
    radius: float,
    taken: Sequence[tuple[Points, Points]],
) -> Points:
    """Ten for each node and each number that a text at each of the spots would touch."""
    gap = np.clip(np.abs(spots[:, None] - positions) - half, 0, None)
    touched = (np.linalg.norm(gap, axis=2) < radius + 0.5).sum(1)
    for middle, size in taken:
        touched = touched + (np.abs(spots - middle) < half + size).all(1)
    return _HIDES * touched.astype(float)


def _crossed(spots: Points, half: Points, curves: Sequence[Points]) -> Points:
    """One for each curve that a text would touch, at most five: that is better than no number."""
    if not curves:
        return np.zeros(len(spots))
    start = np.concatenate([curve[:-1] for curve in curves])
    along = np.concatenate([np.diff(curve, axis=0) for curve in curves])
    distance = segment_distances(spots, start, along).reshape(len(spots), len(curves), -1).min(2)
    return np.minimum((distance < half.min()).sum(1), 5)
