"""The charts of the report. Their numbers are those of the rows of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import numpy as np
from torch import Tensor

from ifmixup.paper.dataset_table import GraphSizes
from ifmixup.paper.dataset_table import graph_sizes as count_sizes
from ifmixup.paper.selection import selection
from ifmixup.paper.tables import lines
from ifmixup.report.chart import (
    PALETTE,
    Grid,
    Panel,
    Series,
    axis,
    colours,
    difference_axis,
    factor,
)
from ifmixup.report.html import Section, notes
from ifmixup.report.studies import ShownStudy, Studies, local_dataset
from ifmixup.study.protocols import defined
from ifmixup.study.rows import Row
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult
from ifmixup.training.task import title_of

_GREY, _ORANGE, _BLUE, _GREEN = PALETTE[:4]
_OF_PROTOCOL = {"holdout": (_BLUE, 0.0), "paper": (_ORANGE, 0.2), "last": (_GREEN, 0.35)}
_SPREAD = 0.32  # of the dots around their row
_POINTS = 120  # of a curve, at most: more cannot be seen
_BINS = 40  # of a histogram
_MOST_SIZES = 4  # datasets; the paper shows one
_MEASURES = {
    "expected calibration error": "ece",
    "log-loss": "nll",
    "squared error": "squared_error",
    "milliseconds per epoch": "milliseconds",
}


def means(shown: ShownStudy) -> Grid | None:
    """Means with their deviation, beside the published ones; None without runs."""
    found, by = lines(shown.comparison), factor(shown.metric)
    panels = []
    for dataset in shown.study.datasets:
        mine = [
            (shown.label(line.trial), line.row, line.published)
            for line in found
            if line.trial.dataset == dataset and line.row is not None
        ]
        rows = list(dict.fromkeys(label for label, _, _ in mine))
        printed = {label: published for label, _, published in mine if published}
        series = []
        if printed:
            values = [(rows.index(name), p.mean, p.std or 0.0) for name, p in printed.items()]
            series.append(_marks("published", values, _GREY, -0.25, by, hollow=True))
        for protocol, (colour, offset) in _OF_PROTOCOL.items():
            values = [
                (rows.index(label), row.reading.mean, row.reading.std_over_folds)
                for label, row, _ in mine
                if row.trial.protocol == protocol
            ]
            if values:
                series.append(_marks(protocol, values, colour, offset, by))
        if series:
            panels.append(Panel(dataset, series, axis(shown.metric), rows=rows))
    if not panels:
        return None
    title = f"Mean {title_of(shown.metric)}; lines are ± one standard deviation over folds"
    if any(line.published for line in found):
        title += " for ours and over repeats for the published"
    return Grid(f"{shown.name}-{shown.metric.replace('_', '-')}", f"{title}.", panels)


def figure_bars(shown: ShownStudy) -> Section | None:
    """The bars of an experiment that the paper draws; None for a table."""
    if not shown.is_figure:
        return None
    panels = [_bars(title, shown, rows) for title, rows in shown.groups.items()]
    about = "Mean accuracy ± one standard deviation over folds. The axis does not start at 0."
    return _section(shown, "bars", "As in the paper", about, panels)


def paired_dots(shown: ShownStudy) -> Section | None:
    """The differences to the baseline, one dot per fold; None if nothing is compared."""
    panels = []
    for title, rows in shown.groups.items():
        compared = {label: row for label, row in rows.items() if row.difference is not None}
        series: list[Series] = []
        bases: dict[str, None] = {}
        for number, (label, row) in enumerate(compared.items()):
            base = shown.base_of(row)
            assert base is not None  # there is a difference
            bases[shown.label(base.trial)] = None
            series += _differences(label, number, row, base, colours(rows)[label])
        if series:
            other = next(iter(bases)) if len(bases) == 1 else "its reference"
            label = difference_axis(shown.metric, other, row.reading.higher)
            panels.append(Panel(title, series, label, rows=list(compared), zero=True))
    about = (
        "Each dot is a fold. The diamond is the mean, its line the interval of the corrected "
        "t-test, of 95 % or more: the level of its step in Holm's correction for the number of "
        "differences. It excludes zero where the verdict is helps or hurts."
    )
    return _section(shown, "paired", "Fold by fold", about, panels)


def learning_curves(shown: ShownStudy) -> Section | None:
    """Loss and test metric by epoch, of the chosen settings; None for the paper's figures."""
    panels = []
    curves = (
        ("train_loss", "training loss", 1.0),
        (f"test_{shown.metric}", f"test {axis(shown.metric)}", factor(shown.metric)),
        ("test_loss", "test loss", 1.0),
    )
    for title, rows in () if shown.is_figure else shown.groups.items():
        for name, label, by in curves:
            found = [_curve(n, row, name, by, colours(rows)[n]) for n, row in rows.items()]
            series = [line for line in found if line is not None]
            if series:
                panels.append(Panel(title, series, "epoch", label))
    about = "Mean over folds and repeats; the band is ± one standard deviation."
    return _section(shown, "curves", "Learning curves", about, panels)


