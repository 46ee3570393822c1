"""The paper's figures: a panel a dataset, groups of bars, a bar a method."""

from __future__ import annotations

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.report.chart import Grid, Panel, Series, colour_of
from ifmixup.report.section import Section
from ifmixup.report.studies import Studies


def figure_bars(studies: Studies, experiment: Experiment) -> Section | None:
    """The bars of an experiment that the paper draws; None of one that it prints as a table."""
    groups = studies.groups(experiment)
    if not experiment.is_figure or not groups:
        return None
    panels = [
        _panel(f"{dataset}, {protocol}", experiment, cells)
        for (dataset, protocol), cells in groups.items()
    ]
    title = "Mean accuracy ± one standard deviation over folds. The axis does not start at 0."
    grid = Grid(f"{experiment.name}-bars", title, panels)
    return Section(experiment.name, "As the paper draws it", [grid])


def _panel(title: str, experiment: Experiment, cells: dict[str, Cell]) -> Panel:
    names = [variant.name.split(", ", 1) for variant in experiment.variants]
    methods = list(dict.fromkeys(method for method, _ in names))
    values = list(dict.fromkeys(value for _, value in names))
    series = []
    for place, method in enumerate(methods):
        mine = {value: cells.get(f"{method}, {value}") for value in values}
        there = {value: cell.reading for value, cell in mine.items() if cell is not None}
        if not there:
            continue
        mean = [100 * reading.mean for reading in there.values()]
        spread = [100 * reading.std_over_folds for reading in there.values()]
        series.append(
            Series(
                method,
                "bars",
                list(there),
                mean,
                colour_of(method, place),
                low=[at - by for at, by in zip(mean, spread, strict=True)],
                high=[at + by for at, by in zip(mean, spread, strict=True)],
            )
        )
    lowest = min(min(each.y) for each in series)
    return Panel(title, series, y_label="accuracy, %", y_range=(max(0.0, lowest - 15), 100.0))
