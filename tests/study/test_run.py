from dataclasses import replace

import pytest

from engine_here import Here
from ifmixup.components import ClassSpec
from ifmixup.data import load
from ifmixup.errors import ComponentError, InputError, TrainingError
from ifmixup.study.compare import plan
from ifmixup.study.run import Runner, changed_code, check_study
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.training.packed import pack
from own_classes import Net, Noise
from stored_runs import filled, spec, study_of
from stored_runs import record as stored
from task_graphs import with_values

TINY = {"epochs": 2, "hidden_channels": 4, "num_layers": 1}


@pytest.fixture(scope="module")
def mutag():
    data = pack(load("MUTAG"))
    return data, make_splits(data, folds=3)


def planned(mutag, models=("gcn",), methods=("none", "ifmixup"), changes=TINY, **options):
    return plan(*mutag, models, methods, changes=changes, **options)


def test_what_is_done_is_never_run_again(mutag, tmp_path):
    engine, study = Here(), planned(mutag)
    with Store(tmp_path) as store:
        runner = Runner(store, engine, [mutag], progress=False)
        for _ in range(2):
            runner.execute([*study.specs(), *study.specs()])
        assert len(engine.ran) == 6
        assert store.keys() == study.keys


def test_every_run_gets_its_own_fold(mutag, tmp_path):
    study = planned(mutag, protocols=("holdout", "paper"))
    with Store(tmp_path) as store:
        tasks = Runner(store, Here(), [mutag]).pending(study.specs())
    assert len(tasks) == 12
    for run, fold in tasks:
        assert (run.repeat, run.fold, run.split) == (fold.repeat, fold.fold, fold.fingerprint)
    assert {bool(fold.validation) for _, fold in tasks} == {True, False}


def test_failed_runs_are_run_again_only_when_asked_for(mutag, tmp_path):
    study = planned(mutag)
    with Store(tmp_path) as store:
        bad = Here(fail=lambda run: run.fold == 1)
        runner = Runner(store, bad, [mutag], progress=False)
        runner.execute(list(study.specs()))
        assert runner.pending(study.specs()) == []
        again = Runner(store, Here(), [mutag], retry_failed=True, progress=False)
        assert [run.fold for run, _ in again.pending(study.specs())] == [1, 1]
        again.execute(list(study.specs()))
        assert store.keys("failed") == set()
        assert len(store.keys("done")) == 6


def test_several_datasets(mutag, tmp_path):
    values = pack(with_values(20))
    pair = (values, make_splits(values, folds=2))
    specs = [*planned(mutag).specs(), *planned(pair).specs()]
    with Store(tmp_path) as store:
        engine = Here()
        Runner(store, engine, [mutag, pair], progress=False).execute(specs)
        found = {record.spec.data: record.result.metric for record in store.records()}
    assert found == {mutag[0].fingerprint: "accuracy", values.fingerprint: "mae"}
    assert len(engine.ran) == 6 + 4


def test_progress_goes_to_the_standard_error(mutag, tmp_path, capsys):
    with Store(tmp_path) as store:
        Runner(store, Here(), [mutag]).execute(list(planned(mutag).specs())[:2])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("2 runs to do")


def test_storing_that_fails_closes_the_engine(mutag, tmp_path, monkeypatch):
    closed = []

    class Slow(Here):
        def execute(self, tasks, data, watcher=None):
            try:
                yield from super().execute(tasks, data, watcher)
            finally:
                closed.append(True)

    with Store(tmp_path) as store:
        monkeypatch.setattr(store, "add", lambda outcome: 1 / 0)
        runner = Runner(store, Slow(), [mutag], progress=False)
        with pytest.raises(ZeroDivisionError):
            runner.execute(list(planned(mutag).specs()))
        assert closed == [True]
        assert store.keys() == set()


class Wide(Net):
    """Fails when it is wide."""

    def __init__(self, in_channels, out_channels, width: int = 4):
        super().__init__(in_channels, out_channels, width)
        if width > 8:
            raise ValueError("too wide")


def test_every_candidate_is_checked(mutag):
    data = {mutag[0].fingerprint: mutag[0]}
    check_study(planned(mutag, ("gcn", Wide), grid={"width": [2, 4]}), data)
    with pytest.raises(ComponentError, match="too wide"):
        check_study(planned(mutag, ("gcn", Wide), grid={"width": [2, 4, 16]}), data)


def test_settings_that_the_task_does_not_have_are_refused():
    values = pack(with_values(20))
    pair = (values, make_splits(values, folds=2))
    study = planned(pair, grid={"label_smoothing": [0.0, 0.1]})
    with pytest.raises(InputError, match="label_smoothing is for classes"):
        check_study(study, {values.fingerprint: values})


def older(run, kind="model", **changes):
    """The same run with other code."""
    return replace(run, **{kind: replace(getattr(run, kind), source="older", **changes)})


def test_runs_of_older_code_are_counted(tmp_path):
    study = study_of((Net, "gcn"), ("none", Noise), folds=2)
    runs = list(study.specs())
    mine = [run for run in runs if run.model.name == "Net"]
    noisy = [run for run in runs if run.method.name == "Noise"]
    with Store(tmp_path) as store:
        assert changed_code(study, store) == []
        store.merge(map(stored, runs))
        assert changed_code(study, store) == []
        store.merge(stored(older(run)) for run in mine)
        assert changed_code(study, store) == ["Net changed: 4 stored runs were made by older code."]
        store.merge([stored(older(noisy[0], "method"))])
        assert changed_code(study, store) == [
            "Net changed: 4 stored runs were made by older code.",
            "Noise changed: 1 stored run was made by older code.",
        ]


def test_runs_of_other_data_or_classes_are_not_older_code(tmp_path):
    study = study_of((Net,), ("none",), folds=1)
    (run,) = study.specs()
    other = ClassSpec("Net2", "nets.py:Net2", (), "older")
    with Store(tmp_path) as store:
        store.merge([stored(replace(older(run), data="other")), stored(replace(run, model=other))])
        assert changed_code(study, store) == []
        # a variant has another name, but is the same class
        store.merge([stored(older(run, name="mine"))])
        assert changed_code(study, store) == ["Net changed: 1 stored run was made by older code."]


def test_ours_have_no_code_to_change(tmp_path):
    with Store(filled(tmp_path)) as store:
        store.merge([stored(older(spec(0)))])
        assert changed_code(study_of(), store) == []


def test_an_interruption_keeps_what_is_done(mutag, tmp_path):
    study = planned(mutag)
    specs = list(study.specs())

    def stop(run):
        if run is specs[3]:
            raise KeyboardInterrupt
        return False

    with Store(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            Runner(store, Here(stop), [mutag], progress=False).execute(specs)
        assert store.keys() == {run.key for run in specs[:3]}
        runner = Runner(store, Here(), [mutag], progress=False)
        assert [run.key for run, _ in runner.pending(specs)] == [run.key for run in specs[3:]]


def test_an_error_of_the_engine_itself_is_raised(mutag, tmp_path):
    class Broken:
        def execute(self, tasks, data, watcher=None):
            raise TrainingError("No worker process can be started")
            yield

    with Store(tmp_path) as store, pytest.raises(TrainingError, match="No worker"):
        Runner(store, Broken(), [mutag], progress=False).execute(list(planned(mutag).specs()))
