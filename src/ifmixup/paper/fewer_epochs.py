"""What runs would have told after fewer epochs: whether shorter ones can stand for them.

The learning rate is halved every 50 epochs and depends on nothing that comes later, so that the
beginning of a run is exactly the shorter run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ifmixup.paper.cell import Cell
from ifmixup.study.markdown_table import markdown_table
from ifmixup.study.protocols import Run, read
from ifmixup.study.record import Record
from ifmixup.study.table_row import percent


def read_after(cell: Cell, epochs: int) -> float:
    """The mean accuracy of a cell, had its runs ended after so many epochs."""
    return read([run for record in cell.records if (run := _cut(record, epochs))]).mean


def fewer_epochs_table(cells: Sequence[Cell], lengths: Sequence[int]) -> str:
    """The accuracy of each cell in % after so many epochs, as Markdown.

    Args:
        cells: What was measured; those with fewer epochs than the last of ``lengths`` are left out.
        lengths: Numbers of epochs, in order.
    """
    head = ("dataset", "table", "variant", "protocol", *(f"{n} epochs" for n in lengths))
    rows = [
        (
            *(cell.dataset, cell.experiment, cell.variant, cell.protocol),
            *(percent(read_after(cell, epochs)) for epochs in lengths),
        )
        for cell in cells
        if cell.epochs >= lengths[-1]
    ]
    return markdown_table(head, rows, names=4)


def _cut(record: Record, epochs: int) -> Run | None:
    if record.result is None:
        return None
    spec, result = record.spec, record.result
    curves = {name: values[:epochs] for name, values in result.curves.items()}
    shorter = replace(spec, settings=spec.settings.with_(epochs=epochs))
    return shorter, replace(result, curves=curves)
