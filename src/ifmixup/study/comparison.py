"""What a study found: its table in every format, its verdicts and its answer."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifmixup.errors import import_extra, known_name
from ifmixup.safe_io import atomically, printable, printable_lines
from ifmixup.study.answer import answer
from ifmixup.study.numbers import INTERVAL, UNKNOWN
from ifmixup.study.record import Record
from ifmixup.study.rows import (
    BaselineRow,
    Contrast,
    baseline_rows,
    compare_models,
    compare_trials,
    contrast_sentence,
    in_bold,
    sentence,
    shown_metrics,
    titles,
)
from ifmixup.study.rows import Row as Row
from ifmixup.study.store import explained
from ifmixup.study.study import Study
from ifmixup.study.table import Table, TerminalRow, TerminalTable
from ifmixup.training.task import IN_UNITS, is_fraction, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPTIMISTIC = (
    "optimistic: the paper's protocol chooses the epoch, and the setting where there are several, "
    "on the test folds themselves, so these numbers tend to be too good."
)
FORMATS = {"text": ".txt", "csv": ".csv", "markdown": ".md", "latex": ".tex", "json": ".json"}
BASELINES = "baselines"
_WIDTH = 100  # of a table as text


@dataclass(frozen=True)
class Comparison:
    """The trials of a study, compared on the same folds and seeds.

    Attributes:
        study: What was compared.
        runs: All finished and failed runs that belong to it.
        folder: Where the runs are stored; None if they are not.
    """

    study: Study
    runs: list[Record]
    folder: Path | None = None

    @cached_property
    def rows(self) -> list[Row]:
        """One row per trial that has finished runs, in the order of the study."""
        return compare_trials(self.study, {record.key: record for record in self.runs})

    @cached_property
    def baselines(self) -> list[BaselineRow]:
        """What guesses without the graphs' structure get: the first rows of the table."""
        return baseline_rows(self.study, self.rows)

    @cached_property
    def models(self) -> list[Contrast]:
        """Every two models against each other, both without augmentation."""
        return compare_models(self.study, self.rows)

    @property
    def failed(self) -> list[Record]:
        """The runs that failed."""
        return [record for record in self.runs if record.status == "failed"]

    @property
    def beside(self) -> list[str]:
        """The metrics that are shown beside the one that decides."""
        return shown_metrics(self.study, self.rows)

    def best(self, protocol: str | None = None) -> Row | None:
        """The row with the best mean under a protocol, by default the study's first."""
        wanted = protocol or self.study.protocols[0]
        mine = [row for row in self.rows if row.trial.protocol == wanted]
        return max(mine, key=lambda row: row.rank, default=None)

    def answer(self, config: Mapping[str, Any] | None = None) -> str:
        """What was found, as a paragraph; the last line is the command that trains the best.

        Args:
            config: Options of the command that ``study.json`` does not have, such as the folder of
                a file.
        """
        return answer(self, config)

    def verdict(self) -> str:
        """One line per comparison, in words."""
        lines = [sentence(row) for row in self.rows if row.difference is not None]
        lines += map(contrast_sentence, self.models)
        if not lines:
            lines.append("Nothing to compare: the baseline or the others are missing.")
        if self.failed:
            where = "" if self.folder is None else f" (ifmixup runs {self.folder} lists them)"
            failed = "1 run" if len(self.failed) == 1 else f"{len(self.failed)} runs"
            lines.append(f"{failed} failed, the first with: {self.failed[0].error}{where}")
        return "\n".join([*lines, *self.study.notes])

    def table(self, format: str = "text") -> str:
        """The table as ``text``, ``csv``, ``markdown``, ``latex`` or ``json``."""
        known_name("format", format, FORMATS)
        from rich.console import Console

        stream = io.StringIO()
        if format == "text":
            # in a notebook Rich would show the table itself and leave the text empty
            console = Console(file=stream, width=_WIDTH, force_terminal=False, force_jupyter=False)
            console.print(self.rich_table())
        elif format == "csv":
            figures = self.figures()
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([*figures[:1], *(each.values() for each in figures)])
        elif format == "json":
            stream.write(json.dumps(self.figures(), indent=1, ensure_ascii=False) + "\n")
        elif format == "markdown":
            stream.write(self._table().markdown())
        else:
            stream.write(self._table(papers=True).latex())
        return stream.getvalue()

    def figures(self) -> list[dict[str, Any]]:
        """All figures, unrounded, one row per guess without graphs and per trial."""
        rows: list[BaselineRow | Row] = [*self.baselines, *self.rows]
        found = [
            {**row.figures(), **{each: _finite(_mean(row, each)) for each in self.beside}}
            for row in rows
        ]
        names = dict.fromkeys(name for each in reversed(found) for name in each)
        return [{name: each.get(name) for name in names} for each in found]

    def to_dataframe(self) -> Any:
        """:meth:`figures` as a ``pandas.DataFrame``."""
        pandas = import_extra("pandas", "pandas")
        return pandas.DataFrame(self.figures())

    def plot(self) -> Figure:
        """Means, and differences with their intervals, as a ``matplotlib`` figure."""
        from ifmixup.study.plot import plot

        return plot(self)

    def save(self) -> list[Path]:
        """Write the table beside the runs in every format, as ``table.md`` and so on."""
        if self.folder is None:
            return []
        paths = []
        for name, suffix in FORMATS.items():
            path = self.folder / f"table{suffix}"
            with explained(path), atomically(path) as unfinished:
                unfinished.write_text(self.table(name), encoding="utf-8")
            paths.append(path)
        return paths

    def __repr__(self) -> str:
        shown = f"{len(self.study.trials)} trials, {len(self.runs)} runs"
        return f"{type(self).__name__}({self.study.title!r}, {shown})"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        made = self._table()
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in made.rows
        )
        head = "".join(f"<th>{html.escape(text)}</th>" for text in made.head)
        said, _, command = self.answer().partition("\n")
        code = f"<pre>{html.escape(command)}</pre>" if command else ""
        small = [*made.notes, *self.study.notes]
        notes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in small)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<div style='overflow-x:auto'>{table}</div><p>{html.escape(said)}</p>{code}{notes}"

    @property
    def reference(self) -> str:
        """What differences are to: the method, such as ``none``, or ``reference`` if trials are
        compared with several.
        """
        bases = [self.study.against(row.trial) for row in self.rows]
        methods = {base.method for base in bases if base is not None}
        return printable(methods.pop()) if len(methods) == 1 else "reference"

    def rich_table(self) -> TerminalTable:
        """A table for a terminal of any width.

        Rows of the same dataset, model and protocol stand together under a line that names them,
        after what a guess without graphs gets. The deviation over repeats has a column where there
        are repeats, what a grid chose where there is a grid; differences and verdicts have theirs
        where something is compared.
        """
        repeated = any(not math.isnan(row.reading.std_over_repeats) for row in self.rows)
        compared = any(row.difference is not None for row in self.rows)
        searched = any(row.chosen_text() for row in self.rows)
        several = len({(row.trial.dataset, row.trial.protocol) for row in self.rows}) > 1
        head = ["method", f"{metric_title(self.rows)}\n± folds"]
        head += ["±\nrepeats"] * repeated
        head += [title_of(metric).replace(" ", "\n") for metric in self.beside]
        head += ["at last\nepoch"]
        first_text = len(head)
        if compared:
            head += [f"difference to\n{self.reference} {INTERVAL}", "verdict"]
        head += ["chosen"] * searched
        rows = []
        bold = in_bold(self.baselines, self.rows) if several else set()
        for i, guess in enumerate(self.baselines):
            cells = [printable(guess.name), guess.score_text(), *[""] * repeated]
            cells += [guess.other_text(metric) for metric in self.beside]
            cells += [""] * (len(head) - len(cells))
            group = [printable(guess.baseline.dataset), BASELINES]
            rows.append(TerminalRow(group, cells, "bold" if i in bold else ""))
        for i, row in enumerate(self.rows, start=len(self.baselines)):
            group = [printable(f"{row.trial.dataset} {row.trial.model}"), row.trial.protocol]
            cells = [printable(row.trial.method), row.score_text()]
            cells += [row.text(row.reading.std_over_repeats)] * repeated
            cells += [row.other_text(metric) for metric in self.beside]
            cells += [row.text(row.reading.last_mean)]
            cells += [row.difference_text(), row.verdict or ""] * compared
            cells += [row.chosen_text()] * searched
            rows.append(TerminalRow(group, cells, "bold" if i in bold else ""))
        return TerminalTable(
            head,
            rows,
            printable_lines("\n".join([*notes(self.rows), *_fits(self.rows)])),
            wraps={0, *range(first_text + 1, len(head))},
            left={0, 1, *range(first_text, len(head))},
        )

    def _table(self, *, papers: bool = False) -> Table:
        """The table for documents; for ``papers`` without prose, and with proper names."""
        columns: dict[str, Callable[[Row], str]] = {
            "dataset": lambda row: row.trial.dataset,
            "model": lambda row: titles(row.trial)[0] if papers else row.trial.model,
            "method": lambda row: titles(row.trial)[1] if papers else row.trial.method,
            "protocol": lambda row: row.trial.protocol,
            f"{metric_title(self.rows)} ± folds": Row.score_text,
            "± repeats": lambda row: row.text(row.reading.std_over_repeats),
            **{title_of(each): _other(each) for each in self.beside},
            "at last epoch": lambda row: row.text(row.reading.last_mean),
            f"difference {INTERVAL}": Row.difference_text,
            "verdict": lambda row: row.verdict or "",
            "chosen": Row.chosen_text,
            "runs": lambda row: (
                f"{row.reading.runs}" + f" ({row.failed} failed)" * bool(row.failed)
            ),
        }
        if any(row.fit_seconds is not None for row in self.rows):
            columns["fit per fold"] = _fit_text
        if papers:
            if any(row.difference is not None for row in self.rows):  # two columns of numbers
                columns["difference"] = lambda row: row.difference_text().partition(" ")[0]
                columns[INTERVAL] = lambda row: row.difference_text().partition(" ")[2]
            same = {
                "protocol": len(self.study.protocols) < 2,
                "± repeats": all(math.isnan(row.reading.std_over_repeats) for row in self.rows),
                f"difference {INTERVAL}": True,
                **dict.fromkeys(
                    ["at last epoch", "runs", "verdict", "chosen", "fit per fold"], True
                ),
            }
            columns = {name: text for name, text in columns.items() if not same.get(name)}
        elif not any(row.chosen_text() for row in self.rows):
            del columns["chosen"]
        names = [name for name in ("dataset", "model", "method", "protocol") if name in columns]
        rows = [self._guess(guess, list(columns)) for guess in self.baselines]
        rows += [[text(row) for text in columns.values()] for row in self.rows]
        before = len(self.baselines)
        bold = {(i, len(names)) for i in in_bold(self.baselines, self.rows)}
        groups = [row[:2] for row in rows]
        rules = {i for i in range(1, len(rows)) if groups[i] != groups[i - 1] and papers}
        rules -= set(range(1, before))
        said = [*notes(self.rows), *_protocol_note(self.study, papers)]
        return Table(list(columns), rows, names=len(names), notes=said, bold=bold, rules=rules)

    def _guess(self, guess: BaselineRow, columns: Sequence[str]) -> list[str]:
        """The cells of a guess without graphs."""
        texts = {
            "dataset": guess.baseline.dataset,
            "model": guess.name,
            "method": UNKNOWN,
            f"{metric_title(self.rows)} ± folds": guess.score_text(),
            **{title_of(metric): guess.other_text(metric) for metric in self.beside},
        }
        return [texts.get(name, "") for name in columns]


