"""What runs would have told after fewer epochs: whether shorter ones can stand for them.

The learning rate is halved every 50 epochs and depends on nothing that comes later, so that the
beginning of a run is exactly the shorter run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from ifmixup.paper.cell import Cell
from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.protocols import Run, read
from ifmixup.study.record import Record
from ifmixup.study.table_row import UNKNOWN, percent


def read_after(cell: Cell, epochs: int) -> float:
    """The mean accuracy of a cell, had its runs ended after so many epochs."""
    return read([run for record in cell.records if (run := _cut(record, epochs))]).mean


def fewer_epochs_table(cells: Sequence[Cell], lengths: Sequence[int]) -> str:
    """The accuracy of each cell in % after so many epochs, as Markdown.

    Args:
        cells: What was measured.
        lengths: Numbers of epochs; a cell that has fewer has no number there.
    """
    head = ("dataset", "table", "variant", "protocol", *(f"{n} epochs" for n in lengths))
    rows = [
        (
            *(cell.dataset, cell.experiment, cell.variant, cell.protocol),
            *(percent(read_after(cell, n)) if n <= cell.epochs else UNKNOWN for n in lengths),
        )
        for cell in cells
    ]
    return markdown_table(head, rows, names=4)


def gaps_table(cells: Sequence[Cell], lengths: Sequence[int]) -> str:
    """What ifMixup gains after so many epochs, in points and held out, as Markdown.

    The last lines are means over the comparisons that were trained for at least so long.
    """
    held_out = {
        (cell.dataset, cell.experiment, cell.variant): cell
        for cell in cells
        if cell.protocol == "holdout"
    }
    gaps = {
        (dataset, table): [
            read_after(with_, n) - read_after(without, n)
            if n <= min(with_.epochs, without.epochs)
            else math.nan
            for n in lengths
        ]
        for (dataset, table, variant), with_ in held_out.items()
        if variant == "ifmixup" and (without := held_out.get((dataset, table, "none")))
    }
    rows = [(*place, *(percent(gap, sign=True) for gap in row)) for place, row in gaps.items()]
    for longest in sorted(set(map(_known, gaps.values()))):
        alike = [row for row in gaps.values() if _known(row) >= longest]
        means = (percent(fmean(column), sign=True) for column in zip(*alike, strict=True))
        rows.append((f"mean of {len(alike)}", "", *means))
    head = ("dataset", "table", *(f"{n} epochs" for n in lengths))
    return markdown_table(head, rows, names=2)


def _known(row: Sequence[float]) -> int:
    return sum(not math.isnan(gap) for gap in row)


def _cut(record: Record, epochs: int) -> Run | None:
    if record.result is None:
        return None
    spec, result = record.spec, record.result
    curves = {name: values[:epochs] for name, values in result.curves.items()}
    shorter = replace(spec, settings=spec.settings.with_(epochs=epochs))
    return shorter, replace(result, curves=curves)
