import json
import math
import socket
import sys
from types import SimpleNamespace

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import ComponentError
from ifmixup.study.engines import engine
from ifmixup.study.engines.engine import opened, order, outcome, perform, shared
from ifmixup.study.record import Record
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult, versions
from ifmixup.training.run_spec import Fold
from own_classes import Net, Noise
from stored_runs import spec


def test_a_record_says_where_it_was_made():
    found = Record(spec(), error="no")
    assert found.host == socket.gethostname()
    assert found.versions == versions()


def test_there_and_back_as_text(make_task, mutag, expected, numbers):
    task = make_task(
        0, model="gat", heads=2, shuffle_every=None, drop=("a",), learning_rate=0.1 + 0.2
    )
    told = json.loads(json.dumps(order(task, "cpu")))
    epochs = []
    answer = json.loads(json.dumps(perform(told, mutag, epochs.append)))
    found = outcome(task[0], answer)
    assert found.spec == task[0]
    assert numbers(found.result) == expected(task)
    assert epochs == [1, 2]
    assert found.versions == versions()


def test_numbers_survive_bit_for_bit(make_task, mutag, monkeypatch):
    values = [0.1 + 0.2, 1e-300, math.nan, math.inf, -math.inf, 5e-324, -0.0]
    measured = RunResult({"train_loss": values}, {"accuracy": 1 / 3}, 1.5, 0.5)
    monkeypatch.setattr(engine, "run", lambda *args, **kwargs: measured)
    task = make_task(0)
    answer = json.loads(json.dumps(perform(order(task, "cpu"), mutag)))
    assert repr(outcome(task[0], answer).result) == repr(measured)


def test_whatever_a_run_raises_is_an_answer(make_task, mutag, monkeypatch):
    task = make_task(0)
    for error, text in (
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError("no\nluck"), "RuntimeError: no\nluck"),
    ):

        def failing(*args, error=error, **kwargs):
            raise error

        monkeypatch.setattr(engine, "run", failing)
        found = outcome(task[0], perform(order(task, "cpu"), mutag))
        assert found.error == text
        assert found.result is None


def test_a_device_that_is_not_there(make_task, mutag):
    task = make_task(0)
    found = outcome(task[0], perform(order(task, "tpu"), mutag))
    assert found.error.startswith("InputError: This machine has no device 'tpu'.")


def test_classes_of_a_users_own_go_with_the_order(make_task, mutag, expected, numbers, monkeypatch):
    task = make_task(0, Net, Noise, width=4, std=0.5)
    told = json.dumps(order(task, "cpu"))
    here = expected(task)
    # another process has neither the module nor the class
    monkeypatch.setattr("ifmixup.components._FOUND", {})
    monkeypatch.delitem(sys.modules, "own_classes")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("tests")])
    answer = json.loads(json.dumps(perform(json.loads(told), mutag)))
    assert numbers(outcome(task[0], answer).result) == here


def test_ours_are_not_sent(make_task):
    assert order(make_task(0), "cpu")["classes"] is None


def test_code_that_is_not_here_cannot_be_ordered(make_task, monkeypatch):
    task = make_task(0, Net)
    engine._pickled.cache_clear()
    monkeypatch.setattr("ifmixup.components._FOUND", {})
    with pytest.raises(ComponentError, match=r"code of the model 'Net' .* is not loaded"):
        order(task, "cpu")


class Raises(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        raise RuntimeError("I will not")


class Exits(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        sys.exit("enough")


def test_an_error_of_the_users_class_has_the_users_line(make_task, mutag):
    task = make_task(0, Raises)
    found = outcome(task[0], perform(order(task, "cpu"), mutag))
    assert found.error.startswith("ComponentError: ")
    assert "RuntimeError: I will not (test_engine.py, line " in found.error
    task = make_task(0, Exits)
    assert outcome(task[0], perform(order(task, "cpu"), mutag)).error == "SystemExit: enough"


def graph():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    return Data(x=torch.ones(2, 1), edge_index=edge_index, y=torch.tensor([0]))


def test_a_waiting_run_does_not_carry_its_fold():
    """200,000 graphs and a grid of 144: the fold is stored once, an order names it."""
    folds = [Fold(0, n, range(n, 180_000), range(180_000, 190_000), range(190_000, 200_000))
             for n in range(2)]  # fmt: skip
    specs = [
        spec(n % 2, split=folds[n % 2].fingerprint, learning_rate=1 / (n + 1)) for n in range(288)
    ]
    tasks = [(each, folds[each.fold]) for each in specs]
    orders = [json.dumps(order(task, "cpu", stored=True)) for task in tasks]
    assert max(map(len, orders)) < 4000
    small = SimpleNamespace(to=lambda device: SimpleNamespace(to_dict=dict))
    found = shared(tasks, small)["folds"]
    assert len(found) == 2
    sizes = [getattr(value, "nbytes", 0) for each in found.values() for value in each.values()]
    assert sum(sizes) < 2 * 4 * 200_001
    _, opened_folds = opened({"data": pack([graph(), graph()]).to_dict(), "folds": found})
    again = Fold.of(opened_folds[folds[1].fingerprint])
    assert again == folds[1]
    assert again.fingerprint == folds[1].fingerprint
