"""Runs on this machine, in worker processes of one thread each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from ifmixup.errors import InputError, StoreError
from ifmixup.study.engines.crew import Crew
from ifmixup.study.engines.engine import Outcome, Task, Watcher
from ifmixup.training import PackedDataset
from ifmixup.training.run import choose_device


class LocalEngine:
    """Executes runs on this machine, each in a process with one torch thread.

    The dataset lies in one file that the workers map into memory: shared, not copied. A worker
    that dies is replaced and its run tried again; a run that raises is an outcome like any other.

    Args:
        workers: How many processes; None for as many as there are cores.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        retries: How often a run is tried again when its worker died.
    """

    def __init__(self, workers: int | None = None, device: str = "cpu", retries: int = 2) -> None:
        self.workers = _cores() if workers is None else workers
        self.device = device
        self.retries = retries
        if self.workers < 1:
            raise InputError(f"workers must be at least 1; got {workers}.")
        if retries < 0:
            raise InputError(f"retries must be at least 0; got {retries}.")
        choose_device(device)  # says what is there, before anything starts

    def execute(
        self, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher | None = None
    ) -> Generator[Outcome, None, None]:
        """Execute all ``tasks``; closing the iterator ends the workers."""
        if not tasks:
            return
        with (
            _saved(data) as data_file,
            Crew(self.workers, data_file, self.device, self.retries) as crew,
        ):
            yield from crew.work(tasks, watcher)


@contextmanager
def _saved(data: PackedDataset) -> Iterator[Path]:
    """The dataset in a temporary file, for the workers to map."""
    descriptor, name = tempfile.mkstemp(prefix="ifmixup-", suffix=".pt")
    os.close(descriptor)
    path = Path(name)
    try:
        try:
            torch.save(data.to(torch.device("cpu")).to_dict(), path)
        except (OSError, RuntimeError) as error:
            raise StoreError(
                f"The dataset cannot be written to {path.parent} for the workers: {error}. "
                "The environment variable TMPDIR names another folder."
            ) from error
        yield path
    finally:
        path.unlink(missing_ok=True)


def _cores() -> int:
    """The cores that this process may use, which in a container may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
