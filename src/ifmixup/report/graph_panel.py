"""Drawing one graph on axes whose data units are points, so that every size is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle, FancyArrowPatch

from ifmixup.report.component_layout import Points
from ifmixup.report.edge_paths import CROWD, bends, loop_direction, path
from ifmixup.report.node_colours import Colours
from ifmixup.report.pair import Edge, Origin

# A purple and a green that colour-blind people tell apart, and that few nodes have.
EDGE_COLOURS: dict[Origin, str] = {"both": "#222222", "A": "#9E4FB5", "B": "#1B8A45"}
_DASHES = (0, (2.4, 1.5))


def node_patches(x: float, y: float, radius: float, colour: Colours | None) -> list[Circle]:
    """A node is a circle of its colour; a dummy node, which has none, a dashed double circle."""
    width = min(0.9, radius / 9)
    if colour is not None:
        face = (float(colour[0]), float(colour[1]), float(colour[2]))
        return [Circle((x, y), radius, fc=face, ec="#333333", lw=width, label="node", zorder=3)]
    return [
        Circle(
            (x, y), part, fc="white", ec="#666666", ls=_DASHES, lw=width, label="dummy", zorder=3
        )
        for part in (radius, 0.74 * radius)
    ]


def draw_nodes(axes: Axes, positions: Points, colours: Colours, radius: float) -> None:
    """Draw numbered nodes; those beyond the colours are dummy nodes.

    Args:
        axes: Where to draw.
        positions: The centres of the nodes, ``[n, 2]``.
        colours: The colours of the first of them, ``[m, 3]``.
        radius: The radius of a node.
    """
    for node, (x, y) in enumerate(positions):
        colour = colours[node] if node < len(colours) else None
        for patch in node_patches(x, y, radius, colour):
            axes.add_artist(patch)
        size = radius * (1.15, 1.0, 0.74)[min(len(str(node)), 3) - 1]
        if colour is None:
            size, ink = 0.84 * size, "#555555"
        else:
            ink = "white" if float(colour @ (0.299, 0.587, 0.114)) < 0.45 else "black"
        axes.text(
            x,
            y,
            str(node),
            fontsize=size,
            color=ink,
            ha="center",
            va="center_baseline",
            label="number",
            zorder=4,
        )


def draw_edges(
    axes: Axes, positions: Points, edges: Sequence[Edge], radius: float, widest: float
) -> None:
    """Draw edges as lines, directed ones as arrows, and loops.

    Args:
        axes: Where to draw.
        positions: The centres of the nodes, ``[n, 2]``.
        edges: The edges.
        radius: The radius of a node.
        widest: The width of an edge of weight 1; that of others is in proportion to their weight.
    """
    kinds: dict[Origin, list[tuple[Edge, float]]] = {origin: [] for origin in EDGE_COLOURS}
    for edge, bend in zip(edges, bends(positions, edges, radius), strict=True):
        kinds[edge.origin].append((edge, bend))
    for origin, mine in sorted(kinds.items(), key=lambda kind: -len(kind[1])):  # the rarest on top
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
                middle = start + 1.2 * radius * loop_direction(edge.source, positions, edges)
                axes.add_artist(
                    Circle(
                        (middle[0], middle[1]),
                        0.8 * radius,
                        fill=False,
                        ec=colour,
                        lw=width,
                        label=f"loop {origin}",
                        zorder=1,
                    )
                )
            elif edge.directed:
                axes.add_artist(
                    FancyArrowPatch(
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
                )
