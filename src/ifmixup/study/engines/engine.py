"""Where runs execute: what every engine does."""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ifmixup.training import Fold, PackedDataset, RunResult, RunSpec
from ifmixup.training.versions import versions

Task = tuple[RunSpec, Fold]


@dataclass(frozen=True)
class Outcome:
    """What became of a run: a result, or the reason why there is none.

    Attributes:
        spec: The run.
        result: What it measured; None if it failed.
        error: Why it failed; None if it did not.
        host: The machine that ran it.
        versions: What was installed there.
    """

    spec: RunSpec
    result: RunResult | None = None
    error: str | None = None
    host: str = field(default_factory=socket.gethostname)
    versions: dict[str, str] = field(default_factory=versions)


class Watcher(Protocol):
    """Is told what becomes of the runs, such as a progress display."""

    def started(self, spec: RunSpec) -> None:
        """A run has begun, maybe once more after its worker was lost."""
        ...

    def epoch(self, spec: RunSpec, number: int) -> None:
        """A run has done so many epochs; not every epoch is told."""
        ...

    def finished(self, outcome: Outcome) -> None:
        """A run has ended, well or not."""
        ...


class Engine(Protocol):
    """Executes runs; outcomes come as they finish, each run once, in any order."""

    def execute(
        self, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher | None = None
    ) -> Generator[Outcome, None, None]:
        """Execute all ``tasks``. Closing the iterator ends what is still running."""
        ...
