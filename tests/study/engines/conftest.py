"""Small runs on MUTAG, and what they give without any engine."""

import textwrap

import psutil
import pytest
import torch

from ifmixup.data import load
from ifmixup.study.engines import local
from ifmixup.training.packed import pack
from ifmixup.training.run import run
from ifmixup.training.run_spec import Fold, RunSpec
from tiny import parts


class Log:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.events = []

    def started(self, spec):
        self.events.append(("started", spec.fold))

    def epoch(self, spec, number):
        self.events.append(("epoch", spec.fold))

    def finished(self, outcome):
        self.events.append(("finished", outcome.spec.fold))


@pytest.fixture
def log():
    return Log()


@pytest.fixture(scope="session")
def mutag():
    return pack(load("MUTAG"))


@pytest.fixture(scope="session")
def make_task(mutag):
    """A task on MUTAG; other folds have other graphs."""

    def make(number, model="gin", method="ifmixup", **changes):
        generator = torch.Generator().manual_seed(number)
        graphs = torch.randperm(len(mutag), generator=generator).tolist()
        fold = Fold(0, number, tuple(graphs[40:]), tuple(graphs[20:40]), tuple(graphs[:20]))
        settings = parts(model, method, **{"epochs": 2, **changes})
        return RunSpec("MUTAG", mutag.fingerprint, fold.fingerprint, 0, 0, number, *settings), fold

    return make


@pytest.fixture(scope="session")
def numbers():
    """All that a result says but its seconds, in a form in which NaN equals NaN."""
    return lambda result: repr((result.curves, result.metrics))


@pytest.fixture(scope="session")
def expected(mutag, numbers):
    """The numbers of a task, run here and now."""
    return lambda task: numbers(run(task[0], mutag, task[1]))


@pytest.fixture
def fake_worker(tmp_path, monkeypatch):
    """Put a script in the place of the worker; it is given the file of the dataset."""

    def put(text):
        script = tmp_path / "worker.py"
        script.write_text(textwrap.dedent(text))
        real = local.command
        monkeypatch.setattr(local, "command", lambda path: [real(path)[0], str(script), str(path)])

    return put


@pytest.fixture
def children():
    """The processes that this one has started and that are not gone, zombies included."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}

    def now():
        found = psutil.Process().children(recursive=True)
        return [process for process in found if process.pid not in before]

    return now
