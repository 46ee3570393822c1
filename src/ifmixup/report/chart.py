"""What a chart shows, without drawing it: Plotly draws it for the page, matplotlib for files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["bars", "line", "steps", "dots", "mean"]

# Okabe and Ito's colours, some a little darker or lighter: they are read on white and on black.
PALETTE = ("#878D96", "#D95F0E", "#2E86C1", "#00946B", "#C66FA0", "#B58900", "#7E6BC4", "#5FA8A8")
_METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")


@dataclass(frozen=True)
class Series:
    """Values that belong together and have one colour.

    Attributes:
        name: What the legend calls them.
        kind: ``bars`` and ``line`` have y over x, ``low`` and ``high`` are an error bar or a band;
            ``steps`` is a histogram's outline; ``dots`` are points; ``mean`` is a mark with the
            interval from ``low`` to ``high`` along x.
        x: Numbers, or names for bars.
        y: Numbers; in a panel with rows, places in them.
        colour: As ``#rrggbb``.
        low: See ``kind``.
        high: See ``kind``.
        hollow: Whether marks are outlines, for what is not ours.
    """

    name: str
    kind: Kind
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    colour: str
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: What stands above.
        series: What is drawn.
        x_label: What x is.
        y_label: What y is.
        rows: Names of y = 0, 1, ... from the top down; empty where y is a number.
        zero: Whether a line marks x = 0.
        y_range: The part of y that is shown; None: all.
    """

    title: str
    series: Sequence[Series]
    x_label: str = ""
    y_label: str = ""
    rows: Sequence[str] = ()
    zero: bool = False
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Grid:
    """Panels that share a legend.

    Attributes:
        name: What the file of it is called.
        title: What it shows, in words.
        panels: The panels.
    """

    name: str
    title: str
    panels: Sequence[Panel]

    def legend(self) -> dict[str, str]:
        """The colours by name, but of what a row of its own names."""
        return {
            each.name: each.colour
            for panel in self.panels
            for each in panel.series
            if each.name and each.name not in panel.rows
        }


def colour_of(name: str, place: int) -> str:
    """The colour of a variant: a method has the same one in every chart.

    Args:
        name: The variant's name.
        place: Its place among the others.
    """
    if name in _METHODS:
        place = _METHODS.index(name)
    return PALETTE[place % len(PALETTE)]