def calibration(shown: ShownStudy) -> Section | None:
    """Calibration error, loss and time by trial; None for the paper's figures."""
    panels = []
    for title, rows in () if shown.is_figure else shown.groups.items():
        for label, measure in _MEASURES.items():
            series = []
            for number, (name, row) in enumerate(rows.items()):
                found = [_measured(result, measure) for result in row.chosen_results()]
                found = [value for value in found if math.isfinite(value)]
                if found:
                    spread = stdev(found) if len(found) > 1 else 0.0
                    values = [(number, fmean(found), spread)]
                    series.append(_marks(name, values, colours(rows)[name]))
            if series:
                panels.append(Panel(title, series, label, rows=list(rows)))
    about = (
        "Mean over runs ± one standard deviation; calibration and loss on the test fold after the "
        "last epoch. Lower is better."
    )
    return _section(shown, "calibration", "Calibration and time", about, panels)


def expected_best(shown: ShownStudy) -> Section | None:
    """The expected best of n trainings that differ in nothing that matters, by dataset; None for
    any experiment but ``selection``.
    """
    if shown.experiment is None or shown.experiment.name != "selection":
        return None
    found = [selection(shown.comparison, dataset) for dataset in shown.study.datasets]
    panels = [
        Panel(
            each.dataset,
            [Series("none", "line", range(1, len(each.curve) + 1), each.curve, _GREY)],
            "trainings to choose from",
            "accuracy of the best, %",
        )
        for each in found
        if each is not None
    ]
    about = (
        "The same method, none, with every setting of the paper's grid and several seeds: what "
        "the best of n of these trainings has on average, chosen on the test folds."
    )
    return _section(shown, "best", "The best of many", about, panels)


def graph_sizes(studies: Studies) -> Section | None:
    """Nodes and edges before and after mixing: the paper's histograms, of the studies' datasets
    that are on this machine; None if none is.
    """
    datasets: dict[str, str | None] = {}
    for shown in studies.shown:
        for trial in shown.study.trials:
            # the paper's experiments may have been run on a part of a dataset
            datasets.setdefault(trial.dataset, None if shown.experiment else trial.data)
    panels, said = [], []
    for name, data in list(datasets.items())[:_MOST_SIZES]:
        sizes = _sizes(name, data)
        if sizes is None:
            said.append(f"{name} is not on this machine: its graphs are not counted.")
        else:
            panels.append(_histogram(name, "nodes", sizes.nodes, sizes.mixed_nodes))
            panels.append(_histogram(name, "edges", sizes.edges, sizes.mixed_edges))
    if not panels:
        return None
    if len(datasets) > _MOST_SIZES:
        said.append(f"The first {_MOST_SIZES} of {len(datasets)} datasets.")
    title = "Graphs by their number of nodes and of edges (both directions), before and after."
    parts = [Grid("graph-sizes", title, panels)]
    return Section("graph-sizes", "Graph sizes before and after mixing", [*parts, notes(said)])


def _section(
    shown: ShownStudy, kind: str, title: str, about: str, panels: Sequence[Panel]
) -> Section | None:
    """Panels under a heading; None if there are none."""
    if not panels:
        return None
    return Section(shown.name, title, [Grid(f"{shown.name}-{kind}", about, panels)])


def _marks(
    name: str,
    values: Sequence[tuple[int, float, float]],
    colour: str,
    offset: float = 0.0,
    by: float = 1.0,
    *,
    hollow: bool = False,
) -> Series:
    """Marks at (row, mean, spread)."""
    return Series(
        name,
        "mean",
        [by * mean for _, mean, _ in values],
        [row + offset for row, _, _ in values],
        colour,
        low=[by * (mean - spread) for _, mean, spread in values],
        high=[by * (mean + spread) for _, mean, spread in values],
        hollow=hollow,
    )


