"""A grid of panels as one matplotlib figure, for files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ifmixup.errors import import_extra
from ifmixup.report.chart import Grid, Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.3, 7.0  # inches: the width of a column and of a page, at which papers print
_COLUMNS = 3
_LEAST = 2.2  # inches: what a panel needs
_TEXT, _SMALL = 8, 7  # points
_CHARACTER = 0.055  # the width of a character of the small font, in inches


def draw(grid: Grid) -> Figure:
    """Draw a grid at the size of print: one panel as wide as a column, several as a page.

    There is no title in it, which is the caption's; the figure is not registered with ``pyplot``.
    """
    import_extra("matplotlib", "plot")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    named = max((len(name) for panel in grid.panels for name in panel.rows), default=0)
    width = COLUMN if len(grid.panels) == 1 else PAGE
    fitting = int(width / (_LEAST + _CHARACTER * min(named, 24)))
    columns = max(1, min(_COLUMNS, len(grid.panels), fitting))
    rows = math.ceil(len(grid.panels) / columns)
    height = max(1.7, 0.8 + 0.24 * max(len(panel.rows) for panel in grid.panels))
    figure = Figure(figsize=(width, height * rows + 0.4), layout="constrained")
    several = len({panel.title for panel in grid.panels}) > 1
    for number, panel in enumerate(grid.panels, start=1):
        _draw_panel(figure.add_subplot(rows, columns, number), panel, titled=several)
    handles = [
        Line2D([], [], color=colour, linewidth=4, label=_plain(name))
        for name, colour in grid.legend().items()
    ]
    if handles:
        longest = max(map(len, grid.legend()))
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=max(1, min(4, int(width / (0.7 + _CHARACTER * longest)))),
            fontsize=_SMALL,
            frameon=False,
        )
    return figure


def _draw_panel(axes: Axes, panel: Panel, *, titled: bool) -> None:
    if titled:  # what tells the panels apart
        axes.set_title(_plain(panel.title), fontsize=_TEXT)
    axes.set_xlabel(_plain(panel.x_label), fontsize=_TEXT)
    axes.set_ylabel(_plain(panel.y_label), fontsize=_TEXT)
    axes.tick_params(labelsize=_SMALL)
    axes.grid(axis="x" if panel.rows else "y", color="#E4E4E4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.zero:
        axes.axvline(0, color="#777777", linewidth=1.2)
    bars = [series for series in panel.series if series.kind == "bars"]
    for series in panel.series:
        if series.kind == "bars":
            _draw_bars(axes, series, bars.index(series), len(bars))
        else:
            _draw_series(axes, series)
    if panel.rows:
        axes.set_yticks(range(len(panel.rows)), [_plain(row) for row in panel.rows])
        axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    elif panel.y_range is not None:
        axes.set_ylim(*panel.y_range)


def _draw_bars(axes: Axes, series: Series, index: int, count: int) -> None:
    width = 0.8 / count
    at = np.arange(len(series.x)) + (index - (count - 1) / 2) * width
    axes.bar(at, series.y, width, color=series.colour)
    if series.low is not None and series.high is not None:
        axes.errorbar(at, series.y, _reach(series, series.y), fmt="none", ecolor="#555555", lw=1)
    axes.set_xticks(range(len(series.x)), [_plain(str(name)) for name in series.x])


def _draw_series(axes: Axes, series: Series) -> None:
    x, y = np.array(series.x, dtype=float), np.array(series.y, dtype=float)
    face = "none" if series.hollow else series.colour
    if series.kind == "line":
        axes.plot(x, y, color=series.colour, linewidth=1.2)
        if series.low is not None and series.high is not None:
            axes.fill_between(x, series.low, series.high, color=series.colour, alpha=0.16, lw=0)
    elif series.kind == "steps":
        axes.fill_between(x, y, step="mid", color=series.colour, alpha=0.25, lw=0)
        axes.step(x, y, where="mid", color=series.colour)
    elif series.kind == "dots":
        axes.scatter(x, y, 12, facecolors=face, edgecolors=series.colour, alpha=0.6)
    else:
        reach = _reach(series, series.x) if series.low is not None else None
        style: dict[str, Any] = {"fmt": "D", "ms": 4, "color": series.colour, "mfc": face}
        axes.errorbar(x, y, xerr=reach, capsize=2, **style)


def _reach(series: Series, middle: Any) -> Any:
    at = np.array(middle, dtype=float)
    ends = np.array([at - np.array(series.low), np.array(series.high) - at])
    return np.nan_to_num(np.maximum(ends, 0))


def _plain(text: str) -> str:
    """Text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")
