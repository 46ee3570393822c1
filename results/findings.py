"""Write ``findings.md`` from the published runs: the answer first, then what it rests on.

``python results/publish.py`` calls it. Every number of the page is read off the runs; a part whose
runs are missing says so, with the command that makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ifmixup.paper.cells import (
    counts_table,
    held_out_table,
    readings_table,
    temperature_table,
)
from ifmixup.paper.experiments import WHOLE_NODES
from ifmixup.paper.selection import selection_table
from ifmixup.paper.tables import study_table
from ifmixup.report import charts
from ifmixup.report.chart import Grid, Panel
from ifmixup.report.matplotlib_chart import draw
from ifmixup.report.save import save_figure
from ifmixup.report.studies import ShownStudy, Studies
from ifmixup.study.comparison import Comparison
from ifmixup.study.table import Table

HEADER = "# What we found\n"
NOTHING = "Nothing has been measured yet: `python results/run.py A`.\n"
READINGS = ("none", "ifmixup", WHOLE_NODES)


@dataclass(frozen=True)
class Part:
    """A part of the page: what it is about, the command behind it, and its tables."""

    title: str
    about: str
    command: str
    tables: Callable[[Sequence[Comparison]], Iterable[Table | None]]

    def text(self, comparisons: Sequence[Comparison]) -> str:
        """The part in Markdown."""
        made = [_markdown(table) for table in self.tables(comparisons) if table is not None]
        end = f"Made by `{self.command}`.\n" if made else f"Not run yet: `{self.command}`.\n"
        return "\n".join([f"## {self.title}\n", f"{self.about}\n", *made, end])


def _of_studies(name: str) -> Callable[[Sequence[Comparison]], Iterable[Table | None]]:
    """The tables of the studies whose names start with ``name``."""
    return lambda comparisons: [
        study_table(c) for c in comparisons if c.study.name.startswith(name) and c.rows
    ]


PARTS = (
    Part(
        "Does the existence of nodes matter?",
        "If only one graph of a pair has a node, does the mixture count it fully in READOUT and in "
        f"batch norm (`{WHOLE_NODES}`), or by its weight (`ifmixup`)? The paper does not say. The "
        "default is chosen on validation graphs, by a rule that was written down before any run.",
        "python results/run.py A",
        lambda found: [readings_table(found)],
    ),
    Part(
        "How near are we to the published numbers?",
        "Cells of the paper's two main tables, each a dataset, a model and a method.",
        "python results/run.py A B",
        lambda found: [counts_table(found)],
    ),
    Part(
        "What is choosing on the test folds worth?",
        "The paper chooses the epoch and the setting by the accuracy on the test folds. A method "
        "that does nothing, with three values of a Beta distribution to choose from, would gain "
        "from that alone.",
        "python results/run.py 5; python results/selection.py",
        lambda found: [selection_table(found)],
    ),
    Part(
        "Is a lower log-loss due to mixing?",
        "A model that is too sure of itself has a high log-loss, and dividing its logits by a "
        "temperature mends that without mixing. On NCI1 label smoothing is a second control.",
        "python results/run.py A 6",
        lambda found: [temperature_table(found), *_of_studies("calibration")(found)],
    ),
    Part(
        "Does it help with few labels?",
        "NCI1, held out, with equal optimiser steps.",
        "python results/run.py 6",
        _of_studies("few-labels"),
    ),
    Part(
        "Does it help against wrong labels?",
        "NCI1, held out; labels of training and validation graphs are flipped, those of test "
        "graphs are not.",
        "python results/run.py 6",
        _of_studies("label-noise"),
    ),
    Part(
        "Where do node weights count?",
        "In READOUT, in batch norm, or in both; GCN, under the paper's protocol.",
        "python results/ablation.py MUTAG PTC_MR NCI1",
        _of_studies("node-weight-"),
    ),
)


def findings(studies: Studies | None) -> str:
    """The page in Markdown."""
    comparisons = [each.comparison for each in studies.shown] if studies else []
    table = held_out_table(comparisons)
    if table is None:
        first = NOTHING
    else:
        answer, *notes = table.notes
        first = f"**{answer}**\n\n{_markdown(table, notes)}\nMade by `python results/run.py A`.\n"
    return "\n".join([HEADER, first, *(part.text(comparisons) for part in PARTS)])


def save_readings(studies: Studies | None, path: Path) -> bool:
    """Draw accuracy and test loss over the epochs, without mixing and with both readings, of the
    GCN table under the paper's protocol; returns whether there is anything to draw.
    """
    panels = [
        panel
        for shown in (studies.shown if studies else ())
        if shown.name == "gcn"
        for panel in _panels(shown)
    ]
    if panels:
        save_figure(draw(Grid(path.stem, "", panels)), path)
    return bool(panels)


def _panels(shown: ShownStudy) -> list[Panel]:
    """Two panels of each dataset on which all three were run."""
    section = charts.learning_curves(shown)
    panels = [] if section is None else [p for grid in section.grids for p in grid.panels]
    found = []
    for panel in panels:
        mine = {series.name: series for series in panel.series}
        dataset, protocol = panel.title.rsplit(", ", 1)
        whole = protocol == "paper" and all(name in mine for name in READINGS)
        if whole and panel.y_label != "training loss":
            found.append(Panel(dataset, [mine[n] for n in READINGS], "epoch", panel.y_label))
    return found


def _markdown(table: Table, notes: Sequence[str] | None = None) -> str:
    """A table under a heading of the page's own."""
    return replace(table, title="", notes=table.notes if notes is None else notes).markdown()
