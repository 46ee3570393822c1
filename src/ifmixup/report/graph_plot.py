"""What every plot of a graph on the page has: traces, and a layout without axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ifmixup.report.plotly_chart import layout_base

if TYPE_CHECKING:
    from ifmixup.report.draw.layout import Points


def layout_of(points: Points) -> dict[str, Any]:
    """The layout of nodes at ``points`` ``[n, 2]``, with the same scale on both axes."""
    ranges = [
        [round(float(side.min()) - 30, 1), round(float(side.max()) + 30, 1)] for side in points.T
    ]
    axis = {"visible": False, "fixedrange": True}
    return {
        **layout_base(None),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "xaxis": {**axis, "range": ranges[0]},
        "yaxis": {**axis, "range": ranges[1], "scaleanchor": "x"},
    }


def scatter(mode: str, points: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """A trace of ``markers`` or ``lines`` through ``points``."""
    x, y = [point[0] for point in points], [point[1] for point in points]
    return {"type": "scatter", "mode": mode, "x": x, "y": y, "hoverinfo": "skip"}
