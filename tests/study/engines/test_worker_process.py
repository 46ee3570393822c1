"""One worker from its parent's side, with a script in its place."""

import os
import signal
import sys
import time

import pytest
from ifmixup.study.engines.worker_process import WorkerProcess, environment, stop


@pytest.fixture
def hire(fake_worker, tmp_path):
    workers = []

    def start(text):
        fake_worker(text)
        workers.append(WorkerProcess(tmp_path / "data.pt"))
        return workers[-1]

    yield start
    stop(workers)


def all_messages(worker):
    """What it says until it ends."""
    found = []
    while (messages := worker.listen()) is not None:
        found += messages
        time.sleep(0.01)
    return found


def test_messages_are_lines_however_they_come(hire):
    worker = hire("""
        import os, time
        for piece in (b'{"epoch"', b': 1}', b'\\n{"epoch": 2}\\n{"ep', b'och": 3}\\n'):
            os.write(1, piece)
            time.sleep(0.05)
    """)
    assert all_messages(worker) == [{"epoch": 1}, {"epoch": 2}, {"epoch": 3}]


def test_what_is_no_message_is_kept_as_last_words(hire):
    worker = hire("""
        print("hello")
        print(5)
        print('{"ready": true}')
    """)
    assert all_messages(worker) == [{"ready": True}]
    assert worker.reason() == "the worker process ended with exit status 0\nhello\n5"


def test_the_reason_has_the_last_lines(hire):
    worker = hire("""
        import os, sys
        for number in range(100_000):
            print(number, file=sys.stderr)
        sys.stderr.flush()
        os.abort()
    """)
    while worker.listen_to_errors():
        time.sleep(0.001)
    assert all_messages(worker) == []
    assert worker.reason().splitlines() == [
        "the worker process was killed by SIGABRT",
        *(str(number) for number in range(99_995, 100_000)),
    ]


def test_a_worker_that_was_killed(hire):
    worker = hire("import time; time.sleep(100)")
    worker.process.send_signal(signal.SIGKILL)
    assert all_messages(worker) == []
    assert worker.reason() == "the worker process was killed by SIGKILL (out of memory?)"


def test_an_order_for_a_dead_worker_is_no_error(hire):
    worker = hire("")
    worker.process.wait()
    worker.give(0, {"spec": "x" * 100_000})
    assert worker.place == 0
    assert worker.listen() is None


def test_modules_are_found_where_the_parent_finds_them(hire, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text("NAME = 'mine'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    worker = hire("""
        import json, mine, os
        print(json.dumps({"name": mine.NAME, "threads": os.environ["OMP_NUM_THREADS"]}))
    """)
    assert all_messages(worker) == [{"name": "mine", "threads": "1"}]


def test_the_current_folder_keeps_its_place(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/somewhere"])
    assert environment()["PYTHONPATH"] == os.pathsep.join([os.getcwd(), "/somewhere"])
