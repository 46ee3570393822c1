"""The paper's Figure 1 for a real pair: the two graphs, the padded pair, and the mixed graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch_geometric.data import Data

from ifmixup.errors import import_extra
from ifmixup.report.draw.colours import EDGE_COLOURS, blend, distinguish, fade
from ifmixup.report.draw.pair import Edge, Origin, count, take_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ifmixup.report.draw.key import Box

# In points: left, bottom, width, height.
PAGE = (0.0, 0.0, 864.0, 500.0)
_SOURCES = ((10.0, 268.0, 200.0, 180.0), (10.0, 56.0, 200.0, 180.0))
_PADDED = ((228.0, 268.0, 200.0, 180.0), (228.0, 56.0, 200.0, 180.0))
_MIXED = (446.0, 56.0, 408.0, 392.0)
_NODE_KEY = (10.0, 4.0, 418.0, 44.0)
_EDGE_KEY = (446.0, 4.0, 408.0, 44.0)
_NUMBERED = 80  # edges; with more the numbers would hide the graph
_NAMES: tuple[Origin, Origin] = ("A", "B")


def draw_mixed_pair(
    a: Data, b: Data, lam: float, *, title: str = "", features: str | Sequence[str] = "feature"
) -> Figure:
    """Draw two graphs, the pair padded with dummy nodes, and the pair mixed by :func:`ifmixup.mix`.

    Nodes with the same number are mixed. A node's colour is its feature; a dummy node is a dashed
    double circle. In the mixed graph colours are blended as the features are, and a node that only
    one graph has is paler. The width of an edge is its weight, which is also written on it unless
    there are too many edges.

    Args:
        a: The first graph, with node features ``x``.
        b: The partner.
        lam: λ in [0, 1], the weight of ``a``.
        title: The title of the figure.
        features: The name of one-hot features: one word, to which the column's number is added, or
            a name for each column.

    Returns:
        A figure that is not registered with ``pyplot``: save it with ``savefig``. It is the same on
        every call.

    Raises:
        MissingExtraError: If matplotlib or networkx is not installed.
    """
    import_extra("matplotlib", "plot")
    import_extra("networkx", "plot")
    from matplotlib.figure import Figure

    from ifmixup.report.draw.key import draw_edge_key, draw_node_key
    from ifmixup.report.draw.layout import fit
    from ifmixup.report.draw.panel import draw_edges, draw_nodes, draw_weights

    pair = take_pair(a, b, lam)
    x_a, x_b = a.x.detach().cpu(), b.x.detach().cpu()
    known = distinguish(torch.cat([x_a, x_b]), features)
    colours = known.colour(x_a), known.colour(x_b)

    figure = Figure(figsize=(PAGE[2] / 72, PAGE[3] / 72))
    figure.text(0.5, 0.97, title, ha="center", va="center", fontsize=12, fontweight="bold")
    for row, name in enumerate(_NAMES):
        size, edges = pair.sizes[row], pair.edges[row]
        dummies = pair.num_nodes - size
        positions, unit = fit(
            pair.num_nodes, ends_of(edges), *_SOURCES[row][2:], num_dummies=dummies
        )
        radius, widest = min(9.0, 0.34 * unit), widest_line(2.2, unit, edges)
        before = f"{name}: {count(size, 'node')}, {count(len(edges), 'edge')}"
        after = f"{name} with {count(dummies, 'dummy node')}"
        if not dummies:
            after = f"{name}: no dummy nodes needed"
        for box, text, shown in ((_SOURCES[row], before, size), (_PADDED[row], after, None)):
            axes = panel(figure, box, text, EDGE_COLOURS[name])
            draw_edges(axes, positions, edges, radius, widest)
            draw_nodes(axes, positions[:shown], colours[row], radius)

    edges = pair.edges[2]
    positions, unit = fit(pair.num_nodes, ends_of(edges), *_MIXED[2:])
    radius, widest = min(12.0, 0.3 * unit), max(1.6, widest_line(4.0, unit, edges))
    sizes = f"{count(pair.num_nodes, 'node')}, {count(len(edges), 'edge')}"
    axes = panel(figure, _MIXED, f"λA + (1 − λ)B with λ = {lam:g}: {sizes}", "black")
    draw_edges(axes, positions, edges, radius, widest)
    draw_nodes(axes, positions, fade(blend(*colours, lam), pair.node_weight), radius)
    if len(edges) <= _NUMBERED:
        draw_weights(axes, positions, edges, radius, 8.0 if len(edges) <= _NUMBERED / 2 else 7.0)
    draw_node_key(figure, known, pair.sizes[0] != pair.sizes[1], fractions(_NODE_KEY))
    draw_edge_key(figure, pair, widest, fractions(_EDGE_KEY))
    return figure


def panel(figure: Figure, box: Box, title: str, colour: str) -> Axes:
    """Axes whose data units are points."""
    axes = figure.add_axes(fractions(box))
    axes.set(xlim=(0, box[2]), ylim=(0, box[3]), xticks=[], yticks=[])
    axes.set_title(title, fontsize=10, pad=5, color=colour)
    axes.spines[:].set(color="#D0D0D0", linewidth=0.8)
    return axes


def fractions(box: Box) -> Box:
    """A box of points as fractions of the page."""
    return box[0] / PAGE[2], box[1] / PAGE[3], box[2] / PAGE[2], box[3] / PAGE[3]


def ends_of(edges: Sequence[Edge]) -> list[tuple[int, int]]:
    """The two nodes of each edge."""
    return [(edge.source, edge.target) for edge in edges]


def widest_line(most: float, unit: float, edges: Sequence[Edge]) -> float:
    """The width of an edge of weight 1: thinner in small and in dense graphs."""
    return min(most, unit / 10) * min(1.0, (60 / max(len(edges), 1)) ** 0.5)
