"""Runs on this machine, in worker processes of one thread each."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, cast

import torch

from ifmixup.errors import CacheWarning, InputError, StoreError, TrainingError
from ifmixup.study.engines.engine import (
    MAX_MEMORY,
    Message,
    Task,
    Watcher,
    lost,
    order,
    outcome,
    shared,
)
from ifmixup.study.record import Record
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run import choose_device

GRACE_SECONDS = 3.0
STUCK_AFTER = 3600.0  # seconds
_KEPT_LINES = 5
_KEPT_SIGNS = 1000  # of each line
_PIECE = 65_536


class LocalEngine:
    """Executes runs on this machine, each in a process with one torch thread.

    The dataset is in one file that the workers map into memory, so it is shared, not copied. A
    worker that dies is replaced and its run is repeated. A run that raises an error has failed.

    Args:
        workers: Number of processes; None for one per core.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        retries: Number of times that a run is repeated if its worker dies.
        stuck_after: Seconds without a finished epoch after which a run fails and its worker is
            stopped; None: never.
        max_memory: Gigabytes of memory of a process above which its run fails; None: 80 % of the
            machine's memory.
    """

    def __init__(
        self,
        workers: int | None = None,
        device: str = "cpu",
        retries: int = 2,
        *,
        stuck_after: float | None = STUCK_AFTER,
        max_memory: float | None = None,
    ) -> None:
        self.workers = _cores() if workers is None else workers
        self.device = device
        self.retries = retries
        self.stuck_after = stuck_after
        self.max_memory = max_memory
        for name, value in (("stuck_after", stuck_after), ("max_memory", max_memory)):
            if value is not None and not value > 0:
                raise InputError(f"{name} must be more than 0; got {value}.")
        if self.workers < 1:
            raise InputError(f"workers must be at least 1; got {workers}.")
        if retries < 0:
            raise InputError(f"retries must be at least 0; got {retries}.")
        choose_device(device)  # says what is there, before anything starts

    def execute(
        self, tasks: Sequence[Task], data: PackedDataset, watcher: Watcher | None = None
    ) -> Generator[Record, None, None]:
        """Execute all ``tasks``; closing the iterator ends the workers."""
        if not tasks:
            return
        with _saved(shared(tasks, data)) as data_file:
            crew = Crew(self, tasks, data_file, watcher or Watcher())
            try:
                yield from crew.work()
            finally:
                stop(crew.workers)


@contextmanager
def _saved(values: dict[str, Any]) -> Iterator[Path]:
    """The dataset and its folds in a temporary file, for the workers to map."""
    descriptor, name = tempfile.mkstemp(prefix="ifmixup-", suffix=".pt")
    os.close(descriptor)
    path = Path(name)
    try:
        try:
            torch.save(values, path)
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


class Crew:
    """The worker processes of one execution, which share a dataset."""

    def __init__(
        self, engine: LocalEngine, tasks: Sequence[Task], data_file: Path, watcher: Watcher
    ) -> None:
        self.engine, self.tasks = engine, tasks
        self.data_file, self.watcher = data_file, watcher
        self.workers: list[WorkerProcess] = []
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.waiting = deque(range(len(tasks)))
        self.lost: Counter[int] = Counter()  # how many workers a run has lost
        self.failed_starts = 0

    def work(self) -> Iterator[Record]:
        """Hand out the runs in order, one at a time, and pass on what becomes of them."""
        left = len(self.tasks)
        while left:
            self._hire()
            self._hand_out()
            try:
                worker, message = self.events.get(timeout=self._patience())
            except Empty:
                found = self._end_stuck()
            else:
                worker.heard = time.monotonic()
                if worker not in self.workers:  # it was ended
                    continue
                found = self._understand(worker, message) if message else self._replace(worker)
            if found is not None:
                left -= 1
                self.watcher.finished(found)
                yield found

    def _patience(self) -> float | None:
        """How long to wait for the next message, in seconds, until a run counts as stuck."""
        if self.engine.stuck_after is None:
            return None
        heard = [worker.heard for worker in self.workers if worker.index is not None]
        left = min(heard, default=time.monotonic()) + self.engine.stuck_after - time.monotonic()
        return max(0.01, left)

    def _end_stuck(self) -> Record | None:
        """End a worker that has told nothing for too long; its run has failed, and is not tried
        again: it would take as long.
        """
        for worker in self.workers:
            silence = time.monotonic() - worker.heard
            if worker.index is not None and silence >= (self.engine.stuck_after or math.inf):
                worker.end()
                stop([worker])
                self.workers.remove(worker)
                said = "\n".join(
                    [
                        f"no epoch was finished in {self.engine.stuck_after:g} s (stuck_after), "
                        f"so its worker process was stopped",
                        *worker.last_words,
                    ]
                )
                return lost(self.tasks[worker.index][0], "Stuck", 1, said)
        return None

    def _hire(self) -> None:
        """Start workers, as long as there are runs for them."""
        if self.workers and self.failed_starts > self.engine.retries:
            return  # there is no room for more, it seems; those that are there go on
        free = sum(worker.index is None for worker in self.workers)
        for _ in range(min(self.engine.workers - len(self.workers), len(self.waiting) - free)):
            self.workers.append(WorkerProcess(self.data_file, self.events, self.engine.max_memory))

    def _hand_out(self) -> None:
        for worker in self.workers:
            if worker.ready and worker.index is None and self.waiting:
                index = self.waiting.popleft()
                worker.give(index, order(self.tasks[index], self.engine.device, stored=True))
                self.watcher.started(self.tasks[index][0])

    def _understand(self, worker: WorkerProcess, message: Message) -> Record | None:
        if "ready" in message:
            worker.ready = True
            self.failed_starts = 0
        elif worker.index is not None:
            spec = self.tasks[worker.index][0]
            if "epoch" in message:
                self.watcher.epoch(spec, message["epoch"])
            elif "fit" in message:
                self.watcher.fitting(spec, message["fit"])
            elif "warning" in message:
                warnings.warn(message["warning"], CacheWarning, stacklevel=2)
            else:
                worker.index = None
                if "leaving" in message:  # it ends, and is given nothing more
                    stop([worker])
                    self.workers.remove(worker)
                return outcome(spec, message)
        return None

    def _replace(self, worker: WorkerProcess) -> Record | None:
        """Clean up after a worker that died; its run is tried again, or has failed."""
        reason = worker.reason()
        stop([worker])
        self.workers.remove(worker)
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts > self.engine.retries and not self.workers:
                raise TrainingError(f"No worker process can be started: {reason}")
        index = worker.index
        if index is None:
            return None
        self.lost[index] += 1
        if self.lost[index] <= self.engine.retries:
            self.waiting.appendleft(index)
            return None
        return lost(self.tasks[index][0], "WorkerDied", self.lost[index], reason)


def command(data_file: Path) -> list[str]:
    """How a worker is started: by its module, so that the user's script is not imported again."""
    return [sys.executable, "-m", "ifmixup.study.engines.worker", str(data_file)]


