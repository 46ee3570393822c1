"""An experiment's numbers, ours beside the published ones, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.study.statistics import Difference, paired_difference
from ifmixup.study.table_row import NOTE, UNKNOWN, metric_text, percent
from ifmixup.training.score import signed
from ifmixup.training.task import TITLES, higher_is_better, is_fraction

HEAD = (
    "dataset",
    "variant",
    "protocol",
    "ours",
    "published",
    "difference",
    "to baseline [95 %]",
    "relative",
    "runs",
)

_WIDE = 95  # a terminal that has room for all columns


@dataclass(frozen=True)
class Line:
    """A cell with what it is compared with.

    Attributes:
        cell: The cell.
        baseline: The difference to the variant that it is compared with, on the same folds; None
            where there is none.
        relative: How much more than that one, as a fraction of it.
        best: Whether no other variant of the dataset and protocol is better.
    """

    cell: Cell
    baseline: Difference | None
    relative: float | None
    best: bool

    def texts(self) -> list[str]:
        """As :data:`HEAD` wants it: fractions in per cent and points, errors in their units."""
        reading, printed = self.cell.reading, self.cell.published
        mean = metric_text(reading.metric, reading.mean, reading.mean)
        spread = reading.std_over_repeats
        spread = reading.std_over_folds if math.isnan(spread) else spread
        deviation = "" if printed is None or printed.std is None else f" ± {percent(printed.std)}"
        found = self.baseline
        return [
            self.cell.dataset,
            self.cell.variant,
            self.cell.protocol,
            f"{mean} ± {metric_text(reading.metric, spread, reading.mean)}"
            f"{'*' if reading.optimistic else ''}",
            UNKNOWN if printed is None else f"{percent(printed.mean)}{deviation}",
            UNKNOWN if self.cell.difference is None else percent(self.cell.difference, sign=True),
            "" if found is None else interval(found, reading.metric, reading.mean),
            "" if self.relative is None else f"{percent(self.relative, sign=True)} %",
            f"{reading.runs} x {self.cell.epochs}",
        ]


def interval(found: Difference, metric: str = "accuracy", size: float = math.nan) -> str:
    """A difference and its 95 % interval.

    Args:
        found: The difference.
        metric: What it is in; a fraction is written in points.
        size: What another metric's decimals follow from, such as the mean itself.
    """
    mean, low, high = (
        metric_text(metric, value, size, sign=True) for value in (found.mean, found.low, found.high)
    )
    if math.isnan(found.low):  # one fold, or the same difference on all
        return mean
    return f"{mean} [{low}, {high}]"


def lines(experiment: Experiment, cells: Sequence[Cell]) -> list[Line]:
    """The cells of an experiment in the order of the paper, each compared with its baseline."""
    names = [variant.name for variant in experiment.variants]
    against = {variant.name: variant.against for variant in experiment.variants}
    mine = [cell for cell in cells if cell.experiment == experiment.name]
    mine.sort(
        key=lambda cell: (
            experiment.datasets.index(cell.dataset),
            cell.protocol,
            names.index(cell.variant),
        )
    )
    found = []
    for cell in mine:
        rivals = [c for c in mine if (c.dataset, c.protocol) == (cell.dataset, cell.protocol)]
        base = next((c for c in rivals if c.variant == against[cell.variant]), None)
        found.append(
            Line(
                cell=cell,
                baseline=paired_difference(
                    cell.reading.scores, base.reading.scores, cell.test_ratio
                )
                if base is not None
                else None,
                relative=_relative(cell, base) if base is not None else None,
                best=_score(cell) == max(map(_score, rivals)) > -math.inf,
            )
        )
    return found


def _score(cell: Cell) -> float:
    return signed(cell.reading.mean, cell.reading.metric)


def _relative(cell: Cell, base: Cell) -> float | None:
    more, than = cell.reading.mean, base.reading.mean
    return more / than - 1 if than and math.isfinite(more / than) else None


def rich_table(experiment: Experiment, cells: Sequence[Cell], width: int = 80) -> Table:
    """A table for the terminal: a line a variant, under the name of its dataset.

    Args:
        experiment: The experiment.
        cells: What was measured.
        width: The terminal's; a narrow one does not show what the other columns tell already.
    """
    found = lines(experiment, cells)
    table = Table(
        title=f"{experiment.name}: {experiment.title}",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption=Text("\n".join(notes(found))),
        caption_justify="left",
    )
    table.add_column("variant", min_width=17)  # the longest method
    heads = {"ours": "ours", "runs": "runs x\nepochs"}
    if any(line.cell.published for line in found):
        heads |= {"published": "published", "difference": "differ-\nence"}
    if any(line.baseline for line in found):
        heads["to baseline [95 %]"] = "to baseline\n[95 %]"
        if width >= _WIDE:
            heads["relative"] = "rela-\ntive"
    shown = [name for name in HEAD if name in heads]
    for name in shown:
        # only names and the interval may take two lines where there is no room
        table.add_column(heads[name], no_wrap="[95 %]" not in name, justify="right")
    group = None
    for line in found:
        own_group = (line.cell.dataset, line.cell.protocol)
        if own_group != group:
            if group is not None:
                table.add_section()
            table.add_row(Text(" ".join(own_group), style="bold"))
            group = own_group
        texts = dict(zip(HEAD, line.texts(), strict=True))
        style = "bold" if line.best else ""
        row = [texts[name] for name in ("variant", *shown)]
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def notes(found: Sequence[Line]) -> list[str]:
    """What must be read with the numbers."""
    metric = found[0].cell.reading.metric if found else "accuracy"
    title = TITLES[metric][0].upper() + TITLES[metric][1:]
    unit = " in %" if is_fraction(metric) else ""
    said = [f"{title}{unit}, ± over repeats, or over folds where there is one; best in bold."]
    if not higher_is_better(metric):
        said.append(f"Less {TITLES[metric]} is better.")
    if any(line.cell.reading.optimistic for line in found):
        said.append(f"* {NOTE}")
    missing = sum(sum(line.cell.reading.missing.values()) for line in found)
    if missing:
        said.append(f"{missing} runs are not there (yet) and not in these numbers.")
    undefined = {(line.cell.dataset, at) for line in found for at in line.cell.reading.undefined}
    if undefined:
        said.append(
            f"Folds where {TITLES[metric]} is not defined, and which are not in these numbers: "
            f"{len(undefined)}."
        )
    return said
