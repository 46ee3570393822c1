"""An experiment's table: ours beside the published numbers, one protocol beside the other."""

from __future__ import annotations

from collections.abc import Sequence

from ifmixup.paper.experiments import EXPERIMENTS, Experiment
from ifmixup.paper.table import HEAD, Line, lines, notes
from ifmixup.report.chart import Grid, Panel, Series, axis, factor
from ifmixup.report.html import Entry, Html, Section, table
from ifmixup.report.html import notes as small_print
from ifmixup.report.studies import Studies
from ifmixup.training.task import TITLES, is_fraction

_PROTOCOLS = {"holdout": "holdout", "paper": "paper*"}
_HEADS = {"difference": "less published", "runs": "runs × epochs"}
_COLOURS = {"published": "#878D96", "holdout": "#2E86C1", "paper": "#D95F0E"}
_FULL_TINT = 0.05  # a difference in accuracy that has the full colour


def experiment_table(studies: Studies, experiment: Experiment) -> Section | None:
    """The table of an experiment, and its means as marks with their deviation."""
    found = lines(experiment, studies.of(experiment))
    if not found:
        return None
    said = notes(found)
    parts: list[Html | Grid] = [_table(experiment, found, studies.metric(experiment))]
    if any(line.cell.protocol == "holdout" for line in found):
        said.append("holdout: the honest number. Held-out training graphs choose the epoch.")
    if any(line.cell.published for line in found):
        said.append("Blue: ours is higher than published; orange: lower.")
    parts.append(small_print(said))
    if not experiment.is_figure:
        parts.append(_means(experiment, found, studies.metric(experiment)))
    return Section(experiment.name, _title(experiment), parts)


def _title(experiment: Experiment) -> str:
    of_paper = experiment.name in EXPERIMENTS
    return f"{experiment.name}: {experiment.title}" if of_paper else experiment.title


def _table(experiment: Experiment, found: Sequence[Line], metric: str) -> Html:
    """A column a measure and protocol: the honest number stands beside the optimistic one."""
    protocols = [name for name in _PROTOCOLS if any(x.cell.protocol == name for x in found)]
    printed = any(line.cell.published for line in found)
    measures = ["ours"]
    measures += ["difference"] if printed else []
    measures += ["to baseline [95 %]", "relative"] if any(x.baseline for x in found) else []
    measures += ["runs"]
    first = [Entry("variant", "name", rows=2)]
    first += [Entry("published", "number", rows=2)] * printed
    heads = {**_HEADS, "ours": "ours, %" if is_fraction(metric) else f"ours, {TITLES[metric]}"}
    first += [Entry(heads.get(m, m), "measure", columns=len(protocols)) for m in measures]
    second = [
        Entry(_PROTOCOLS[p], "number edge" if p == protocols[0] else "number")
        for _ in measures
        for p in protocols
    ]
    groups = []
    for dataset in experiment.datasets:
        mine = {
            (line.cell.variant, line.cell.protocol): line
            for line in found
            if line.cell.dataset == dataset
        }
        variants = [v.name for v in experiment.variants if any(v.name == key[0] for key in mine)]
        width = 1 + printed + len(protocols) * len(measures)
        rows = [[Entry(dataset, "name dataset", columns=width)]]
        for variant in variants:
            row = [Entry(variant, "name")]
            if printed:
                either = next(line for (name, _), line in mine.items() if name == variant)
                row.append(Entry(_texts(either)["published"], "number"))
            row += [
                _entry(mine.get((variant, p)), measure, edge=p == protocols[0])
                for measure in measures
                for p in protocols
            ]
            rows.append(row)
        if variants:
            groups.append(rows)
    return table([first, second], groups, _title(experiment))


def _entry(line: Line | None, measure: str, *, edge: bool) -> Entry:
    classes, tint = ["number", *["edge"] * edge], None
    if line is None:
        return Entry("", " ".join(classes))
    difference = line.cell.difference
    if measure == "ours" and line.best:
        classes.append("best")
    if measure in ("ours", "difference") and difference is not None:
        classes.append("higher" if difference > 0 else "lower")
        tint = min(1.0, abs(difference) / _FULL_TINT)
    if measure == "runs":
        classes.append("faint")
    return Entry(_texts(line)[measure].replace(" x ", " × "), " ".join(classes), tint)


def _texts(line: Line) -> dict[str, str]:
    return dict(zip(HEAD, line.texts(), strict=True))


def _means(experiment: Experiment, found: Sequence[Line], metric: str) -> Grid:
    panels, by = [], factor(metric)
    for dataset in experiment.datasets:
        mine = [line.cell for line in found if line.cell.dataset == dataset]
        rows = [v.name for v in experiment.variants if any(c.variant == v.name for c in mine)]
        series = []
        printed = {c.variant: c.published for c in mine if c.published is not None}
        if printed:
            spread = [by * (p.std or 0.0) for p in printed.values()]
            mean = [by * p.mean for p in printed.values()]
            places = [rows.index(name) - 0.25 for name in printed]
            series.append(_marks("published", mean, places, spread, hollow=True))
        for protocol, offset in (("holdout", 0.0), ("paper", 0.25)):
            cells = [c for c in mine if c.protocol == protocol]
            if cells:
                spread = [by * c.reading.std_over_folds for c in cells]
                mean = [by * c.reading.mean for c in cells]
                places = [rows.index(c.variant) + offset for c in cells]
                series.append(_marks(protocol, mean, places, spread))
        if series:
            panels.append(Panel(dataset, series, axis(metric), rows=rows))
    title = f"Mean {TITLES[metric]}; lines are ± one standard deviation, over folds for ours"
    if any(line.cell.published for line in found):
        title += " and over repeats for the published"
    return Grid(f"{experiment.name}-{metric.replace('_', '-')}", f"{title}.", panels)


def _marks(
    name: str,
    mean: Sequence[float],
    places: Sequence[float],
    spread: Sequence[float],
    *,
    hollow: bool = False,
) -> Series:
    return Series(
        name,
        "mean",
        mean,
        places,
        _COLOURS[name],
        low=[at - by for at, by in zip(mean, spread, strict=True)],
        high=[at + by for at, by in zip(mean, spread, strict=True)],
        hollow=hollow,
    )
