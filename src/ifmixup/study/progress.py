"""What a study shows while it runs: on a terminal a live display, else a line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ifmixup.study.engines.engine import Outcome
from ifmixup.study.time_left import TimeLeft
from ifmixup.training import RunResult, RunSpec
from ifmixup.training.score import signed
from ifmixup.training.task import TITLES

SECONDS_BETWEEN_LINES = 30.0
LINES_AT_LEAST = 10


class Progress:
    """Shows runs done, running and failed, the time left and the best run so far.

    It is a watcher: give it to an engine, or tell it what happens. It writes to the standard
    error, so that what a command prints can be piped.

    Args:
        total: How many runs will be executed.
        already: How many more there are that were found in the store.
        file: Where to write.
        live: Whether to draw a live display; None for where there is a terminal.
        clock: Tells the time in seconds.

    Example:
        >>> with Progress(len(tasks)) as progress:
        ...     for outcome in engine.execute(tasks, data, progress):
        ...         store.add(outcome)
    """

    def __init__(
        self,
        total: int,
        already: int = 0,
        *,
        file: TextIO | None = None,
        live: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self.already = already
        self.done = 0
        self.failed = 0
        self.best: tuple[float, RunSpec] | None = None
        self.metric = "accuracy"
        self.time_left = TimeLeft(total, clock)
        self._clock = clock
        self._file = file or sys.stderr
        console = Console(file=self._file)
        self._live: Live | None = None
        if console.is_terminal if live is None else live:
            self._live = Live(
                console=console,
                get_renderable=self._render,
                refresh_per_second=2,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # what is piped stays in the pipe
            )
        self._said_at = self._began = clock()
        self._said_ended = 0

    def __enter__(self) -> Progress:
        self._began = self._said_at = self._clock()
        if self._live is not None:
            self._live.start()
        elif self.total:
            kept = f" ({self.already} are there already)" if self.already else ""
            self._say(f"{self.total} runs to do{kept}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self.total:
            took = duration(self._clock() - self._began)
            stopped = "stopped, " if error is not None else ""
            self._say(f"{stopped}{self._counts(running=0)}, took {took}{self._best()}")

    def started(self, spec: RunSpec) -> None:
        """A run begins, or begins again."""
        self.time_left.started(spec)

    def epoch(self, spec: RunSpec, number: int) -> None:
        """A run has done so many epochs."""
        self.time_left.epoch(spec, number)
        self._now_and_then()

    def finished(self, outcome: Outcome) -> None:
        """A run has ended, well or not."""
        self.time_left.finished(outcome.spec, failed=outcome.error is not None)
        if outcome.result is None:
            self.failed += 1
        else:
            self.done += 1
            self._compare(outcome.spec, outcome.result)
        self._now_and_then()

    def _compare(self, spec: RunSpec, result: RunResult) -> None:
        """Keep the best run so far, by validation where there is one.

        The test fold is not for looking at on the way.
        """
        self.metric = result.metric
        curve = result.curves.get(f"validation_{self.metric}")
        values = curve or [result.metrics.get(self.metric, math.nan)]
        best = max(values, key=lambda value: signed(value, self.metric))
        if math.isnan(best):
            return
        if self.best is None or signed(best, self.metric) > signed(self.best[0], self.metric):
            self.best = (best, spec)

    def _now_and_then(self) -> None:
        """A line for a log, after a while or a tenth of the runs; the last one says the rest."""
        ended = self.done + self.failed
        if self._live is not None or ended >= self.total:
            return
        if (
            self._clock() - self._said_at >= SECONDS_BETWEEN_LINES
            or (ended - self._said_ended) * LINES_AT_LEAST >= self.total
        ):
            self._said_at, self._said_ended = self._clock(), ended
            self._say(f"{self._counts(self.time_left.running)}{self._left()}{self._best()}")

    def _render(self) -> Group:
        ended = self.done + self.failed
        line = Table.grid(padding=(0, 1))
        line.add_row(
            ProgressBar(max(1, self.total), ended, width=30),
            Text(f"{self._counts(self.time_left.running)}{self._left()}"),
        )
        return Group(line, Text(self._best().removeprefix(", ")))

    def _counts(self, running: int) -> str:
        under_way = f", {running} running" if running else ""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.total} runs done{under_way}{failed}"

    def _left(self) -> str:
        left = self.time_left.left()
        return "" if left is None else f", {duration(left)} left"

    def _best(self) -> str:
        if self.best is None:
            return ""
        value, spec = self.best
        name = f"{spec.settings.model} {spec.settings.method}"
        if self.metric != "accuracy":
            name = f"{name} {TITLES[self.metric]}"
        return f", best so far: {name} {value:.3f} (fold {spec.fold})"

    def _say(self, text: str) -> None:
        print(text, file=self._file, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people say them: ``42 s``, ``3 min 10 s``, ``2 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
