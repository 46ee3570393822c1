"""Rows of results as a table: on the terminal, as CSV, Markdown, LaTeX and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ifmixup.safe_io import printable, printable_lines
from ifmixup.study.table_row import NOTE, Row
from ifmixup.training.task import TITLES, is_fraction

__all__ = ["Row", "rich_table", "to_csv", "to_json", "to_latex", "to_markdown"]

_HEAD = (
    "dataset",
    "model",
    "method",
    "protocol",
    "{metric} ± folds",
    "± repeats",
    "last epoch",
    "difference to none [95 %]",
    "verdict",
    "runs",
)
LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "*": "$^*$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def rich_table(rows: Sequence[Row]) -> Table:
    """A table for a terminal of 80 columns or more.

    Rows of the same dataset, model and protocol stand together under a line that names them.
    The deviation over repeats has a column where there are repeats; differences and verdicts have
    theirs where something is compared.
    """
    repeated = any(not math.isnan(row.std_repeats) for row in rows)
    compared = any(row.difference is not None for row in rows)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption=Text(printable_lines("\n".join(_notes(rows)))),
        caption_justify="left",
    )
    table.add_column("method", no_wrap=True)
    table.add_column(f"{_metric(rows)}\n± folds", no_wrap=True)
    if repeated:
        table.add_column("±\nrepeats", justify="right", no_wrap=True)
    table.add_column("last\nepoch", justify="right", no_wrap=True)
    if compared:
        table.add_column("difference to\nnone [95 %]", no_wrap=True)
        table.add_column("verdict", min_width=10)  # the longest word
    group = None
    for row in rows:
        own_group = (row.dataset, row.model, row.protocol)
        if own_group != group:
            if group is not None:
                table.add_section()
            name = Text(printable(f"{row.dataset} {row.model}"), style="bold")
            table.add_row(name, Text(row.protocol, style="bold"))
            group = own_group
        cells = [row.method, row.score_text()]
        cells += [row.text(row.std_repeats)] * repeated
        cells += [row.text(row.last)]
        cells += [row.difference_text(), row.verdict or ""] * compared
        table.add_row(*(Text(cell) for cell in cells))
    return table


def to_json(rows: Sequence[Row]) -> str:
    """A list of objects with all figures, unrounded; null for what is not known."""
    return json.dumps([row.figures() for row in rows], indent=1, ensure_ascii=False) + "\n"


def to_csv(rows: Sequence[Row]) -> str:
    """All figures, unrounded; empty for what is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = [row.figures() for row in rows]
    if figures:
        writer.writerow(figures[0])
    writer.writerows(each.values() for each in figures)
    return text.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """A table with rounded figures for a README or an issue."""
    lines = [_head(rows), ["---"] * len(_HEAD), *map(_cells, rows)]
    table = [f"| {' | '.join(_in_markdown(cell) for cell in line)} |" for line in lines]
    notes = [_in_markdown(note) for note in _notes(rows)]
    return "\n".join([*table, *(f"\n{note}" for note in notes), ""])


def to_latex(rows: Sequence[Row]) -> str:
    r"""A ``tabular`` with rounded figures; the document needs ``\usepackage{booktabs}``."""
    lines = [
        " & ".join(map(_in_latex, line)) + r" \\" for line in (_head(rows), *map(_cells, rows))
    ]
    notes = [
        rf"\multicolumn{{{len(_HEAD)}}}{{p{{\linewidth}}}}{{\footnotesize {_in_latex(note)}}} \\"
        for note in _notes(rows)
    ]
    parts = [rf"\begin{{tabular}}{{{'l' * len(_HEAD)}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*parts, *lines[1:], r"\bottomrule", *notes, r"\end{tabular}", ""])


def _metric(rows: Sequence[Row]) -> str:
    return " / ".join(dict.fromkeys(TITLES[row.metric] for row in rows)) or "accuracy"


def _head(rows: Sequence[Row]) -> list[str]:
    return [name.format(metric=_metric(rows)) for name in _HEAD]


def _cells(row: Row) -> list[str]:
    return [
        row.dataset,
        row.model,
        row.method,
        row.protocol,
        row.score_text(),
        row.text(row.std_repeats),
        row.text(row.last),
        row.difference_text(),
        row.verdict or "",
        f"{row.runs} ({row.failed} failed)" if row.failed else str(row.runs),
    ]


def _notes(rows: Sequence[Row]) -> list[str]:
    """What must be read with the numbers."""
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows) or ("accuracy",):
        title = TITLES[metric][0].upper() + TITLES[metric][1:]
        if is_fraction(metric):
            notes.append(f"{title} in %, differences in points.")
        else:
            notes.append(f"{title} in the units of the target; lower is better.")
    if any(row.optimistic for row in rows):
        notes.append(f"* {NOTE}")
    notes += [
        f"{row.dataset} {row.model} {row.method} ({row.protocol}): {row.failed} of "
        f"{row.runs + row.failed} runs failed and are not in these numbers."
        for row in rows
        if row.failed
    ]
    notes += [
        f"{row.dataset} {row.model} {row.method} ({row.protocol}): on {row.undefined} folds the "
        f"{TITLES[row.metric]} is not defined, as all graphs are of one class there."
        for row in rows
        if row.undefined
    ]
    return notes


def _in_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", text).replace("\n", " ")


def _in_latex(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)
