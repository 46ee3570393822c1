"""A panel as a Plotly figure. The page sets the colours of text and grid."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ifmixup.report.chart import Panel, Series

if TYPE_CHECKING:
    from ifmixup.report.draw.layout import Points

_ROW = 40  # pixels


def figure(panel: Panel) -> dict[str, Any]:
    """The figure as the plain values, without NaN, that ``Plotly.newPlot`` takes."""
    traces = [trace for series in panel.series for trace in _traces(series)]
    return {"data": traces, "layout": _layout(panel)}


def label(text: str) -> str:
    """Text for a figure, escaped: Plotly reads some HTML, and the text may be from a file."""
    return html.escape(text, quote=False)


def layout_base(height: int | None) -> dict[str, Any]:
    """What all figures have in common; without a height they fill the element around them."""
    return {
        **({} if height is None else {"height": height}),
        "autosize": True,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "dragmode": False,
        "hoverlabel": {"namelength": -1},
    }


def _layout(panel: Panel) -> dict[str, Any]:
    x: dict[str, Any] = {"title": {"text": label(panel.x_label)}, "automargin": True}
    y: dict[str, Any] = {"title": {"text": label(panel.y_label)}, "automargin": True}
    x |= {"zeroline": panel.zero, "zerolinewidth": 2}
    y |= {"zeroline": False}
    if panel.rows:
        y |= {
            "tickvals": list(range(len(panel.rows))),
            "ticktext": [label(row) for row in panel.rows],
            "range": [len(panel.rows) - 0.5, -0.5],
        }
    elif panel.y_range is not None:
        y["range"] = list(panel.y_range)
    if any(series.kind == "bars" for series in panel.series):
        x |= {"type": "category", "showgrid": False}
    height = 84 + _ROW * len(panel.rows) if panel.rows else 270
    return {
        **layout_base(height),
        "xaxis": x,
        "yaxis": y,
        "barmode": "group",
        "bargap": 0.25,
        "hovermode": "x unified" if any(s.kind == "line" for s in panel.series) else "closest",
    }


def _traces(series: Series) -> Iterable[dict[str, Any]]:
    x = [label(v) if isinstance(v, str) else _finite(v) for v in series.x]
    y = [_finite(v) for v in series.y]
    common = {"type": "scatter", "name": label(series.name), "x": x, "y": y}
    if series.kind == "bars":
        reach = _reach(series, series.y)
        yield {
            **common,
            "type": "bar",
            "marker": {"color": series.colour, "line": {"width": 0}},
            "error_y": {**reach, "color": "#777777", "thickness": 1.5, "width": 3},
            "hovertemplate": "%{x}: %{y:.1f}",
        }
    elif series.kind == "line":
        if series.low is not None and series.high is not None:
            band = [
                (at, low, high)
                for at, low, high in zip(x, series.low, series.high, strict=True)
                if math.isfinite(low) and math.isfinite(high)
            ]
            yield {
                "type": "scatter",
                "x": [at for at, _, _ in band] + [at for at, _, _ in reversed(band)],
                "y": [high for _, _, high in band] + [low for _, low, _ in reversed(band)],
                "fill": "toself",
                "fillcolor": _rgba(series.colour, 0.16),
                "line": {"width": 0},
                "mode": "lines",
                "hoverinfo": "skip",
            }
        yield {
            **common,
            "mode": "lines" if len(x) > 1 else "markers",
            "line": {"color": series.colour, "width": 2},
            "hovertemplate": "%{y:.3~f}",
        }
    elif series.kind == "steps":
        yield {
            **common,
            "mode": "lines",
            "line": {"color": series.colour, "width": 2, "shape": "hvh"},
            "fill": "tozeroy",
            "fillcolor": _rgba(series.colour, 0.22),
            "hovertemplate": "%{x}: %{y}",
        }
    else:
        is_mean = series.kind == "mean"
        reach = _reach(series, series.x)
        symbol = "diamond" if is_mean else "circle"
        yield {
            **common,
            "mode": "markers",
            "marker": {
                "symbol": f"{symbol}-open" if series.hollow else symbol,
                "color": series.colour,
                "size": 10 if is_mean else 7,
                "opacity": 1 if is_mean else 0.55,
                "line": {"width": 2 if series.hollow else 0, "color": series.colour},
            },
            "error_x": {**reach, "color": series.colour, "thickness": 2, "width": 5},
            "hovertemplate": "%{x:.3~g}",
        }


def _reach(series: Series, middle: Any) -> dict[str, Any]:
    if series.low is None or series.high is None:
        return {"visible": False}
    triples = list(zip(series.low, middle, series.high, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [_finite(high - at) or 0 for _, at, high in triples],
        "arrayminus": [_finite(at - low) or 0 for low, at, _ in triples],
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def _rgba(colour: str, opacity: float) -> str:
    parts = ",".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    return f"rgba({parts},{opacity})"


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
