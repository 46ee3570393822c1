import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import replace

import psutil
import pytest
import torch
from ifmixup.training.versions import versions

from ifmixup.errors import InputError, StoreError
from ifmixup.study.engines.local import LocalEngine


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where the engine writes; nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_the_numbers_do_not_depend_on_the_workers(
    workers, make_task, mutag, expected, numbers, children
):
    tasks = [
        make_task(0),
        make_task(1, learning_rate=1e30),
        make_task(2, model="gcn", method="drop_edge"),
        make_task(3, protocol="paper", method="mixup_graph"),
    ]
    spec, fold = make_task(4)
    bad = (spec, replace(fold, train=torch.tensor([10_000])))
    found = {o.spec: o for o in LocalEngine(workers).execute([bad, *tasks], mutag)}
    assert len(found) == 5
    failed = found.pop(tasks[1][0])
    assert failed.result is None
    assert failed.error.startswith("TrainingError: The training loss is nan in epoch 1.")
    assert found.pop(spec).error.startswith("IndexError: ")  # there is no such graph
    for task in (tasks[0], tasks[2], tasks[3]):
        outcome = found[task[0]]
        assert outcome.error is None
        assert numbers(outcome.result) == expected(task)
        assert outcome.result.seconds > 0
        assert outcome.versions == versions()
    assert not children()


def test_a_killed_worker_is_replaced_and_closing_ends_them_all(
    make_task, mutag, expected, numbers, log, children, temporary
):
    task = make_task(0, epochs=40)
    killed = []

    def kill(spec, number):
        if not killed:
            (worker,) = children()
            worker.send_signal(signal.SIGINT)  # Ctrl-C in a terminal is for the parent
            time.sleep(0.1)
            assert worker.status() != psutil.STATUS_ZOMBIE
            worker.kill()
            killed.append(number)

    log.epoch = kill
    runs = LocalEngine(1).execute([task, make_task(1, epochs=100_000)], mutag, log)
    outcome = next(runs)
    assert killed
    assert killed[0] < 40
    assert outcome.error is None
    assert numbers(outcome.result) == expected(task)
    assert log.events == [("started", 0), ("started", 0), ("finished", 0)]

    assert len(children()) == 1
    assert len(list(temporary.iterdir())) == 1
    runs.close()
    assert not children()


def test_a_killed_parent_takes_its_workers_along(tmp_path, temporary):
    # No guard around the main part: a worker must not import it again.
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import psutil, torch
            from ifmixup.data import load
            from ifmixup.study.engines.local import LocalEngine
            from ifmixup.training import Fold, RunSpec, Settings, pack

            class Tell:
                def started(self, spec):
                    print(*(child.pid for child in psutil.Process().children()), flush=True)
                def epoch(self, spec, number): pass
                def finished(self, outcome): pass

            data = pack(load("MUTAG"))
            fold = Fold(torch.arange(100), torch.arange(100, 120), torch.arange(120, 188))
            settings = Settings(epochs=100_000, hidden=8, layers=1)
            spec = RunSpec("MUTAG", data.fingerprint, settings, "holdout", 0, 0, "", 0)
            list(LocalEngine(1).execute([(spec, fold)], data, Tell()))
        """)
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(workers) == 1
    parent.kill()
    parent.wait()
    parent.stdout.close()
    _, alive = psutil.wait_procs(workers, timeout=5)
    assert not alive


def test_a_dataset_that_cannot_be_written(make_task, mutag, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(StoreError, match=r"No space left on device.*TMPDIR"):
        list(LocalEngine(1).execute([make_task(0)], mutag))


def test_arguments_are_checked():
    with pytest.raises(InputError, match="workers must be at least 1; got 0"):
        LocalEngine(workers=0)
    with pytest.raises(InputError, match="retries must be at least 0; got -1"):
        LocalEngine(retries=-1)
    with pytest.raises(InputError, match="There is no device 'tpu' here"):
        LocalEngine(device="tpu")
    assert LocalEngine().workers >= 1
