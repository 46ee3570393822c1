"""How every benchmark measures: ways in turn, medians, and a file with results and versions."""

from __future__ import annotations

import json
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
import torch
import torch_geometric
from rich.console import Console
from rich.table import Table

from ifmixup.errors import DatasetError

C = TypeVar("C")

RESULTS = Path(__file__).parent.parent / "results"
REPEATS = 5


@dataclass(frozen=True)
class Time:
    """Milliseconds of a way: the median of its repeats, the least and the most."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(times: list[float]) -> Time:
        return Time(statistics.median(times), min(times), max(times))

    def __str__(self) -> str:
        return f"{self.median:.3g} ms ({self.least:.3g} to {self.most:.3g})"


@dataclass(frozen=True)
class Figure:
    """A figure, and the least or the most that it should be."""

    what: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool:
        if self.at_least is not None:
            return self.measured >= self.at_least
        return self.at_most is None or self.measured <= self.at_most

    @property
    def reach(self) -> str:
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return "" if self.at_most is None else f"at most {self.at_most:g}"


def in_turn(
    ways: dict[str, Callable[[], object]],
    repeats: int = REPEATS,
    *,
    times: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Time]:
    """Milliseconds of each way, called ``times`` times in a repeat.

    They run one after the other, because a busy moment then hits all; a first round warms up. With
    ``time.process_time`` as ``clock`` only the time of this process counts.
    """
    measured: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(1 + repeats):
        for name, way in ways.items():
            start = clock()
            for _ in range(times):
                way()
            if repeat > 0:
                measured[name].append(1e3 * (clock() - start) / times)
    return {name: Time.of(values) for name, values in measured.items()}


class PeakMemory:
    """The resident memory of this process: before, and the most while the block runs; in bytes."""

    def __enter__(self) -> PeakMemory:
        self.process, self.done = psutil.Process(), threading.Event()
        self.before = self.peak = self.process.memory_info().rss
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def watch(self) -> None:
        while not self.done.wait(0.001):
            self.peak = max(self.peak, self.process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.watcher.join()


def where_there_is_data(
    cases: Iterable[C], measure: Callable[[C], dict[str, Any]], console: Console
) -> list[dict[str, Any]]:
    """Measure each case; one whose dataset is not here is left out with a message."""
    rows = []
    for case in cases:
        try:
            rows.append(measure(case))
        except DatasetError as error:
            console.print(f"{case} is left out: {str(error).splitlines()[0]}", highlight=False)
    return rows


def show(title: str, figures: list[Figure], console: Console) -> None:
    """The table of what was measured, and what it should be."""
    table = Table(title=title)
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("should be", justify="right")
    for figure in figures:
        style = "" if figure.reached else "bold red"
        table.add_row(figure.what, f"{figure.measured:.2f}", figure.reach, style=style)
    console.print(table)


def save(name: str, **measured: Any) -> Path:
    """Write what was measured, with the versions that it was measured with, to results/."""
    report = {
        "made_by": "make bench",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torch_geometric": torch_geometric.__version__,
        },
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[1],  # other work beside it slows down what is measured
        **measured,
    }
    path = RESULTS / f"benchmark-{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=1, default=asdict) + "\n")
    return path