def metric_title(rows: Sequence[Row]) -> str:
    """What the numbers of rows are called."""
    return " / ".join(dict.fromkeys(title_of(row.metric) for row in rows)) or "accuracy"


def notes(rows: Sequence[Row]) -> list[str]:
    """What must be read with the numbers."""
    said = []
    ways = {row.metric: row.reading.higher for row in rows} or {"accuracy": True}
    for metric, higher in ways.items():
        title = title_of(metric)[0].upper() + title_of(metric)[1:]
        units = "in %, differences in points" if is_fraction(metric) else ""
        units = "in the units of the target" if metric in IN_UNITS else units
        lower = "" if higher else "lower is better"
        if units or lower:
            said.append(
                f"{title}{' ' if units else ': '}{'; '.join(filter(None, (units, lower)))}."
            )
    if any(row.difference is not None for row in rows):
        said.append(
            "Each interval has the level of its step in Holm's correction, 95 % or more: it "
            "excludes zero where the Holm-adjusted p is below 0.05."
        )
    if any(row.reading.optimistic for row in rows):
        said.append(f"* {OPTIMISTIC}")
    for row in rows:
        trial = row.trial
        name = f"{trial.dataset} {trial.name} ({trial.protocol})"
        if row.failed:
            said.append(
                f"{name}: {row.failed} of {row.reading.runs + row.failed} runs are missing or "
                f"failed and are not in these numbers."
            )
        if row.reading.undefined:
            count = len(row.reading.undefined)
            said.append(
                f"{name}: on {count} fold{'s' * (count > 1)} the {title_of(row.metric)} is not "
                f"defined, because all graphs there have the same class."
            )
    return said


def _fit_text(row: Row) -> str:
    return "" if row.fit_seconds is None else f"{row.fit_seconds:.2g} s"


def _fits(rows: Sequence[Row]) -> list[str]:
    """How long methods were fitted, for a table that has no room for another column."""
    longest: dict[str, Row] = {}
    for row in rows:
        known = longest.setdefault(row.trial.method, row)
        if (row.fit_seconds or 0) > (known.fit_seconds or 0):
            longest[row.trial.method] = row
    told = [f"{name} {_fit_text(row)}" for name, row in longest.items() if row.fit_seconds]
    return [f"Time to fit on the training graphs of a fold: {', '.join(told)}."] if told else []


def _protocol_note(study: Study, papers: bool) -> list[str]:
    """Under which protocol, where the table does not have a column for it."""
    if not papers or len(study.protocols) != 1:
        return []
    return [f"Protocol: {study.protocols[0]}."]


def _other(metric: str) -> Callable[[Row], str]:
    return lambda row: row.other_text(metric)


def _mean(row: Row | BaselineRow, metric: str) -> float:
    return row.mean_of(metric) if isinstance(row, Row) else row.baseline.mean(metric)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
