"""The key below a picture: what the colours of nodes and the lines of edges mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerPatch, HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from ifmixup.report.draw.colours import EDGE_COLOURS, Features
from ifmixup.report.draw.pair import ORIGINS, Origin, Pair, count, weight_text
from ifmixup.report.draw.panel import node_patches

Box = tuple[float, float, float, float]  # left, bottom, width, height: fractions of the figure

_RADIUS = 5.5
_TICKS = 8


def draw_node_key(figure: Figure, features: Features, dummies: bool, box: Box) -> None:
    """Name the colours of nodes: one by one if they are few, else on a colour bar."""
    left, bottom, width, height = box
    handles: list[Any] = []
    names: list[str] = []
    if features.few:
        handles += [node_patches(0, 0, _RADIUS, colour)[0] for colour in features.colours]
        names += features.names
    else:
        bar = (left + 0.01, bottom + 0.6 * height, 0.64 * width, 0.25 * height)
        _colour_bar(figure, features, bar)
        left += 0.72 * width
    if dummies:
        handles.append(tuple(node_patches(0, 0, _RADIUS + 1, None)))
        names.append("dummy node")
    # One row, or two if the names, at about 5.4 points per letter, are too long for it.
    row = sum(5.4 * len(name) + 34 for name in names) < width * 72 * figure.get_figwidth()
    columns = len(names) if row else math.ceil(len(names) / 2)
    _legend(figure, handles, names, (left, bottom + height / 2), columns)


def draw_edge_key(figure: Figure, pair: Pair, widest: float, box: Box) -> None:
    """Show the weight and the number of the edges of A, of B and of both."""
    handles, names = [], []
    for origin, weights in pair.weights().items():
        width = widest * sum(weights) / len(weights)
        # A thinner line on its own is hard to see.
        handles.append(Line2D([], [], color=EDGE_COLOURS[origin], lw=max(width, 0.8)))
        edges = f"{ORIGINS[origin]} ({count(len(weights), 'edge')})"
        names.append(f"weight {weight_text(weights)}: {edges}")
    _legend(figure, handles, names, (box[0], box[1] + box[3] / 2), 2)


def draw_origin_key(figure: Figure, lines: Mapping[Origin, str], box: Box) -> None:
    """Name the colours of edges, and of rings around nodes, by where these come from."""
    handles = [Line2D([], [], color=EDGE_COLOURS[origin], lw=2) for origin in lines]
    _legend(figure, handles, list(lines.values()), (box[0], box[1] + box[3] / 2), 2)


def _colour_bar(figure: Figure, features: Features, box: Box) -> None:
    last = len(features.values) - 1
    colours = ListedColormap([tuple(colour) for colour in features.colours.tolist()])
    scale = ScalarMappable(Normalize(-0.5, last + 0.5), colours)
    bar = figure.colorbar(scale, cax=figure.add_axes(box), orientation="horizontal")
    shown = [round(last * tick / (_TICKS - 1)) for tick in range(_TICKS)]
    bar.set_ticks(shown, labels=[str(features.values[rank]) for rank in shown])
    bar.set_label(features.kind, fontsize=9, labelpad=1)
    bar.ax.tick_params(labelsize=8, length=2, pad=2)


def _legend(
    figure: Figure,
    handles: Sequence[Any],
    names: Sequence[str],
    middle_left: tuple[float, float],
    columns: int,
) -> None:
    if not names:
        return
    figure.legend(
        handles,
        names,
        loc="center left",
        bbox_to_anchor=middle_left,
        ncols=columns,
        fontsize=9,
        frameon=False,
        borderpad=0,
        handlelength=1.8,
        handletextpad=0.6,
        columnspacing=1.2,
        handler_map={Circle: HandlerPatch(_in_the_middle), tuple: HandlerTuple(ndivide=1)},
    )


def _in_the_middle(*, orig_handle: Circle, width: float, height: float, **others: Any) -> Circle:
    """A circle that keeps its size in a legend; matplotlib passes these arguments by name."""
    x, y = width / 2 - others["xdescent"], height / 2 - others["ydescent"]
    return Circle((x, y), orig_handle.radius)
