"""What a study found, as numbers and in plain words: the one place that compares trials."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifmixup.errors import import_extra, known_name
from ifmixup.safe_io import atomically, printable, printable_lines
from ifmixup.study.protocols import Pair, Reading, read
from ifmixup.study.record import Record
from ifmixup.study.statistics import Difference, Margin, judge, paired_difference
from ifmixup.study.store import explained
from ifmixup.study.study import Candidate, Study, Trial
from ifmixup.study.table import UNKNOWN, Table, difference_text, grouped_table, metric_text
from ifmixup.training.run import RunResult
from ifmixup.training.task import (
    IN_UNITS,
    difference_unit,
    higher_is_better,
    is_fraction,
    signed,
    title_of,
)

if TYPE_CHECKING:
    from rich.table import Table as RichTable

OPTIMISTIC = (
    "optimistic: the paper's protocol chooses the epoch, and the setting where there are several, "
    "on the test folds themselves, so these numbers tend to be too good."
)

_NAMES = ("dataset", "name", "model", "method", "protocol")


@dataclass(frozen=True)
class Row:
    """What was measured of one trial, and how it compares.

    Attributes:
        trial: The trial.
        reading: Its numbers, fold by fold.
        records: Its finished runs.
        difference: To the trial that it is compared with, on the same folds; None where there is
            none.
        adjusted_p: The p-value of the difference after Holm's correction over all differences of
            the study under this protocol. The interval has the level of its step of the
            correction, and the verdict follows from it.
        verdict: What the difference says, in plain words.
        best: Whether no other trial of the dataset and protocol has a better mean.
    """

    trial: Trial
    reading: Reading
    records: Sequence[Record]
    difference: Difference | None = None
    adjusted_p: float | None = None
    verdict: str | None = None
    best: bool = False

    @property
    def metric(self) -> str:
        """What its numbers are of."""
        return self.reading.metric

    @property
    def score(self) -> float:
        """Its mean, with the sign that makes more better."""
        return signed(self.reading.mean, self.metric)

    @property
    def failed(self) -> int:
        """How many runs should be there and are not."""
        return sum(self.reading.missing.values())

    @property
    def chosen(self) -> dict[Pair, Candidate]:
        """The setting that was chosen for each fold."""
        return {p: self.trial.candidates[c.candidate] for p, c in self.reading.chosen.items()}

    def chosen_results(self) -> list[RunResult]:
        """The runs that the number rests on: those of the chosen setting, fold by fold."""
        by_key = {record.key: record.result for record in self.records}
        chosen = [
            by_key.get(self.trial.keys[self.reading.chosen[pair].candidate][index])
            for index, pair in enumerate(self.trial.pairs)
            if pair in self.reading.chosen
        ]
        return [result for result in chosen if result is not None]

    @property
    def fit_seconds(self) -> float | None:
        """How long fitting the method took per fold, on average; None where it fits nothing."""
        found = [result.fit_seconds for result in self.chosen_results()]
        known = [seconds for seconds in found if seconds is not None]
        return math.fsum(known) / len(known) if known else None

    def text(self, value: float, *, sign: bool = False) -> str:
        """A number of the metric: a fraction in per cent, an error in its own units."""
        return metric_text(self.metric, value, self.reading.mean, sign=sign)

    def score_text(self, *, over_repeats: bool = False) -> str:
        """Mean and standard deviation over folds, or over repeats where that is asked for and there
        are several, as the paper's; with a star if optimistic.
        """
        std = self.reading.std_over_repeats if over_repeats else math.nan
        std = self.reading.std_over_folds if math.isnan(std) else std
        spread = "" if math.isnan(std) else f" ± {self.text(std)}"
        return f"{self.text(self.reading.mean)}{spread}{'*' if self.reading.optimistic else ''}"

    def difference_text(self) -> str:
        """The difference with its interval, in points if the metric is a fraction."""
        if self.difference is None:
            return ""
        return difference_text(self.difference, self.metric, self.reading.mean)

    def figures(self) -> dict[str, Any]:
        """Everything, unrounded, with None for what is not known."""
        found = self.difference
        values: dict[str, Any] = {
            **{name: getattr(self.trial, name) for name in _NAMES},
            "metric": self.metric,
            "mean": self.reading.mean,
            "std_folds": self.reading.std_over_folds,
            "std_repeats": self.reading.std_over_repeats,
            "last": self.reading.last_mean,
            "against": self.trial.against,
            "difference": found and found.mean,
            **{name: getattr(found, name, None) for name in ("low", "high", "p_value")},
            "adjusted_p": self.adjusted_p,
            "verdict": self.verdict,
            "pairs": found and found.pairs,
            "runs": self.reading.runs,
            "failed": self.failed,
            "undefined": len(self.reading.undefined),
            "epochs": self.trial.epochs,
            "fit_seconds": self.fit_seconds,
            "optimistic": self.reading.optimistic,
        }
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }


def compare_trials(study: Study, records: Mapping[str, Record]) -> list[Row]:
    """Compare the trials of a study by its runs; trials without a finished run have no row.

    Each trial is compared with the one that it names, on the folds that both have. Holm's
    correction is over all differences of a protocol. Of equal settings the first in the grid wins.
    """
    done = {key: record.result for key, record in records.items() if record.result is not None}
    rows = [
        Row(trial, reading, [records[k] for keys in trial.keys for k in keys if k in records])
        for trial in study.trials
        if (reading := read(_results(trial, done), trial.protocol, trial.pairs, study.metric))
        is not None
    ]
    readings = {id(row.trial): row.reading for row in rows}
    bases = {}
    for i, row in enumerate(rows):
        base = readings.get(id(study.against(row.trial)))
        if base is not None:
            difference = paired_difference(row.reading.scores, base.scores, row.trial.test_ratio)
            rows[i], bases[i] = replace(row, difference=difference), base.mean
    for protocol in study.protocols:
        family = {
            i: row.difference
            for i, row in enumerate(rows)
            if row.trial.protocol == protocol and row.difference is not None
        }
        margins = [margin_of(rows[i].metric, bases[i]) for i in family]
        found = judge(list(family.values()), margins)
        for i, each in zip(family, found, strict=True):
            rows[i] = replace(
                rows[i],
                difference=each.difference,
                adjusted_p=each.adjusted_p,
                verdict=each.verdict,
            )
    return [replace(row, best=_is_best(row, rows)) for row in rows]


@dataclass(frozen=True)
class Comparison:
    """The trials of a study, compared on the same folds and seeds.

    Attributes:
        study: What was compared.
        runs: All finished and failed runs that belong to it.
        folder: Where the runs are stored; None where they are not.
    """

    study: Study
    runs: list[Record]
    folder: Path | None = None

    @cached_property
    def rows(self) -> list[Row]:
        """One row per trial that has finished runs, in the order of the study."""
        return compare_trials(self.study, {record.key: record for record in self.runs})

    @property
    def failed(self) -> list[Record]:
        """The runs that failed."""
        return [record for record in self.runs if record.status == "failed"]

    def best(self, protocol: str | None = None) -> Row | None:
        """The row with the best mean under a protocol, by default the study's first."""
        wanted = protocol or self.study.protocols[0]
        mine = [row for row in self.rows if row.trial.protocol == wanted]
        return max(mine, key=lambda row: row.score, default=None)

    def table(self, format: str = "text") -> str:
        """The table as ``text``, ``csv``, ``markdown``, ``latex`` or ``json``."""
        known_name("format", format, FORMATS)
        from rich.console import Console

        stream = io.StringIO()
        figures = [row.figures() for row in self.rows]
        if format == "text":
            Console(file=stream, width=100, force_terminal=False).print(self.rich_table())
        elif format == "csv":
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([*figures[:1], *(each.values() for each in figures)])
        elif format == "json":
            stream.write(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
        else:
            made = self._table()
            stream.write(made.markdown() if format == "markdown" else made.latex())
        return stream.getvalue()

    def to_dataframe(self) -> Any:
        """All figures, unrounded, as a ``pandas.DataFrame`` with one row per trial."""
        pandas = import_extra("pandas", "pandas")
        return pandas.DataFrame([row.figures() for row in self.rows])

    def verdict(self) -> str:
        """One line per comparison, in plain words that follow from the figures."""
        lines = [_sentence(row) for row in self.rows if row.difference is not None]
        if not lines:
            lines.append("Nothing to compare: the baseline or the others are missing.")
        if self.failed:
            where = "" if self.folder is None else f" (ifmixup runs {self.folder} lists them)"
            lines.append(
                f"{len(self.failed)} runs failed, the first with: {self.failed[0].error}{where}"
            )
        return "\n".join([*lines, *self.study.notes])

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

    def __str__(self) -> str:
        return f"{self.table()}\n{self.verdict()}"

    def _repr_html_(self) -> str:
        made = self._table()
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in made.rows
        )
        head = "".join(f"<th>{html.escape(text)}</th>" for text in made.head)
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self.verdict().splitlines())
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in made.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}{said}"

    def rich_table(self) -> RichTable:
        """A table for a terminal of 80 columns or more.

        Rows of the same dataset, model and protocol stand together under a line that names them.
        The deviation over repeats has a column where there are repeats; differences and verdicts
        have theirs where something is compared.
        """
        from rich.table import Column
        from rich.text import Text

        repeated = any(not math.isnan(row.reading.std_over_repeats) for row in self.rows)
        compared = any(row.difference is not None for row in self.rows)
        columns = [
            Column("method", no_wrap=True),
            Column(f"{metric_title(self.rows)}\n± folds", no_wrap=True),
            *[Column("±\nrepeats", justify="right", no_wrap=True)] * repeated,
            Column("last\nepoch", justify="right", no_wrap=True),
        ]
        if compared:
            bases = [self.study.against(row.trial) for row in self.rows]
            methods = {base.method for base in bases if base is not None}
            other = methods.pop() if len(methods) == 1 else "baseline"
            title = Text(f"difference to\n{printable(other)} [95 %]")
            columns.append(Column(title, no_wrap=True))
            columns.append(Column("verdict", min_width=10))  # the longest word
        rows = []
        for row in self.rows:
            group = printable(f"{row.trial.dataset} {row.trial.model}"), row.trial.protocol
            cells = [printable(row.trial.method), row.score_text()]
            cells += [row.text(row.reading.std_over_repeats)] * repeated
            cells += [row.text(row.reading.last_mean)]
            cells += [row.difference_text(), row.verdict or ""] * compared
            rows.append((group, cells, ""))
        said = [*notes(self.rows), *_fits(self.rows)]
        return grouped_table(columns, rows, printable_lines("\n".join(said)))

    def _table(self) -> Table:
        columns: dict[str, Callable[[Row], str]] = {
            "dataset": lambda row: row.trial.dataset,
            "model": lambda row: row.trial.model,
            "method": lambda row: row.trial.method,
            "protocol": lambda row: row.trial.protocol,
            f"{metric_title(self.rows)} ± folds": Row.score_text,
            "± repeats": lambda row: row.text(row.reading.std_over_repeats),
            "last epoch": lambda row: row.text(row.reading.last_mean),
            "difference [95 %]": Row.difference_text,
            "verdict": lambda row: row.verdict or "",
            "runs": lambda row: (
                f"{row.reading.runs}" + f" ({row.failed} failed)" * bool(row.failed)
            ),
        }
        if any(row.fit_seconds is not None for row in self.rows):
            columns["fit per fold"] = _fit_text
        rows = [[text(row) for text in columns.values()] for row in self.rows]
        bold = {(i, 4) for i, row in enumerate(self.rows) if row.best}
        return Table(list(columns), rows, names=4, notes=notes(self.rows), bold=bold)


