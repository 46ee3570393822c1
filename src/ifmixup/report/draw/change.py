"""The picture of what a method makes of a graph, or of two, and what comes from where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ifmixup.errors import import_extra
from ifmixup.graphs import is_one_hot
from ifmixup.report.draw.colours import EDGE_COLOURS, Colours, Features, distinguish, fade
from ifmixup.report.draw.mixed_pair import PAGE, ends_of, fractions, panel, widest_line
from ifmixup.report.draw.pair import count
from ifmixup.report.draw.provenance import Provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ifmixup.report.draw.layout import Points

# In points: left, bottom, width, height.
_SOURCES = ((10.0, 268.0, 290.0, 180.0), (10.0, 56.0, 290.0, 180.0))
_ALONE = (10.0, 56.0, 418.0, 392.0)  # the source of a method that has one
_CHANGED = ((318.0, 56.0, 536.0, 392.0), (436.0, 56.0, 418.0, 392.0))
_NODE_KEY = (10.0, 4.0, 300.0, 44.0)
_ORIGIN_KEY = (318.0, 4.0, 536.0, 44.0)
_UNKNOWN = (0.85, 0.85, 0.85)


def draw_change(
    found: Provenance,
    x: tuple[Tensor, Tensor],
    *,
    title: str = "",
    result: str = "changed",
    features: str | Sequence[str] = "feature",
) -> Figure:
    """Draw the sources of a changed graph and the changed graph itself.

    A node's colour is its feature; a mixed one has the mixture of colours. The ring around a node
    of the changed graph, and the colour of an edge, say where it comes from: A, B, both, or
    neither. A node has the number that it has in its source.

    Args:
        found: What :func:`~ifmixup.report.draw.provenance.trace` gave.
        x: The node features of A and of B.
        title: The title of the figure.
        result: What the changed graph is called.
        features: See :func:`~ifmixup.report.draw_mixed_pair`.
    """
    import_extra("matplotlib", "plot")
    import_extra("networkx", "plot")
    from matplotlib.figure import Figure

    from ifmixup.report.draw.key import draw_node_key, draw_origin_key
    from ifmixup.report.draw.layout import fit
    from ifmixup.report.draw.panel import draw_edges, draw_nodes

    # A masked node may be of a kind that neither source has.
    whole = found.x[((found.x == 0) | (found.x == 1)).all(1) & (found.x.sum(1) == 1)]
    sources = torch.cat(x)
    known = distinguish(torch.cat([sources, whole]) if is_one_hot(sources) else sources, features)
    figure = Figure(figsize=(PAGE[2] / 72, PAGE[3] / 72))
    figure.text(0.5, 0.97, title, ha="center", va="center", fontsize=12, fontweight="bold")
    boxes = _SOURCES if found.two_sources else (_ALONE,)
    for name, box, size, edges, features_of in zip(
        "AB", boxes, found.sizes, found.sources, x, strict=False
    ):
        positions, unit = fit(size, ends_of(edges), *box[2:])
        axes = panel(
            figure,
            box,
            f"{name}: {count(size, 'node')}, {count(len(edges), 'edge')}",
            EDGE_COLOURS[name],  # type: ignore[index]
        )
        radius = min(9.0, 0.34 * unit)
        draw_edges(axes, positions, edges, radius, widest_line(2.2, unit, edges))
        draw_nodes(axes, positions, known.colour(features_of), radius)
    box = _CHANGED[0 if found.two_sources else 1]
    positions, unit = positions_of(found, box[2], box[3])
    radius = min(11.0, 0.32 * unit)
    sizes = f"{count(len(found.x), 'node')}, {count(len(found.edges), 'edge')}"
    axes = panel(figure, box, f"{result}: {sizes}", "black")
    draw_edges(axes, positions, found.edges, radius, max(1.4, widest_line(3.0, unit, found.edges)))
    colours = fade(node_colours(found, known, x), found.node_weight.clamp(0.15, 1))
    rings = [EDGE_COLOURS[origin] for origin in found.origins]
    draw_nodes(axes, positions, colours, radius, labels=found.labels, rings=rings)
    draw_node_key(figure, known, False, fractions(_NODE_KEY))
    edges_of = {o: [e for e in found.edges if e.origin == o] for o in EDGE_COLOURS}
    lines = {}
    for origin, mine in edges_of.items():
        counts = (found.origins.count(origin), "node"), (len(mine), "edge")
        told = ", ".join(count(number, thing) for number, thing in counts if number)
        if told:
            lines[origin] = f"{found.said[origin]}: {told}"
    draw_origin_key(figure, lines, fractions(_ORIGIN_KEY))
    return figure


def positions_of(found: Provenance, width: float, height: float) -> tuple[Points, float]:
    """The positions of A's nodes, if the changed graph keeps its nodes; else another layout."""
    from ifmixup.report.draw.layout import fit

    n_a = found.sizes[0]
    of_a = found.share[:, :n_a]
    if len(found.x) == n_a and bool(((of_a.diagonal() > 0) | (of_a.sum(1) == 0)).all()):
        return fit(n_a, ends_of(found.sources[0]), width, height)
    if bool((of_a.sum(1) == found.share.sum(1)).all()) and bool((of_a == 1).any(1).all()):
        positions, unit = fit(n_a, ends_of(found.sources[0]), width, height)
        return positions[of_a.argmax(1).numpy()], unit
    return fit(len(found.x), ends_of(found.edges), width, height)


def node_colours(found: Provenance, known: Features, x: tuple[Tensor, Tensor]) -> Colours:
    """The colour of the feature that a node has, or the mixture of those that it is made of."""
    sources = np.concatenate([known.colour(each) for each in x])[: found.share.size(1)]
    same = (found.x[:, None] == known.rows[None]).all(2)
    total = found.share.sum(1, keepdim=True)
    blended = (found.share / total.clamp(min=1e-9)).double().numpy() @ sources
    # A node that was sampled is a mixture of all kinds: of those that have a column and a colour.
    for node in (total[:, 0] < 0.5).nonzero().view(-1).tolist():
        one_hot = bool((known.rows.sum(1) == 1).all())
        kinds = found.x[node][known.values].double() if one_hot else found.x.new_zeros(0)
        blended[node] = (
            (kinds / kinds.sum()).numpy() @ known.colours if float(kinds.sum()) else _UNKNOWN
        )
    exact = known.colours[same.int().argmax(1).numpy()]
    return np.where(same.any(1).numpy()[:, None], exact, blended)
