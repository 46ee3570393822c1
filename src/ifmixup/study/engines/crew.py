"""The worker processes of one execution: hired, given runs, listened to and replaced."""

from __future__ import annotations

import selectors
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from ifmixup.errors import TrainingError
from ifmixup.study.engines.engine import Outcome, Task, Watcher
from ifmixup.study.engines.messages import Message, order, outcome
from ifmixup.study.engines.worker_process import WorkerProcess, stop


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
        free = sum(worker.place is None for worker in self.workers)
        for _ in range(min(self.size - len(self.workers), len(self.waiting) - free)):
            worker = WorkerProcess(self.data_file)
            self.workers.append(worker)
            self.selector.register(worker.answers, selectors.EVENT_READ, worker)
            self.selector.register(worker.errors, selectors.EVENT_READ, worker)

    def _hand_out(self) -> None:
        for worker in self.workers:
            if worker.ready and worker.place is None and self.waiting:
                place = self.waiting.popleft()
                worker.give(place, order(self.tasks[place], self.device))
                if self.watcher is not None:
                    self.watcher.started(self.tasks[place][0])

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
            elif worker.place is not None:
                spec = self.tasks[worker.place][0]
                if "epoch" not in message:
                    found, worker.place = outcome(spec, message), None
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
        place = worker.place
        if place is None:
            return None
        self.lost[place] += 1
        if self.lost[place] <= self.retries:
            self.waiting.appendleft(place)
            return None
        tries = "" if self.lost[place] == 1 else f" (tried {self.lost[place]} times)"
        return Outcome(self.tasks[place][0], error=f"WorkerDied{tries}: {reason}")