FORMATS = {"text": ".txt", "csv": ".csv", "markdown": ".md", "latex": ".tex", "json": ".json"}


def metric_title(rows: Sequence[Row]) -> str:
    """What the numbers of rows are called."""
    return " / ".join(dict.fromkeys(title_of(row.metric) for row in rows)) or "accuracy"


def notes(rows: Sequence[Row]) -> list[str]:
    """What must be read with the numbers."""
    said = []
    for metric in dict.fromkeys(row.metric for row in rows) or ("accuracy",):
        title = title_of(metric)[0].upper() + title_of(metric)[1:]
        units = "in %, differences in points" if is_fraction(metric) else ""
        units = "in the units of the target" if metric in IN_UNITS else units
        lower = "" if higher_is_better(metric) else "lower is better"
        if units or lower:
            said.append(f"{title}{' ' * bool(units)}{'; '.join(filter(None, (units, lower)))}.")
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
            said.append(
                f"{name}: on {len(row.reading.undefined)} folds the {title_of(row.metric)} is not "
                f"defined, because all graphs are of one class there."
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
    return [f"Fitted to the training graphs of a fold in: {', '.join(told)}."] if told else []


def margin_of(metric: str, base: float, margin: float = 1.0) -> Margin:
    """The largest difference that does not matter: in points, or for a metric that is not a
    fraction in per cent of the baseline's mean.
    """
    if is_fraction(metric):
        name = f"{margin:g} point{'s' * (margin != 1)}"
        return Margin(margin / 100, name, higher_is_better(metric))
    name = f"{margin:g} % of the baseline's {title_of(metric)}"
    return Margin(margin / 100 * abs(base), name, higher_is_better(metric))


def _results(trial: Trial, done: Mapping[str, RunResult]) -> list[dict[Pair, RunResult]]:
    """The finished runs of each candidate, by (repeat, fold)."""
    return [
        {pair: done[key] for pair, key in zip(trial.pairs, keys, strict=True) if key in done}
        for keys in trial.keys
    ]


def _is_best(row: Row, rows: Sequence[Row]) -> bool:
    """Whether no trial of the same dataset and protocol has a better mean."""
    trial = row.trial
    rivals = [r for r in rows if (r.trial.data, r.trial.protocol) == (trial.data, trial.protocol)]
    return -math.inf < row.score == max(rival.score for rival in rivals)


def _sentence(row: Row) -> str:
    """A comparison in words."""
    found, trial = row.difference, row.trial
    assert found is not None
    assert row.adjusted_p is not None
    p = "unknown" if math.isnan(row.adjusted_p) else f"{row.adjusted_p:.2g}"
    unit = difference_unit(row.metric)
    if not higher_is_better(row.metric):
        unit = f"in {unit}, where lower is better"
    folds = {fold for _, fold in trial.pairs}
    pairs = "folds" if len(folds) > 1 else "runs of one fold"
    other = trial.against or UNKNOWN
    return (
        f"{trial.name} on {trial.dataset} ({trial.protocol}): {row.verdict}. Difference to {other} "
        f"{row.difference_text()} {unit}, Holm-adjusted p = {p}, {found.pairs} {pairs}."
    )
