"""How training went: loss and test metric by epoch, with a band over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.report.chart import Grid, Panel, Series, axis, colours, factor
from ifmixup.report.html import Section
from ifmixup.report.studies import Studies
from ifmixup.study.protocols import defined

_POINTS = 120  # of a line, at most: more cannot be seen


def learning_curves(studies: Studies, experiment: Experiment) -> Section | None:
    """Curves of the chosen settings, a line a variant; None for the paper's figures.

    Where variants are not all compared with the same one, each comparison has a panel of its own.
    """
    if experiment.is_figure:
        return None
    metric = studies.metric(experiment)
    tested = f"test_{metric}", f"test {axis(metric)}", factor(metric)
    if len({variant.against for variant in experiment.variants} - {None}) > 1:
        panels = _comparisons(studies, experiment, *tested)
    else:
        panels = []
        for (dataset, protocol), cells in studies.groups(experiment).items():
            for name, label, times in (("train_loss", "training loss", 1.0), tested):
                series = [
                    line
                    for variant, colour in colours(cells).items()
                    if (line := _line(cells[variant], name, times, colour)) is not None
                ]
                if series:
                    panels.append(Panel(f"{dataset}, {protocol}", series, "epoch", label))
    if not panels:
        return None
    title = "Mean over folds and repeats; the band is ± one standard deviation."
    grid = Grid(f"{experiment.name}-curves", title, panels)
    return Section(experiment.name, "Learning curves", [grid])


def _comparisons(
    studies: Studies, experiment: Experiment, curve: str, label: str, times: float
) -> list[Panel]:
    """The test curve of each variant and of the one that it is compared with."""
    panels = []
    for (dataset, protocol), cells in studies.groups(experiment).items():
        for variant in experiment.variants:
            if variant.name not in cells or variant.against not in cells:
                continue
            series = []
            pair = cells[variant.against], cells[variant.name]
            # "none, no dropout" is none in all panels
            names = [cell.variant.split(", ")[0] for cell in pair]
            for cell, name in zip(pair, names, strict=True):
                line = _line(cell, curve, times, colours(names)[name])
                if line is not None:
                    series.append(replace(line, name=name))
            title = f"{dataset}, {protocol}: {variant.name.split(', ', 1)[-1]}"
            panels.append(Panel(title, series, "epoch", label))
    return panels


def _line(cell: Cell, name: str, times: float, colour: str) -> Series | None:
    found = (result.curves for result in cell.chosen_results())
    # a metric that is not defined on a fold has no curve there
    curves = [each[name] for each in found if name in each and defined(each[name])]
    length = min(map(len, curves), default=0)
    if not length:
        return None
    values = times * np.array([curve[:length] for curve in curves])
    at = np.unique(np.linspace(0, length - 1, min(length, _POINTS)).round().astype(int))
    mean, spread = values.mean(0)[at], values.std(0)[at]
    band = len(curves) > 1
    return Series(
        cell.variant,
        "line",
        (at + 1).tolist(),
        mean.tolist(),
        colour,
        low=_rounded(mean - spread) if band else None,
        high=_rounded(mean + spread) if band else None,
    )


def _rounded(values: np.ndarray) -> Sequence[float]:
    found: list[float] = values.round(6).tolist()
    return found
