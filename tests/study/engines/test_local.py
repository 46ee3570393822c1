import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import replace
from typing import ClassVar

import psutil
import pytest
import torch

from ifmixup.errors import CacheWarning, InputError, StoreError
from ifmixup.study.engines.local import LocalEngine
from ifmixup.training.run import versions
from own_classes import Net, Noise


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where the engine writes; nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.glob("ifmixup-*")) == []  # PyG leaves files there


def without_validation(task):
    spec, fold = task
    fold = fold.without_validation
    return replace(spec, split=fold.fingerprint), fold


@pytest.mark.parametrize("workers", [1, 2])
def test_the_numbers_do_not_depend_on_the_workers(
    workers, make_task, mutag, expected, numbers, children
):
    tasks = [
        make_task(0),
        make_task(1, learning_rate=1e30),
        make_task(2, model="gcn", method="drop_edge"),
        without_validation(make_task(3, method="mixup_graph")),
        make_task(5, Net, Noise, std=0.5),
    ]
    spec, fold = make_task(4)
    bad = (spec, replace(fold, train=(10_000,)))
    found = {o.spec: o for o in LocalEngine(workers).execute([bad, *tasks], mutag)}
    assert len(found) == 6
    failed = found.pop(tasks[1][0])
    assert failed.result is None
    assert failed.error.startswith("TrainingError: The training loss is nan in epoch 1.")
    assert found.pop(spec).error.startswith("IndexError: ")  # there is no such graph
    for task in (tasks[0], tasks[2], tasks[3], tasks[4]):
        outcome = found[task[0]]
        assert outcome.error is None
        assert numbers(outcome.result) == expected(task)
        assert outcome.result.seconds > 0
        assert outcome.versions == versions()
    assert not children()


def test_a_killed_worker_is_replaced_and_closing_ends_them_all(
    make_task, mutag, expected, numbers, log, children, temporary
):
    task = make_task(0, epochs=300)
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
    assert killed[0] < 300
    assert outcome.error is None
    assert numbers(outcome.result) == expected(task)
    assert log.events == [("started", 0), ("started", 0), ("finished", 0)]

    assert len(children()) == 1
    assert len(list(temporary.glob("ifmixup-*"))) == 1
    runs.close()
    assert not children()


def test_a_cache_that_cannot_be_used_is_told(make_task, mutag, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("IFMIXUP_CACHE", str(file / "folder"))
    with pytest.warns(CacheWarning, match=r"cannot be .* IFMIXUP_CACHE"):
        (found,) = LocalEngine(1).execute([make_task(0, method="submix")], mutag)
    assert found.error is None


def test_a_killed_parent_takes_its_workers_along(tmp_path, temporary):
    # No guard around the main part: a worker must not import it again.
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import psutil
            from ifmixup.components import resolve
            from ifmixup.data import load
            from ifmixup.study.engines.local import LocalEngine
            from ifmixup.training.packed import pack
            from ifmixup.training.run_spec import Fold, RunSpec
            from ifmixup.training.settings import Settings

            class Tell:
                def started(self, spec):
                    print(*(child.pid for child in psutil.Process().children()), flush=True)
                def epoch(self, spec, number): pass
                def finished(self, outcome): pass

            data = pack(load("MUTAG"))
            fold = Fold(0, 0, tuple(range(100)), tuple(range(100, 120)), tuple(range(120, 188)))
            classes = resolve("model", "gcn").spec, resolve("method", "none").spec
            settings = Settings(epochs=100_000)
            spec = RunSpec("MUTAG", data.fingerprint, "", 0, 0, 0, settings, *classes)
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
    with pytest.raises(InputError, match="This machine has no device 'tpu'"):
        LocalEngine(device="tpu")
    assert LocalEngine().workers >= 1


class Raises(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        raise RuntimeError("I will not")


class Prints(Net):
    """Prints what a worker could take for an answer, and reads what is not meant for it."""

    def forward(self, x, edge_index, edge_weight, batch):
        print('{"result": "from print"}', flush=True)
        os.write(1, b'{"result": "from write"}\n')
        assert sys.stdin.read() == ""
        return super().forward(x, edge_index, edge_weight, batch)


class Exits(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        sys.exit("enough")


class Dies(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        print("I am off", file=sys.stderr, flush=True)
        os._exit(7)


def test_whatever_a_users_class_does_the_other_runs_go_on(make_task, mutag, expected, numbers):
    tasks = [make_task(fold, each) for fold, each in enumerate((Raises, Prints, Exits, Dies, Net))]
    found = {o.spec.fold: o for o in LocalEngine(1, retries=0).execute(tasks, mutag)}
    assert "RuntimeError: I will not (test_local.py, line " in found[0].error
    assert numbers(found[1].result) == expected(make_task(1, Net))
    assert found[2].error == "SystemExit: enough"
    assert found[3].error == ("WorkerDied: the worker process ended with exit status 7\nI am off")
    assert numbers(found[4].result) == expected(tasks[4])


class Loops(Net):
    """Never comes back."""

    def forward(self, x, edge_index, edge_weight, batch):
        print("round and round", file=sys.stderr, flush=True)
        while True:
            time.sleep(0.01)


class Leaks(Net):
    """Keeps all memory that it gets."""

    kept: ClassVar[list] = []

    def forward(self, x, edge_index, edge_weight, batch):
        self.kept.append(torch.ones(25_000_000))
        time.sleep(0.05)
        return super().forward(x, edge_index, edge_weight, batch)


class Forks(Net):
    """Its copy goes on with the same run, and another child outlives them both."""

    def forward(self, x, edge_index, edge_weight, batch):
        if self.training and not os.environ.get("FORKED"):
            os.environ["FORKED"] = "1"
            if os.fork() == 0:
                time.sleep(0.3)  # its answer would come during the next run
            elif os.fork() == 0:
                time.sleep(1000)
        return super().forward(x, edge_index, edge_weight, batch)


class ForksAndDies(Net):
    """Leaves a process behind that holds its streams."""

    def forward(self, x, edge_index, edge_weight, batch):
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(9)


class Shouts(Net):
    """Prints a megabyte for each batch, with escape codes."""

    def forward(self, x, edge_index, edge_weight, batch):
        print("\033[2J" * 250_000, flush=True)
        raise RuntimeError("too loud")


class FullGPU(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def test_the_machine_outlives_a_users_class(make_task, mutag, expected, numbers, children):
    """Loops, leaks, forks, floods: the run fails with its last words, the others go on."""
    classes = (Loops, Leaks, Forks, ForksAndDies, Shouts, FullGPU, Net)
    tasks = [make_task(fold, each) for fold, each in enumerate(classes)]
    engine = LocalEngine(1, retries=0, stuck_after=4, max_memory=0.8)
    found = {outcome.spec.fold: outcome for outcome in engine.execute(tasks, mutag)}
    assert found[0].error.startswith("Stuck: no epoch was finished in 4 s (stuck_after)")
    assert found[0].error.endswith("round and round")
    assert re.match(
        r"MemoryError: the run took [\d.]+ GB of memory, more than 0.80", found[1].error
    )
    assert numbers(found[2].result) == expected(make_task(2, Net))
    assert found[3].error == "WorkerDied: the worker process ended with exit status 9"
    assert "RuntimeError: too loud" in found[4].error
    assert "OutOfMemoryError: CUDA out of memory." in found[5].error
    assert numbers(found[6].result) == expected(tasks[6])
    assert not children()


def test_bounds_are_checked():
    for name in ("stuck_after", "max_memory"):
        with pytest.raises(InputError, match=f"{name} must be more than 0; got 0"):
            LocalEngine(1, **{name: 0})
