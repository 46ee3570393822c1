import json
import math

from ifmixup.study.engines.messages import order, outcome, perform
from ifmixup.training.versions import versions

from ifmixup.study.engines import messages
from ifmixup.training import RunResult


def test_there_and_back_as_text(make_task, mutag, expected, numbers):
    task = make_task(0, model="gat", heads=2, shuffle_every=None, learning_rate=0.1 + 0.2)
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
    monkeypatch.setattr(messages, "run", lambda *args, **kwargs: measured)
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

        monkeypatch.setattr(messages, "run", failing)
        found = outcome(task[0], perform(order(task, "cpu"), mutag))
        assert found.error == text
        assert found.result is None


def test_a_device_that_is_not_there(make_task, mutag):
    task = make_task(0)
    found = outcome(task[0], perform(order(task, "tpu"), mutag))
    assert found.error.startswith("InputError: There is no device 'tpu' here.")
