"""The workers of the local engine, with scripts instead: quick to start, and they die when told."""

import os
import signal
import sys
from queue import SimpleQueue
from textwrap import dedent, indent

import pytest

from ifmixup.errors import TrainingError
from ifmixup.study.engines import local
from ifmixup.study.engines.local import LocalEngine, WorkerProcess, environment, stop

# Answers at once with a result, but first does what stands in the place of DEED.
FAKE = """
import json, os, signal, sys, time
print('{"ready": true}', flush=True)
for line in sys.stdin:
    order = json.loads(line)
    fold = order["spec"]["fold"]
    DEED
    result = {"curves": {}, "metrics": {"pid": os.getpid()}, "seconds": 0.0, "prepare_seconds": 0.0}
    print(json.dumps({"host": "here", "versions": {}, "result": result}), flush=True)
"""


@pytest.fixture
def fake(fake_worker):
    return lambda deed: fake_worker(FAKE.replace("    DEED", indent(dedent(deed), "    ")))


def test_runs_are_handed_out_in_order_one_at_a_time(fake, make_task, mutag, log, children):
    fake("pass")
    tasks = [make_task(fold) for fold in range(4)]
    outcomes = list(LocalEngine(workers=1).execute(tasks, mutag, log))
    assert [outcome.spec for outcome in outcomes] == [spec for spec, _ in tasks]
    assert log.events == [(what, fold) for fold in range(4) for what in ("started", "finished")]
    assert len({outcome.result.metrics["pid"] for outcome in outcomes}) == 1
    assert not children()


def test_no_more_workers_than_runs(fake, make_task, mutag, children):
    fake("time.sleep(0.2)")
    runs = LocalEngine(workers=8).execute([make_task(0), make_task(1)], mutag)
    next(runs)
    assert len(children()) == 2
    runs.close()
    assert not children()


def test_nothing_to_do_starts_nothing(mutag, children):
    assert list(LocalEngine().execute([], mutag)) == []
    assert not children()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_always_kills_its_worker_fails_alone(fake, make_task, mutag, log, workers):
    fake("""
        if fold == 1:
            print("too much", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    tasks = [make_task(fold) for fold in range(4)]
    outcomes = list(LocalEngine(workers).execute(tasks, mutag, log))
    assert sorted(outcome.spec.fold for outcome in outcomes) == [0, 1, 2, 3]
    (failed,) = [outcome for outcome in outcomes if outcome.error]
    assert failed.result is None
    assert failed.spec.fold == 1
    assert failed.error == (
        "WorkerDied (tried 3 times): the worker process was killed by SIGKILL (out of memory?)\n"
        "too much"
    )
    assert log.events.count(("started", 1)) == 3
    assert log.events.count(("finished", 1)) == 1


def test_without_retries_a_lost_worker_is_a_failed_run(fake, make_task, mutag):
    fake("sys.exit(7)")
    (outcome,) = LocalEngine(1, retries=0).execute([make_task(0)], mutag)
    assert outcome.error == "WorkerDied: the worker process ended with exit status 7"


def test_an_idle_worker_takes_over(fake, make_task, mutag, tmp_path):
    # The second run dies once, when the first worker has long finished and nothing is left for it.
    mark = tmp_path / "died"
    fake(f"""
        first = not os.path.exists({str(mark)!r})
        if fold == 1 and first:
            open({str(mark)!r}, "w").close()
            time.sleep(0.5)
            os.abort()
        while not os.path.exists({str(mark)!r}):
            time.sleep(0.01)
    """)
    outcomes = list(LocalEngine(2).execute([make_task(0), make_task(1)], mutag))
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert len({outcome.result.metrics["pid"] for outcome in outcomes}) == 1


def test_an_answer_that_breaks_off_does_not_count(fake, make_task, mutag, tmp_path):
    mark = tmp_path / "died"
    fake(f"""
        if not os.path.exists({str(mark)!r}):
            open({str(mark)!r}, "w").close()
            os.write(1, b'{{"host": "here", "vers')
            os.abort()
    """)
    (outcome,) = LocalEngine(1).execute([make_task(0)], mutag)
    assert outcome.error is None


def test_workers_that_cannot_start(fake_worker, make_task, mutag, children):
    fake_worker("raise ImportError('no torch today')")
    with pytest.raises(TrainingError, match=r"(?s)No worker process.*no torch today"):
        list(LocalEngine(2).execute([make_task(0), make_task(1)], mutag))
    assert not children()


def test_a_worker_that_does_not_want_to_end(fake, make_task, mutag, children, monkeypatch):
    monkeypatch.setattr("ifmixup.study.engines.local.GRACE_SECONDS", 0.3)
    fake("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100 if fold else 0)")
    runs = LocalEngine(1).execute([make_task(0), make_task(1)], mutag)
    next(runs)
    runs.close()
    assert not children()


def test_a_watcher_that_raises_ends_the_workers(fake, make_task, mutag, log, children):
    def interrupted(spec):
        raise KeyboardInterrupt

    fake("time.sleep(100)")
    log.started = interrupted
    with pytest.raises(KeyboardInterrupt):
        list(LocalEngine(2).execute([make_task(0), make_task(1)], mutag, log))
    assert not children()


def test_an_order_larger_than_a_pipe(fake, make_task, mutag, monkeypatch):
    fake("assert len(line) > 500_000")
    order = local.order  # the user's classes, say, are large
    monkeypatch.setattr(local, "order", lambda *a, **k: {**order(*a, **k), "more": "x" * 500_000})
    (outcome,) = LocalEngine(1).execute([make_task(0)], mutag)
    assert outcome.error is None


@pytest.fixture
def hire(fake_worker, tmp_path):
    workers = []

    def start(text):
        fake_worker(text)
        workers.append(WorkerProcess(tmp_path / "data.pt", SimpleQueue()))
        return workers[-1]

    yield start
    stop(workers)


def all_messages(worker):
    """What it says until it ends."""
    return [message for _, message in iter(worker.events.get, (worker, None))]


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
    assert worker.index == 0
    assert all_messages(worker) == []


def test_modules_are_found_where_the_parent_finds_them(hire, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text("NAME = 'mine'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    worker = hire("""
        import json, mine, os
        print(json.dumps({"name": mine.NAME, "threads": os.environ["OMP_NUM_THREADS"]}))
    """)
    assert all_messages(worker) == [{"name": "mine", "threads": "1"}]


def test_the_current_folder_is_named(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/somewhere"])
    assert environment()["PYTHONPATH"] == os.pathsep.join([os.getcwd(), "/somewhere"])
