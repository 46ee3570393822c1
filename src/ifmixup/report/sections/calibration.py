"""What the metric does not show: how far confidence is off, and how long an epoch takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, stdev

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.report.chart import Grid, Panel, Series, colours
from ifmixup.report.html import Section
from ifmixup.report.studies import Studies
from ifmixup.training import RunResult


def calibration(studies: Studies, experiment: Experiment) -> Section | None:
    """Calibration error, loss and time by variant; None for the paper's figures."""
    panels = []
    if not experiment.is_figure:
        for (dataset, protocol), cells in studies.groups(experiment).items():
            for label, value in _MEASURES.items():
                panel = _panel(f"{dataset}, {protocol}", label, cells, value)
                if panel is not None:
                    panels.append(panel)
    if not panels:
        return None
    title = (
        "Mean over runs ± one standard deviation; calibration and loss on the test fold after the "
        "last epoch. Less is better."
    )
    grid = Grid(f"{experiment.name}-calibration", title, panels)
    return Section(experiment.name, "Calibration and time", [grid])


def _panel(
    title: str, label: str, cells: dict[str, Cell], value: Callable[[RunResult], float]
) -> Panel | None:
    series = []
    for row, (name, cell) in enumerate(cells.items()):
        found = [value(result) for result in cell.chosen_results()]
        found = [each for each in found if math.isfinite(each)]
        if found:
            mean, spread = fmean(found), stdev(found) if len(found) > 1 else 0.0
            series.append(
                Series(
                    name,
                    "mean",
                    [mean],
                    [row],
                    colours(cells)[name],
                    low=[mean - spread],
                    high=[mean + spread],
                )
            )
    return Panel(title, series, label, rows=list(cells)) if series else None


def _metric(name: str) -> Callable[[RunResult], float]:
    return lambda result: result.metrics.get(name, math.nan)


def _milliseconds(result: RunResult) -> float:
    epochs = max(map(len, result.curves.values()), default=0)
    return 1000 * result.seconds / epochs if epochs else math.nan


_MEASURES: dict[str, Callable[[RunResult], float]] = {
    "expected calibration error": _metric("ece"),
    "negative log-likelihood": _metric("nll"),
    "squared error": _metric("squared_error"),
    "milliseconds an epoch": _milliseconds,
}
