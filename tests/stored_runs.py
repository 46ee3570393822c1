"""Runs to store, without training any."""

import os
import traceback
from contextlib import contextmanager
from dataclasses import replace

from ifmixup.errors import StoreError
from ifmixup.study.engines.engine import Outcome
from ifmixup.study.store import Store
from ifmixup.training import RunResult, RunSpec, Settings


def spec(fold=0, *, dataset="MUTAG", protocol="holdout", repeat=0, **settings):
    return RunSpec(
        dataset=dataset,
        data="d" * 24,
        settings=Settings(epochs=2, **settings),
        protocol=protocol,
        repeat=repeat,
        fold=fold,
        split="s" * 24,
        seed=0,
    )


RESULT = RunResult(
    curves={"train_loss": [0.1 + 0.2, 1e-300], "test_accuracy": [0.5, 2 / 3]},
    metrics={"accuracy": 2 / 3, "nll": 0.7},
    seconds=1.25,
    prepare_seconds=0.125,
)


def done(fold=0, *, accuracy=2 / 3, **options):
    metrics = {**RESULT.metrics, "accuracy": accuracy}
    result = replace(RESULT, curves=dict(RESULT.curves), metrics=metrics)
    return Outcome(spec(fold, **options), result=result, host="here", versions={"torch": "2"})


def failed(fold=0, error="out of memory", **options):
    return Outcome(spec(fold, **options), error=error, host="here", versions={"torch": "2"})


def filled(folder, *outcomes):
    with Store(folder) as store:
        for outcome in outcomes:
            assert store.add(outcome)
    return folder


def fill(store):
    """Add runs, from fold 1 on, until there is no more space: the keys, and the error."""
    keys = []
    for fold in range(1, 1000):
        try:
            store.add(failed(fold, error="x" * 3000))
        except StoreError as error:
            return keys, str(error)
        keys.append(spec(fold).key)
    raise AssertionError("there was space for all")


def everything(folder):
    """All that a store holds, as text, so that NaN equals NaN."""
    with Store(folder, read_only=True) as store:
        return [repr(record) for record in store.records()]


@contextmanager
def child(work):
    """A process of its own that runs ``work`` and is gone at the end, whatever happens."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        yield number
    finally:
        _, status = os.waitpid(number, 0)
    assert status in (0, 9), f"the process ended with {status}"
