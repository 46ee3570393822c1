"""Runs on this machine, in worker processes of one thread each."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

import torch

from ifmixup.errors import InputError, StoreError, TrainingError
from ifmixup.study.engines.engine import Message, Outcome, Task, Watcher, order, outcome
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run import choose_device

GRACE_SECONDS = 3.0
_KEPT_BYTES = 4096
_KEPT_LINES = 5


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


class Crew:
    """Worker processes that share a dataset; leaving its context ends them all.

    Args:
        size: How many workers at most; they start when there is a run for them.
        data_file: The dataset, for the workers to map.
        device: The device to train on.
        retries: How often a run is tried again when its worker died.
    """

    def __init__(self, size: int, data_file: Path, device: str, retries: int) -> None:
        self.size = size
        self.data_file = data_file
        self.device = device
        self.retries = retries
        self.workers: list[WorkerProcess] = []
        self.selector = selectors.DefaultSelector()
        self.tasks: Sequence[Task] = ()
        self.waiting: deque[int] = deque()
        self.lost: Counter[int] = Counter()  # how many workers a run has lost
        self.failed_starts = 0
        self.watcher: Watcher | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.selector.close()
        stop(self.workers)

    def work(self, tasks: Sequence[Task], watcher: Watcher | None) -> Iterator[Outcome]:
        """Hand out the runs in order, one at a time, and pass on what becomes of them."""
        self.tasks = tasks
        self.watcher = watcher
        self.waiting = deque(range(len(tasks)))
        left = len(tasks)
        while left:
            self._hire()
            self._hand_out()
            for key, _ in self.selector.select():
                found = self._attend(key)
                if found is not None:
                    left -= 1
                    if watcher is not None:
                        watcher.finished(found)
                    yield found

    def _hire(self) -> None:
        """Start workers, as long as there are runs for them."""
        if self.workers and self.failed_starts > self.retries:
            return  # there is no room for more, it seems; those that are there go on
        free = sum(worker.index is None for worker in self.workers)
        for _ in range(min(self.size - len(self.workers), len(self.waiting) - free)):
            worker = WorkerProcess(self.data_file)
            self.workers.append(worker)
            self.selector.register(worker.answers, selectors.EVENT_READ, worker)
            self.selector.register(worker.errors, selectors.EVENT_READ, worker)

    def _hand_out(self) -> None:
        for worker in self.workers:
            if worker.ready and worker.index is None and self.waiting:
                index = self.waiting.popleft()
                worker.give(index, order(self.tasks[index], self.device))
                if self.watcher is not None:
                    self.watcher.started(self.tasks[index][0])

    def _attend(self, key: selectors.SelectorKey) -> Outcome | None:
        """Listen to a worker that has something to say, or has ended."""
        worker: WorkerProcess = key.data
        if worker not in self.workers:
            return None  # its other stream has just told that it ended
        if key.fileobj is worker.errors:
            if not worker.listen_to_errors():
                self.selector.unregister(worker.errors)
            return None
        messages = worker.listen()
        return self._replace(worker) if messages is None else self._understand(worker, messages)

    def _understand(self, worker: WorkerProcess, messages: list[Message]) -> Outcome | None:
        found = None
        for message in messages:
            if "ready" in message:
                worker.ready = True
                self.failed_starts = 0
            elif worker.index is not None:
                spec = self.tasks[worker.index][0]
                if "epoch" not in message:
                    found, worker.index = outcome(spec, message), None
                elif self.watcher is not None:
                    self.watcher.epoch(spec, message["epoch"])
        return found

    def _replace(self, worker: WorkerProcess) -> Outcome | None:
        """See off a worker that died; its run is tried again, or has failed."""
        for stream in (worker.answers, worker.errors):
            if stream in self.selector.get_map():
                self.selector.unregister(stream)
        reason = worker.reason()
        stop([worker])
        self.workers.remove(worker)
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts > self.retries and not self.workers:
                raise TrainingError(f"No worker process can be started: {reason}")
        index = worker.index
        if index is None:
            return None
        self.lost[index] += 1
        if self.lost[index] <= self.retries:
            self.waiting.appendleft(index)
            return None
        tries = "" if self.lost[index] == 1 else f" (tried {self.lost[index]} times)"
        return Outcome(self.tasks[index][0], error=f"WorkerDied{tries}: {reason}")


def command(data_file: Path) -> list[str]:
    """How a worker is started: by its module, so that the user's script is not imported again."""
    return [sys.executable, "-m", "ifmixup.study.engines.worker", str(data_file)]


def environment() -> dict[str, str]:
    """The parent's environment, one thread, and modules found where the parent finds them."""
    path = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONSAFEPATH": "1",
    }


class WorkerProcess:
    """A running worker, and what is known of it.

    Attributes:
        index: The index of the run it works on, among the tasks; None while it has none.
        ready: Whether it has started and opened the dataset.
    """

    def __init__(self, data_file: Path) -> None:
        self.process = subprocess.Popen(
            command(data_file),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self.orders = _pipe(self.process.stdin)
        self.answers = _pipe(self.process.stdout)
        self.errors = _pipe(self.process.stderr)
        os.set_blocking(self.answers.fileno(), False)
        os.set_blocking(self.errors.fileno(), False)
        self.index: int | None = None
        self.ready = False
        self._unread = b""
        self._last_words = b""

    def give(self, index: int, message: Message) -> None:
        """Give it the run at ``index``; a worker that has died meanwhile is noticed by its end."""
        self.index = index
        while _read(self.errors.fileno()):  # what earlier runs wrote does not tell of this one
            pass
        self._last_words = b""
        with suppress(BrokenPipeError):
            self.orders.write(json.dumps(message).encode() + b"\n")
            self.orders.flush()

    def listen(self) -> list[Message] | None:
        """The messages that have come in; None when it has ended."""
        chunk = _read(self.answers.fileno())
        if chunk is None:
            return []
        if not chunk:
            return None
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        return [message for line in lines if (message := self._parse(line)) is not None]

    def listen_to_errors(self) -> bool:
        """Keep the end of what it writes to its standard error; False when no more can come."""
        chunk = _read(self.errors.fileno())
        self._last_words = (self._last_words + (chunk or b""))[-_KEPT_BYTES:]
        return chunk != b""

    def reason(self) -> str:
        """Why it has ended, with its last words."""
        try:
            code = self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it has closed its output, but lives
            self.process.kill()
            code = self.process.wait()
        while chunk := _read(self.errors.fileno()):
            self._last_words = (self._last_words + chunk)[-_KEPT_BYTES:]
        how = f"ended with exit status {code}"
        if code < 0:
            how = f"was killed by {_signal_name(-code)}"
        if code == -signal.SIGKILL:
            how += " (out of memory?)"
        lines = self._last_words.decode(errors="replace").strip().splitlines()[-_KEPT_LINES:]
        return "\n".join([f"the worker process {how}", *lines])

    def _parse(self, line: bytes) -> Message | None:
        """A message; what somebody printed while modules were imported is kept as last words."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            return message
        if line:
            self._last_words = (self._last_words + line + b"\n")[-_KEPT_BYTES:]
        return None


def stop(workers: Iterable[WorkerProcess]) -> None:
    """End workers, gently first, and leave nothing of them behind."""
    workers = list(workers)
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        for stream in (worker.orders, worker.answers, worker.errors):
            with suppress(BrokenPipeError):  # an order that was not read to its end
                stream.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # as asked of Popen
    return stream


def _read(descriptor: int) -> bytes | None:
    """What there is to read: nothing (b"") at the end, None when there is only nothing yet."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