def environment(max_memory: float | None = None) -> dict[str, str]:
    """The parent's environment, one thread, and modules found where the parent finds them."""
    path = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONSAFEPATH": "1",
        MAX_MEMORY: "" if max_memory is None else str(max_memory),
    }


class WorkerProcess:
    """A running worker, and what is known of it.

    Args:
        data_file: The dataset, for it to map.
        events: Gets the worker with each of its messages, and with None when it has ended.

    Attributes:
        index: The index of the run it works on, among the tasks; None while it has none.
        ready: Whether it has started and opened the dataset.
        heard: When it last said something, or was given a run.
    """

    def __init__(
        self, data_file: Path, events: SimpleQueue[Event], max_memory: float | None = None
    ) -> None:
        self.process = subprocess.Popen(
            command(data_file),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(max_memory),
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # what it starts ends with it
        )
        streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.orders, self.answers, self.errors = cast("tuple[IO[str], ...]", streams)
        self.events = events
        self.index: int | None = None
        self.ready = False
        self.heard = time.monotonic()
        self.last_words: deque[str] = deque(maxlen=_KEPT_LINES)
        self.listeners = [Thread(target=f, daemon=True) for f in (self._listen, self._overhear)]
        for listener in (*self.listeners, Thread(target=self._await_end, daemon=True)):
            listener.start()

    def give(self, index: int, message: Message) -> None:
        """Give it the run at ``index``; a worker that has died meanwhile is noticed by its end."""
        self.index = index
        self.heard = time.monotonic()
        self.last_words.clear()  # what earlier runs wrote does not tell of this one
        with suppress(BrokenPipeError):
            self.orders.write(json.dumps(message) + "\n")
            self.orders.flush()

    def reason(self) -> str:
        """Why it has ended, with its last words."""
        code = _exit_status(self.process, GRACE_SECONDS)  # it may have closed its output, but live
        self.end()
        self._join()
        how = f"ended with exit status {code}"
        if code < 0:
            how = f"was killed by {_signal_name(-code)}"
        if code == -signal.SIGKILL:
            how += " (out of memory?)"
        return "\n".join([f"the worker process {how}", *self.last_words])

    def end(self) -> None:
        """End it at once, and all processes that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of the streams of a worker that has ended."""
        with suppress(BrokenPipeError):  # an order that was not read to its end
            self.orders.close()
        self._join()

    def _join(self) -> None:
        for listener in self.listeners:
            listener.join(GRACE_SECONDS)  # a process that it started may hold its standard error

    def _listen(self) -> None:
        """Pass on messages; what somebody printed while modules were imported are last words."""
        with self.answers:
            for line in self.answers:
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    message = None
                if isinstance(message, dict):
                    self.events.put((self, message))
                else:
                    self._keep(line)

    def _await_end(self) -> None:
        """Tell of its end, once: a process that it started may keep its output open."""
        try:
            while self.process.poll() is None and self.listeners[0].is_alive():
                self.listeners[0].join(0.2)
            self.listeners[0].join(GRACE_SECONDS / 3)  # what it said before its end
        finally:  # whatever happened here: somebody waits for the end of this worker
            self.events.put((self, None))

    def _overhear(self) -> None:
        with self.errors:
            # In pieces: a line without an end must not fill the memory.
            while line := self.errors.readline(_PIECE):
                self._keep(line)

    def _keep(self, line: str) -> None:
        if line.strip():
            self.last_words.append(line.rstrip()[-_KEPT_SIGNS:])


Event = tuple[WorkerProcess, Message | None]


def stop(workers: Sequence[WorkerProcess]) -> None:
    """End workers, gently first, and leave nothing of them behind."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        _exit_status(worker.process, max(0.0, deadline - time.monotonic()))
        worker.end()
        worker.close()


def _exit_status(process: subprocess.Popen[str], patience: float) -> int:
    """The exit status of a process, which is killed if it has not ended after some seconds."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
