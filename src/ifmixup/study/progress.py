"""What a study shows while it runs: on a terminal a progress bar, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from ifmixup.study.engines.engine import Watcher
from ifmixup.study.record import Record
from ifmixup.study.running_means import RunningMeans
from ifmixup.training.run_spec import RunSpec

SECONDS_BETWEEN_LINES = 30.0
LINES_AT_LEAST = 10


class Progress(Watcher):
    """Shows runs done, running and failed, and the time left, counted in epochs.

    It is a watcher: give it to an engine, or tell it what happens. It writes to the standard
    error, so what a command prints can be piped.

    Args:
        total: How many runs will be executed.
        already: How many more were found in the store.
        epochs: How many epochs the runs have together; by default each run counts as one.
        means: Counts the runs that end, and tells the means over folds so far.
        file: Where to write.
        live: Whether to draw a bar; None for where there is a terminal.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        total: int,
        already: int = 0,
        *,
        epochs: int | None = None,
        means: RunningMeans | None = None,
        file: TextIO | None = None,
        live: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.already = total, already
        self.means = means
        self.done = self.failed = 0
        self._epochs, self._total_epochs = 0.0, epochs
        self._running: dict[str, int] = {}
        self._fitting: dict[str, float] = {}  # how far the fits of methods are
        self._clock, self._file = clock, file or sys.stderr
        console = Console(file=self._file)
        self._bar: Bar | None = None
        if console.is_terminal if live is None else live:
            self._bar = Bar(
                BarColumn(bar_width=20),
                # Long lines are folded, and names in them are not markup.
                TextColumn(
                    "{task.fields[told]}",
                    markup=False,
                    table_column=Column(no_wrap=False, overflow="fold"),
                ),
                console=console,
                transient=True,
                refresh_per_second=2,
                redirect_stdout=sys.stdout.isatty(),  # what is piped stays in the pipe
            )
            self._task = self._bar.add_task("", total=1.0, told="")
        self._said_at = self._began = clock()
        self._said_ended = 0

    def __enter__(self) -> Progress:
        self._began = self._said_at = self._clock()
        if self._bar is not None and self.total:
            self._bar.start()
        elif self.total:
            kept = f" ({self.already} are stored)" if self.already else ""
            self._say(f"{self.total} runs to do{kept}")
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self.total:
            self._running.clear()
            self._fitting.clear()
            stopped = "stopped, " if kind is not None else ""
            took = duration(self._clock() - self._began)
            self._say(f"{stopped}{self._counts()}, took {took}")

    def started(self, spec: RunSpec) -> None:
        """A run begins, or begins again."""
        self._running[spec.key] = 0
        self._fitting.pop(spec.key, None)
        self._update()

    def fitting(self, spec: RunSpec, share: float) -> None:
        """A run has done that share of fitting its method."""
        if spec.key in self._running:
            self._fitting[spec.key] = share
        self._update()

    def epoch(self, spec: RunSpec, number: int) -> None:
        """A run has done so many epochs."""
        self._fitting.pop(spec.key, None)
        if spec.key in self._running:
            self._running[spec.key] = number
        self._update()

    def finished(self, record: Record) -> None:
        """A run has ended, well or not."""
        self._running.pop(record.key, None)
        self._fitting.pop(record.key, None)
        self._epochs += record.spec.settings.epochs if self._total_epochs else 1
        if self.means is not None:
            self.means.add(record)
        self.failed += record.status == "failed"
        self.done += record.status == "done"
        self._update()

    def share(self) -> float:
        """The share of the epochs that are done."""
        whole = self._total_epochs or self.total
        under_way = sum(self._running.values()) if self._total_epochs else 0
        return min(1.0, (self._epochs + under_way) / whole) if whole else 1.0

    def left(self) -> float | None:
        """The seconds that are left, at the pace so far; None as long as nothing is known."""
        share = self.share()
        return (self._clock() - self._began) * (1 - share) / share if share else None

    def _update(self) -> None:
        left = self.left()
        told = self._counts() + ("" if left is None else f", {duration(left)} left")
        means = "" if self.means is None else self.means.text()
        if self._bar is not None:
            shown = f"{told}\n{means}" if means else told
            self._bar.update(self._task, completed=self.share(), told=shown)
            return
        # A line for a log, after a while or a tenth of the runs; the last one says the rest.
        ended = self.done + self.failed
        late = self._clock() - self._said_at >= SECONDS_BETWEEN_LINES
        if ended < self.total and (
            late or (ended - self._said_ended) * LINES_AT_LEAST >= self.total
        ):
            self._said_at, self._said_ended = self._clock(), ended
            self._say(f"{told}; {means}" if means else told)

    def _counts(self) -> str:
        shares = ", ".join(f"{100 * share:.0f} %" for share in self._fitting.values())
        fitting = f" (fitting the method: {shares})" if shares else ""
        under_way = f", {len(self._running)} running{fitting}" if self._running else ""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.total} runs done{under_way}{failed}"

    def _say(self, text: str) -> None:
        print(text, file=self._file, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people say them: ``42 s``, ``3 min 10 s``, ``2 h 5 min``."""
    whole = max(int(seconds > 0), round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
