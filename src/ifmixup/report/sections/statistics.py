"""The paper's table of its datasets."""

from __future__ import annotations

from ifmixup.paper.dataset_table import HEAD, NOTE, dataset_rows
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.report.html import Entry, Section, notes, table
from ifmixup.report.studies import Studies

_TITLE = "statistics: The datasets"


def statistics(studies: Studies) -> Section | None:
    """The datasets that are on this machine; None where no experiment of the paper is shown."""
    if not any(each.name in EXPERIMENTS for each in studies.experiments):
        return None
    rows, missing = dataset_rows()
    said = [NOTE]
    if missing:
        said.append(f"Not on this machine, or damaged, and not counted: {', '.join(missing)}.")
    kinds = ["name", *["number"] * (len(HEAD) - 1)]
    head, *body = (
        [Entry(text, kind) for text, kind in zip(row, kinds, strict=True)] for row in (HEAD, *rows)
    )
    return Section("statistics", _TITLE, [table([head], [body], _TITLE), notes(said)])
