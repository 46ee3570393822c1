"""What a study found, as numbers and in plain words."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ifmixup.errors import unknown_name
from ifmixup.safe_io import atomically
from ifmixup.study.protocols import Run, read
from ifmixup.study.reading import Reading
from ifmixup.study.record import Record
from ifmixup.study.statistics import holm, paired_difference, verdict
from ifmixup.study.study import Arm, Study
from ifmixup.study.table import rich_table, to_csv, to_json, to_latex, to_markdown
from ifmixup.study.table_row import Row
from ifmixup.training.task import difference_unit, higher_is_better

BASELINE = "none"


def _to_text(rows: Sequence[Row]) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(rich_table(rows))
    return console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above


def _unit(metric: str) -> str:
    unit = difference_unit(metric)
    return unit if higher_is_better(metric) else f"in {unit}, where lower is better"


FORMATS: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "text": (".txt", _to_text),
    "csv": (".csv", to_csv),
    "markdown": (".md", to_markdown),
    "latex": (".tex", to_latex),
    "json": (".json", to_json),
}


@dataclass(frozen=True)
class Comparison:
    """The arms of a study, compared with ``none`` on the same folds and seeds.

    Attributes:
        study: What was compared.
        runs: All finished and failed runs that belong to it.
        folder: Where the runs are stored.
        notes: What must be said with the numbers.
    """

    study: Study
    runs: list[Record]
    folder: Path
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> list[Record]:
        """The runs that failed."""
        return [record for record in self.runs if record.status == "failed"]

    def readings(self) -> dict[Arm, Reading]:
        """What was reached with each protocol, model and method that has finished runs."""
        found: dict[Arm, list[Run]] = {arm: [] for arm in self.study.settings}
        for record in self.runs:
            spec = record.spec
            if record.result is not None:
                arm = (spec.protocol, spec.settings.model, spec.settings.method)
                found[arm].append((spec, record.result))
        return {
            arm: read(runs, settings=self.study.settings[arm], pairs=self.study.splits.pairs)
            for arm, runs in found.items()
            if runs
        }

    def rows(self) -> list[Row]:
        """A row an arm, with the difference to ``none`` where that was run too.

        Holm's correction is over all differences of a protocol.
        """
        readings = self.readings()
        differences = {
            arm: paired_difference(
                reading.scores,
                readings[arm[0], arm[1], BASELINE].scores,
                self.study.splits.test_ratio,
            )
            for arm, reading in readings.items()
            if arm[2] != BASELINE and (arm[0], arm[1], BASELINE) in readings
        }
        adjusted: dict[Arm, float] = {}
        for protocol in {arm[0] for arm in differences}:
            together = [arm for arm in differences if arm[0] == protocol]
            values = holm([differences[arm].p_value for arm in together])
            adjusted |= dict(zip(together, values, strict=True))
        rows = []
        for arm, reading in readings.items():
            protocol, model, method = arm
            difference = differences.get(arm)
            rows.append(
                Row(
                    dataset=self.study.data.name,
                    model=model,
                    method=method,
                    protocol=protocol,
                    mean=reading.mean,
                    std_repeats=reading.std_over_repeats,
                    std_folds=reading.std_over_folds,
                    last=reading.last_mean,
                    difference=difference,
                    verdict=None
                    if difference is None
                    else verdict(
                        difference,
                        adjusted[arm],
                        higher_is_better=higher_is_better(reading.metric),
                    ),
                    runs=reading.runs,
                    failed=sum(reading.missing.values()),
                    optimistic=reading.optimistic,
                    adjusted_p=adjusted.get(arm),
                    metric=reading.metric,
                    undefined=len(reading.undefined),
                )
            )
        return rows

    def _pairs(self) -> str:
        """What the pairs of a difference are: the folds, or repeats of a single one."""
        return "folds" if any(fold for _, fold in self.study.splits.pairs) else "runs of one fold"

    def table(self, format: str = "text") -> str:
        """The table as ``text``, ``csv``, ``markdown``, ``latex`` or ``json``."""
        if format not in FORMATS:
            raise unknown_name("format", format, FORMATS)
        return FORMATS[format][1](self.rows())

    def verdict(self) -> str:
        """A line a comparison, in plain words that follow from the figures."""
        lines = []
        for row in self.rows():
            if row.difference is None or row.adjusted_p is None:
                continue
            p = "unknown" if math.isnan(row.adjusted_p) else f"{row.adjusted_p:.2g}"
            lines.append(
                f"{row.method} with {row.model} on {row.dataset} ({row.protocol}): {row.verdict}. "
                f"Difference to {BASELINE} {row.difference_text()} {_unit(row.metric)}, "
                f"p = {p}, {row.difference.pairs} {self._pairs()}."
            )
        if not lines:
            lines.append(f"Nothing to compare: {BASELINE} or the others are missing.")
        if self.failed:
            lines.append(
                f"{len(self.failed)} runs failed, the first with: {self.failed[0].error} "
                f"(ifmixup runs {self.folder} lists them)"
            )
        if len(self.study.splits.folds) == 1:
            lines.append("One fold shows no spread: with repeats it is trained on several times.")
        elif self.study.splits.are_one:
            lines.append(
                "All runs share one split of the graphs: intervals and p-values say how much the "
                "seed of the training matters, and nothing of what other test graphs would show."
            )
        if self.study.data.continuous and any(t[2] == "ifmixup" for t in self.study.settings):
            lines.append(
                f"{len(self.study.data.continuous)} of the {self.study.data.num_features} features "
                f"are continuous and were standardised on the training graphs of each fold: that "
                f"a mixed graph can be taken apart again is then not guaranteed."
            )
        return "\n".join([*lines, *self.notes])

    def save(self) -> list[Path]:
        """Write the table beside the runs in every format."""
        paths = []
        for name, (suffix, _) in FORMATS.items():
            path = self.folder / f"table{suffix}"
            with atomically(path) as unfinished:
                unfinished.write_text(self.table(name), encoding="utf-8")
            paths.append(path)
        return paths
