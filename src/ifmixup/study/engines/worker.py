"""A worker of the local engine: ``python -m ifmixup.study.engines.worker DATAFILE``.

It reads orders from its standard input and writes answers to its standard output, a line of JSON
each. It ends when its input does, so that no worker outlives the study it belongs to.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

import torch

from ifmixup.errors import CacheWarning
from ifmixup.study.engines.engine import MAX_MEMORY, Message, opened, perform
from ifmixup.training.run import versions

SECONDS_BETWEEN_EPOCHS = 0.3  # a display needs no more
SECONDS_BETWEEN_LOOKS = 0.5  # at the memory


def main(data_file: Path) -> None:
    """Answer orders until the input ends."""
    # Ctrl-C in a terminal reaches every process of the group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders, answers = _take_streams()
    waiting: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting, data_file), daemon=True).start()
    threading.Thread(target=_watch_memory, args=(answers,), daemon=True).start()
    torch.set_num_threads(1)
    # Mapped, not read: all workers share the same pages of memory.
    data, folds = opened(torch.load(data_file, mmap=True, weights_only=True))
    # What was printed while modules were imported may have left a line without its end.
    answers.write("\n")
    _pass_on_warnings(answers)
    _say(answers, {"ready": True})
    while True:
        message = json.loads(waiting.get())
        far = _HowFar(answers)
        _say(answers, perform(message, data, far.epoch, far.fit, folds))


def _pass_on_warnings(answers: TextIO) -> None:
    """Tell the parent that the cache cannot be used; other warnings stay where they are."""
    show = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, CacheWarning):
            _say(answers, {"warning": str(message)})
        else:
            show(message, category, *rest, **more)

    warnings.showwarning = tell


class _HowFar:
    """Tells the number of epochs done and the share of a fit, but not too often."""

    def __init__(self, answers: TextIO) -> None:
        self.answers = answers
        self.told = time.monotonic()

    def epoch(self, number: int) -> None:
        self._tell({"epoch": number})

    def fit(self, share: float) -> None:
        self._tell({"fit": share})

    def _tell(self, message: Message) -> None:
        now = time.monotonic()
        if now - self.told >= SECONDS_BETWEEN_EPOCHS:
            self.told = now
            _say(self.answers, message)


def _take_streams() -> tuple[TextIO, TextIO]:
    """Keep the standard streams for orders and answers.

    Whoever else reads or prints here, down to a C library, gets nothing and the standard error.
    """
    orders = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # A run may fork. Its copy of this process neither answers nor holds the streams open.
    os.register_at_fork(after_in_child=lambda: _leave(orders, answers))
    return orders, answers


def _leave(*streams: TextIO) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(nothing, stream.fileno(), inheritable=False)
    os.close(nothing)


def _listen(orders: TextIO, waiting: SimpleQueue[str], data_file: Path) -> None:
    """Pass orders on; when the parent is gone, end at once, even in the middle of a run."""
    for line in orders:
        waiting.put(line)
    # A parent that was killed could not do this itself.
    data_file.unlink(missing_ok=True)
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with the processes that a run has started
    os._exit(0)


def _watch_memory(answers: TextIO) -> None:
    """Give up the run that takes too much memory, before the machine has none left."""
    with suppress(OSError):  # if the system has to kill a process, then a worker, not the study
        Path("/proc/self/oom_score_adj").write_text("500")
    given = os.environ.get(MAX_MEMORY)
    most = float(given) * 1e9 if given else 0.8 * _memory_of_machine()
    while (used := _memory()) is not None:
        if used > most:
            problem = f"the run took {used / 1e9:.2f} GB of memory, more than {most / 1e9:.2f} GB"
            where = {"host": socket.gethostname(), "versions": versions()}
            said = {"kind": "MemoryError", "error": f"{problem} (max_memory)", "leaving": True}
            _say(answers, {**where, **said})
            os._exit(1)
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _memory() -> int | None:
    """The bytes of memory that are this process's own; None where the system does not tell."""
    try:
        _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _memory_of_machine() -> int:
    """The bytes of memory that there are, for this container or machine."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        return total


_SAYING = threading.Lock()


def _say(answers: TextIO, message: Message) -> None:
    try:
        with _SAYING:
            answers.write(json.dumps(message) + "\n")
            answers.flush()
    except BrokenPipeError:
        os._exit(0)  # nobody listens any more


if __name__ == "__main__":
    main(Path(sys.argv[1]))
