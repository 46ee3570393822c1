import os
import signal
import sys
import time

import pytest
import torch

from ifmixup.data import load
from ifmixup.errors import ComponentError
from ifmixup.study.apart import call_apart
from ifmixup.study.compare import plan
from ifmixup.study.estimate import run_seconds
from ifmixup.study.run import check_study
from ifmixup.study.splits import make_splits
from ifmixup.study.study import folds_of
from ifmixup.training.packed import pack
from own_classes import Net

FORKS = sys.platform == "linux" and not torch.accelerator.is_available()
pytestmark = pytest.mark.skipif(not FORKS, reason="forks on Linux without an accelerator only")


def test_a_result_comes_back():
    assert call_apart("It", 60, max, 2, 3) == 3
    where = call_apart("It", 60, os.getpid)
    assert where != os.getpid()


def test_it_trains():
    weight = torch.ones(200, 200, requires_grad=True)
    (weight @ weight).sum().backward()  # threads of the parent, which the fork does not have

    def gradient():
        weight.grad = None
        (weight @ weight).sum().backward()
        return float(weight.grad.sum())

    assert call_apart("It", 60, gradient) == gradient()


class UnreadableError(Exception):
    """Pickle writes it, and cannot read it."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def raises(error):
    raise error


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("no"), ValueError, "no"),
        (ComponentError("not this"), ComponentError, "not this"),
        (UnreadableError(1, 2), ComponentError, "UnreadableError: 1 2"),
        (RuntimeError(lambda: 1), ComponentError, "RuntimeError: <function"),
    ],
)
def test_an_error_comes_back(error, kind, text):
    with pytest.raises(kind, match=text):
        call_apart("It", 60, raises, error)


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def forks():
    if os.fork() == 0:
        time.sleep(60)
    os._exit(3)


def test_a_process_that_ends_or_blocks():
    with pytest.raises(ComponentError, match=r"^It ended the process with exit status 7\.$"):
        call_apart("It", 60, os._exit, 7)
    with pytest.raises(ComponentError, match=r"^It crashed the process \(SIGKILL\)\.$"):
        call_apart("It", 60, dies)
    with pytest.raises(ComponentError, match=r"^It ended the process with exit status 3\.$"):
        call_apart("It", 60, forks)  # a process of it holds the pipe open
    began = time.monotonic()
    with pytest.raises(ComponentError, match=r"^It did not finish within 0\.2 seconds\.$"):
        call_apart("It", 0.2, time.sleep, 60)
    assert time.monotonic() - began < 30


class Exits(Net):
    """Ends the process."""

    def forward(self, x, edge_index, edge_weight, batch):
        os._exit(5)


class Blocks(Net):
    """Never returns."""

    def forward(self, x, edge_index, edge_weight, batch):
        time.sleep(1000)


@pytest.fixture(scope="module")
def mutag():
    data = pack(load("MUTAG"))
    return data, make_splits(data, folds=2)


def study_of(mutag, *models):
    return plan(*mutag, models, ["none"], changes={"epochs": 1})


def test_the_check_of_a_users_class_outlives_it(mutag, monkeypatch):
    data = {mutag[0].fingerprint: mutag[0]}
    with pytest.raises(ComponentError, match="The check of Exits ended the process with exit st"):
        check_study(study_of(mutag, "gcn", Exits), data)
    monkeypatch.setattr("ifmixup.study.run.CHECK_SECONDS", 0.5)
    with pytest.raises(ComponentError, match=r"The check of Blocks did not finish within 0\.5 s"):
        check_study(study_of(mutag, Blocks), data)


def test_so_does_the_estimate(mutag):
    folds = {fold.fingerprint: fold for fold in folds_of(mutag[1], "holdout")}
    specs = study_of(mutag, "gcn", Exits, Blocks).specs()
    seconds = run_seconds([(spec, folds[spec.split]) for spec in specs], mutag[0], most=0.3)
    assert all(value > 0 for value in seconds.values())  # taken to be as fast as gcn
