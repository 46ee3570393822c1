"""A comparison as a figure: means, and differences with their intervals."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from ifmixup.errors import import_extra
from ifmixup.training.task import difference_unit, is_fraction, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ifmixup.study.comparison import Comparison

_ROW = 0.3  # inches
_STYLES = ("--", ":")  # of baselines
_BLUE, _ORANGE, _GREY = "#2E86C1", "#D95F0E", "#878D96"


def plot(found: Comparison) -> Figure:
    """Left the mean of every trial ± one standard deviation over folds, with what guesses without
    graphs get as dashed lines; right its difference to the baseline, with its interval and the
    margin as a band. The figure is not registered with ``pyplot``; a notebook shows it.
    """
    import_extra("matplotlib", "plot")
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A notebook shows it, though ``pyplot`` does not know it."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=110)
            return stream.getvalue()

    rows, metric = found.rows, found.study.metric
    by = 100 if is_fraction(metric) else 1
    compared = any(row.difference is not None for row in rows)
    figure = ShownFigure(figsize=(7.0, 1.1 + _ROW * max(2, len(rows))), layout="constrained")
    axes = figure.subplots(1, 1 + compared, sharey=True, squeeze=False)[0]
    several = len({(row.trial.dataset, row.trial.protocol) for row in rows}) > 1
    names = [
        f"{row.label}{f', {row.trial.dataset}, {row.trial.protocol}' * several}".replace("$", r"\$")
        for row in rows
    ]
    for y, row in enumerate(rows):
        spread = row.reading.std_over_folds
        reach = 0.0 if math.isnan(spread) else by * spread
        colour = _ORANGE if row.best else _BLUE
        axes[0].errorbar(by * row.reading.mean, y, xerr=reach, fmt="o", color=colour, capsize=3)
        if row.difference is not None:
            mean, low, high = (by * getattr(row.difference, n) for n in ("mean", "low", "high"))
            ends = None if math.isnan(low) else [[mean - low], [high - mean]]
            axes[1].errorbar(mean, y, xerr=ends, fmt="D", color=colour, capsize=3)
    if not several:
        for guess, style in zip(found.baselines, _STYLES, strict=False):
            name = guess.name.replace("$", r"\$")
            mean = by * guess.baseline.mean(metric)
            axes[0].axvline(mean, color=_GREY, ls=style, lw=1, label=name)
        if found.baselines:  # above the figure, where no two names can lie on each other
            handles, names_of_lines = axes[0].get_legend_handles_labels()
            figure.legend(
                handles,
                names_of_lines,
                loc="outside upper left",
                ncols=len(handles),
                fontsize=7,
                frameon=False,
                labelcolor=_GREY,
            )
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    axes[0].set_xlabel(f"{title_of(metric)}{', %' * is_fraction(metric)}")
    if compared:
        axes[1].axvline(0, color="#555555", lw=1)
        margins = [row.margin.size for row in rows if row.margin is not None]
        axes[1].axvspan(-by * max(margins), by * max(margins), color=_GREY, alpha=0.15, lw=0)
        axes[1].set_xlabel(f"difference in {difference_unit(metric)}")
    for each in axes:
        each.grid(axis="x", color="#E4E4E4", linewidth=0.8)
        each.set_axisbelow(True)
        each.spines[["top", "right"]].set_visible(False)
    return figure
