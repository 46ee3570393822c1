"""The paper's figures: a panel a dataset, groups of bars, a bar a method."""

from __future__ import annotations

import math

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.report.chart import Grid, Panel, Series, colours
from ifmixup.report.html import Section
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
    there = {value for method, value in names if f"{method}, {value}" in cells}
    values = [value for value in dict.fromkeys(value for _, value in names) if value in there]
    series = []
    methods = colours(method for method, _ in names)
    for method, colour in methods.items():
        # all methods have all values, NaN where there is no cell: bars of a value stand together
        found = [cells.get(f"{method}, {value}") for value in values]
        if not any(found):
            continue
        mean = [math.nan if cell is None else 100 * cell.reading.mean for cell in found]
        spread = [math.nan if cell is None else 100 * cell.reading.std_over_folds for cell in found]
        series.append(
            Series(
                method,
                "bars",
                values,
                mean,
                colour,
                low=[at - by for at, by in zip(mean, spread, strict=True)],
                high=[at + by for at, by in zip(mean, spread, strict=True)],
            )
        )
    lowest = 100 * min(cell.reading.mean for cell in cells.values())
    return Panel(title, series, y_label="accuracy, %", y_range=(max(0.0, lowest - 15), 100.0))