def _bars(title: str, shown: ShownStudy, rows: dict[str, Row]) -> Panel:
    assert shown.experiment is not None
    names = [variant.name.split(", ", 1) for variant in shown.experiment.variants]
    there = {value for method, value in names if f"{method}, {value}" in rows}
    values = [value for value in dict.fromkeys(value for _, value in names) if value in there]
    methods = list(dict.fromkeys(method for method, _ in names))
    series = []
    for method in methods:
        # all methods have all values, NaN where there is no run: bars of a value are neighbours
        found = [rows.get(f"{method}, {value}") for value in values]
        if not any(found):
            continue
        readings = [row.reading if row else None for row in found]
        mean = np.array([100 * each.mean if each else math.nan for each in readings])
        spread = np.array([100 * each.std_over_folds if each else math.nan for each in readings])
        ends = (mean - spread).tolist(), (mean + spread).tolist()
        colour = colours(methods)[method]
        series.append(Series(method, "bars", values, mean.tolist(), colour, *ends))
    lowest = 100 * min(row.reading.mean for row in rows.values())
    return Panel(title, series, y_label="accuracy, %", y_range=(max(0.0, lowest - 15), 100.0))


def _differences(label: str, number: int, row: Row, base: Row, colour: str) -> list[Series]:
    """The dots of a comparison, and its mean with the interval that the table has."""
    found, by = row.difference, factor(row.metric)
    assert found is not None
    mine, theirs = row.reading.scores, base.reading.scores
    dots = [by * (mine[pair] - theirs[pair]) for pair in sorted(mine.keys() & theirs.keys())]
    dots = [value for value in dots if math.isfinite(value)]
    if not dots:
        return []
    step = _SPREAD / max(1, len(dots) - 1)
    heights = [number + 0.05 + step * index for index in range(len(dots))]
    ends = ([by * found.low], [by * found.high]) if math.isfinite(found.low) else (None, None)
    return [
        Series(label, "dots", dots, heights, colour),
        Series(label, "mean", [by * found.mean], [number - 0.18], colour, *ends),
    ]


def _curve(label: str, row: Row, name: str, by: float, colour: str) -> Series | None:
    found = (result.curves for result in row.chosen_results())
    # a metric that is not defined on a fold has no curve there
    curves = [each[name] for each in found if name in each and defined(each[name])]
    length = min(map(len, curves), default=0)
    if not length:
        return None
    values = by * np.array([curve[:length] for curve in curves])
    at = np.unique(np.linspace(0, length - 1, min(length, _POINTS)).round().astype(int))
    mean, spread = values.mean(0)[at], values.std(0)[at]
    band = len(curves) > 1
    low, high = ((mean + sign * spread).round(6).tolist() if band else None for sign in (-1, 1))
    return Series(label, "line", (at + 1).tolist(), mean.tolist(), colour, low, high)


def _measured(result: RunResult, name: str) -> float:
    if name != "milliseconds":
        return result.metrics.get(name, math.nan)
    epochs = max(map(len, result.curves.values()), default=0)
    return 1000 * result.seconds / epochs if epochs else math.nan


def _sizes(name: str, data: str | None) -> GraphSizes | None:
    """The sizes of a dataset's graphs; None if these graphs are not on this machine."""
    dataset = local_dataset(name)
    if dataset is None or data not in (None, pack(dataset).fingerprint):
        return None
    return count_sizes(dataset)


def _histogram(dataset: str, what: str, before: Tensor, after: Tensor) -> Panel:
    largest = int(max(before.max(), after.max()))
    # Bins hold equally many whole numbers, else some would look higher. Both directions of an
    # edge are counted: their number is even.
    unit = 2 if what == "edges" else 1
    width = unit * math.ceil((largest + 1) / (unit * _BINS))
    edges = np.arange(0, largest + 1 + width, width)
    middles: Sequence[float] = (edges[:-1] + (width - 1) / 2).tolist()
    series = [
        Series(name, "steps", middles, np.histogram(sizes.numpy(), edges)[0].tolist(), colour)
        for name, sizes, colour in (("before", before, _BLUE), ("after mixing", after, _ORANGE))
    ]
    return Panel(dataset, series, what, "graphs")
