"""Synthetic runs and studies, without training."""

import os
import signal
import traceback
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

from ifmixup.components import resolve, set_options
from ifmixup.errors import StoreError
from ifmixup.study.grid import expand
from ifmixup.study.record import Record
from ifmixup.study.splits import Splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study, make_trial, save_studies
from ifmixup.training.run import RunResult
from ifmixup.training.run_spec import Fold, RunSpec
from ifmixup.training.settings import Settings, setting_types

DATA = "d" * 24


def spec(fold=0, *, dataset="MUTAG", repeat=0, model="gcn", method="none", **changes):
    """A run; ``changes`` are parts of the spec, settings, or options of the model or the method."""
    parts = {"data": DATA, "split": "s" * 24, "seed": 0}
    parts |= {name: changes.pop(name) for name in list(changes) if name in parts}
    settings = {name: changes.pop(name) for name in list(changes) if name in setting_types()}
    found = [resolve("model", model), resolve("method", method)]
    unknown = [name for name in changes if not any(each.takes(name) for each in found)]
    assert not unknown, f"neither {model} nor {method} takes {unknown}"
    specs = [each.spec for each in set_options(found, changes)]
    return RunSpec(
        dataset=dataset,
        repeat=repeat,
        fold=fold,
        settings=Settings(**{"epochs": 2, **settings}),
        model=specs[0],
        method=specs[1],
        **parts,
    )


RESULT = RunResult(
    curves={"train_loss": [0.1 + 0.2, 1e-300], "test_accuracy": [0.5, 2 / 3]},
    metrics={"accuracy": 2 / 3, "nll": 0.7},
    seconds=1.25,
    prepare_seconds=0.125,
)


def result(test=(0.5, 2 / 3), *, validation=None, losses=None, metric="accuracy", **metrics):
    """What a run measured: ``test`` and ``validation`` by epoch, and metrics after the last one."""
    losses = losses or [1 / (2 + epoch) for epoch in range(len(test))]
    curves = {"train_loss": list(losses), f"test_{metric}": list(test), "test_loss": list(losses)}
    if validation is not None:
        curves |= {f"validation_{metric}": list(validation), "validation_loss": list(losses)}
    return RunResult(curves, {metric: test[-1], "nll": 0.7, "ece": 0.1, **metrics}, 1.25, 0.125)


def record(run, found=RESULT, *, error=None):
    """The record of a spec: done with a result, or failed with an error."""
    return Record(
        spec=run,
        result=found if error is None else None,
        error=error,
        versions={"torch": "2"},
        host="here",
        finished_at="2026-01-01T00:00:00.000000+00:00",
    )


def splits_of(folds=5, repeats=1, *, dataset="MUTAG", data=DATA):
    """Folds of ten graphs each, two of the others for validation."""
    made, graphs = [], 10 * max(2, folds)
    for repeat in range(repeats):
        for fold in range(folds):
            test = tuple((10 * fold + i + repeat) % graphs for i in range(10))
            rest = [graph for graph in range(graphs) if graph not in test]
            made.append(Fold(repeat, fold, tuple(rest[2:]), tuple(rest[:2]), test))
    return Splits(dataset, data, 0, tuple(made))


def study_of(
    models=("gcn",),
    methods=("none", "ifmixup"),
    *,
    datasets=("MUTAG",),
    protocols=("holdout",),
    folds=5,
    repeats=1,
    grid=None,
    name=None,
    title=None,
    metric="accuracy",
    notes=(),
    **settings,
):
    """A study of every model with every method, each compared with ``none`` or the first one.

    ``grid`` has lists of values by name, as :func:`ifmixup.compare` takes them.
    """
    trials = []
    for dataset in datasets:
        data = SimpleNamespace(name=dataset, fingerprint=(dataset + DATA)[:24])
        splits = splits_of(folds, repeats, dataset=dataset, data=data.fingerprint)
        for protocol in protocols:
            for model in (resolve("model", each) for each in models):
                found = [resolve("method", each) for each in methods]
                base = next((each for each in found if each.name == "none"), found[0])
                for method in found:
                    candidates = expand(
                        Settings(**{"epochs": 2, **settings}), model, method, grid or {}
                    )
                    against = None if method is base else f"{model.name} {base.name}"
                    trials.append(
                        make_trial(data, splits, candidates, protocol=protocol, against=against)
                    )
    name = name or datasets[0]
    return Study(name, title or f"{name}: a study", metric, tuple(trials), tuple(notes))


def records_of(study, measure):
    """Records of a study's runs, by key.

    ``measure(spec, validated)`` gives a result, an error as text, or None for a missing run;
    ``validated`` says whether the run's fold has validation graphs.
    """
    validated = {
        split
        for trial in study.trials
        if trial.protocol == "holdout"
        for _, _, split in trial.folds
    }
    found = {}
    for run in study.specs():
        got = measure(run, run.split in validated)
        if isinstance(got, str):
            found[run.key] = record(run, error=got)
        elif got is not None:
            found[run.key] = record(run, got)
    return found


def stored(folder, study, records):
    """A folder with a study and its runs."""
    with Store(folder) as store:
        store.merge(records.values())
    save_studies(folder, [study])
    return folder


def done(fold=0, *, accuracy=2 / 3, **options):
    metrics = {**RESULT.metrics, "accuracy": accuracy}
    found = replace(RESULT, curves=dict(RESULT.curves), metrics=metrics)
    return Record(spec(fold, **options), result=found, host="here", versions={"torch": "2"})


def failed(fold=0, error="out of memory", **options):
    return Record(spec(fold, **options), error=error, host="here", versions={"torch": "2"})


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
    """All that a store holds, as text, because NaN does not equal NaN."""
    with Store(folder, read_only=True) as store:
        return [repr(record) for record in store.records()]


def heed_interrupts():
    """Undo in a child that a shell has its jobs in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
