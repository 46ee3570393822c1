"""How accurate and how steady models are after any epoch, where none is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.steady import second_half
from ifmixup.study.table_row import percent

_HEAD = (
    "dataset",
    "variant",
    "protocol",
    "accuracy without",
    "with",
    "difference",
    "jumps without",
    "with",
)


def later_accuracy(cell: Cell) -> float:
    """The mean test accuracy over folds and the second half of the epochs."""
    return fmean(fmean(curve) for curve in _later(cell))


def jump(cell: Cell) -> float:
    """How much the accuracy of a fold changes from one epoch to the next, on average."""
    return fmean(fmean(abs(b - a) for a, b in pairwise(curve)) for curve in _later(cell))


def steadiness_table(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Accuracy and jumps of the variants that are compared, and of what with, as Markdown."""
    mine = {(cell.dataset, cell.protocol, cell.variant): cell for cell in cells}
    rows = []
    for dataset in experiment.datasets:
        for protocol in ("holdout", "paper"):
            for variant in experiment.variants:
                with_ = mine.get((dataset, protocol, variant.name))
                without = mine.get((dataset, protocol, variant.against or ""))
                if with_ is None or without is None:
                    continue
                pair = without, with_
                before, after = map(later_accuracy, pair)
                rows.append(
                    (
                        dataset,
                        variant.name,
                        protocol,
                        percent(before),
                        percent(after),
                        percent(after - before, sign=True),
                        *(percent(jump(cell)) for cell in pair),
                    )
                )
    return markdown_table(_HEAD, rows, names=3)


def _later(cell: Cell) -> list[Sequence[float]]:
    return [second_half(result.curves["test_accuracy"]) for result in cell.chosen_results()]
