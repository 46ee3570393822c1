"""The parent's end of a worker process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from ifmixup.study.engines.messages import Message

GRACE_SECONDS = 3.0
_KEPT_BYTES = 4096
_KEPT_LINES = 5


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
        place: The place of the run it works on, among the tasks; None while it has none.
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
        self.place: int | None = None
        self.ready = False
        self._unread = b""
        self._last_words = b""

    def give(self, place: int, message: Message) -> None:
        """Give it the run at ``place``; a worker that has died meanwhile is noticed by its end."""
        self.place = place
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
