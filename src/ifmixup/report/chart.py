"""What a chart shows: Plotly draws it for the page, matplotlib for files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ifmixup.training.task import difference_unit, is_fraction, title_of

Kind = Literal["bars", "line", "steps", "dots", "mean"]

# Okabe and Ito's colours, some a little darker or lighter: they are read on white and on black.
PALETTE = ("#878D96", "#D95F0E", "#2E86C1", "#00946B", "#C66FA0", "#B58900", "#7E6BC4", "#5FA8A8")
_METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
_OF_THE_PAPER = dict(zip(_METHODS, PALETTE, strict=False))


@dataclass(frozen=True)
class Series:
    """Values that belong together and have one colour, ``#rrggbb``.

    ``bars`` and ``line`` have y over x, and ``low`` and ``high`` are an error bar or a band;
    ``steps`` is the outline of a histogram; ``dots`` are points; ``mean`` is a mark with the
    interval from ``low`` to ``high`` along x. In a panel with rows, y is the index of the row.
    Hollow marks are for numbers that were published by others.
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

    ``rows`` are the names of y = 0, 1, ... from the top down, empty if y is a number; ``zero`` is
    whether a line marks x = 0.
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
    """Panels that share a legend; ``name`` is that of its file, without the ending."""

    name: str
    title: str
    panels: Sequence[Panel]

    def legend(self) -> dict[str, str]:
        """The colour of each name, except of names that are written at a row."""
        return {
            each.name: each.colour
            for panel in self.panels
            for each in panel.series
            if each.name and each.name not in panel.rows
        }


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each method or variant of a study, different ones as long as they suffice.

    ``none`` is grey, and a method of the paper has the same colour in all studies. Other names get
    the colours that are left, in their order.
    """
    ordered = list(dict.fromkeys(names))
    found = {name: colour for name, colour in _OF_THE_PAPER.items() if name in ordered}
    others = PALETTE[1:] if "none" in found else PALETTE
    for name in ordered:
        found.setdefault(name, min(others, key=list(found.values()).count))
    return {name: found[name] for name in ordered}


def factor(metric: str) -> float:
    """What a value is multiplied by before it is drawn: fractions are drawn in per cent."""
    return 100.0 if is_fraction(metric) else 1.0


def axis(metric: str) -> str:
    """The label of an axis of values."""
    return f"{title_of(metric)}, %" if is_fraction(metric) else title_of(metric)


def difference_axis(metric: str, other: str, higher: bool) -> str:
    """The label of an axis of differences to ``other``."""
    way = "" if higher else " (lower is better)"
    return f"difference to {other}, {difference_unit(metric)}{way}"
