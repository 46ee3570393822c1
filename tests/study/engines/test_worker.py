"""A real worker process, talked to directly."""

import signal
from queue import SimpleQueue

import pytest
import torch

from ifmixup.study.engines.engine import order, outcome, shared
from ifmixup.study.engines.local import WorkerProcess, stop

psutil = pytest.importorskip("psutil")

# A worker whose library prints wherever it can, and reads what is not for it.
NOISY = """
import os, sys
from pathlib import Path

os.write(1, b"half a line while importing")
from ifmixup.study.engines import worker

def noisy(message, data, *told):
    print('{"result": "from print"}', flush=True)
    os.write(1, b'{"result": "from write"}')
    os.system("echo '{}'")
    assert sys.stdin.read() == ""
    sys.__stdout__.write("still in a buffer")
    return perform(message, data, *told)

perform, worker.perform = worker.perform, noisy
worker.SECONDS_BETWEEN_EPOCHS = 0
worker.main(Path(sys.argv[1]))
"""


@pytest.fixture
def data_file(tmp_path, mutag):
    path = tmp_path / "data.pt"
    torch.save(shared([], mutag), path)
    return path


def wait_for(worker, what):
    """All messages up to the first one that has the field ``what``."""
    found = [{}]
    while what not in found[-1]:
        _, message = worker.events.get(timeout=60)
        assert message is not None, worker.reason()
        found.append(message)
    return found[1:]


def test_a_worker_from_ready_to_end(
    fake_worker, data_file, mutag, make_task, expected, numbers, children
):
    fake_worker(NOISY)
    worker = WorkerProcess(data_file, SimpleQueue())
    try:
        assert wait_for(worker, "ready") == [{"ready": True}]
        worker.process.send_signal(signal.SIGINT)

        # What is printed goes to its standard error; orders and answers are as they should be.
        task = make_task(0)
        worker.give(0, order(task, "cpu"))
        *epochs, answer = wait_for(worker, "result")
        assert epochs == [{"epoch": 1}, {"epoch": 2}]
        assert numbers(outcome(task[0], answer).result) == expected(task)
        assert any('{"result": "from write"}' in line for line in worker.last_words)

        # The dataset is a mapping of the file, of which not a page was copied.
        if psutil.LINUX:
            process = psutil.Process(worker.process.pid)
            (mapped,) = [m for m in process.memory_maps() if m.path == str(data_file)]
            assert mapped.rss > 0
            assert mapped.anonymous == 0

        # In the middle of a run, too, it ends when its parent is gone.
        worker.give(1, order(make_task(1, epochs=100_000), "cpu"))
        wait_for(worker, "epoch")
        worker.orders.close()
        assert worker.process.wait(5) == -signal.SIGKILL  # its whole group
        assert not data_file.exists()
    finally:
        stop([worker])
    assert not children()
