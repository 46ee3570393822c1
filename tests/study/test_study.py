import pytest

from engine_here import Here
from ifmixup.data import load
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study
from ifmixup.training import Settings, pack

TINY = Settings(epochs=2, hidden=4, layers=1)


@pytest.fixture(scope="module")
def study():
    data = pack(load("MUTAG"))
    settings = {
        ("holdout", "gcn", method): [TINY.with_(method=method)] for method in ("none", "ifmixup")
    }
    return Study(data, make_splits(data, folds=3), 0, settings)


def test_a_run_a_fold_a_trial_with_all_methods_of_a_fold_together(study):
    specs = list(study.specs())
    assert [(spec.fold, spec.settings.method) for spec in specs] == [
        (0, "none"), (0, "ifmixup"), (1, "none"), (1, "ifmixup"), (2, "none"), (2, "ifmixup"),
    ]  # fmt: skip
    assert len({spec.key for spec in specs}) == 6
    assert {spec.own_seed for spec in specs if spec.fold == 1} == {specs[2].own_seed}


def test_what_is_done_is_never_run_again(study, tmp_path):
    engine = Here()
    with Store(tmp_path) as store:
        for _ in range(2):
            tasks = study.pending([*study.specs(), *study.specs()], store)
            study.execute(tasks, store, engine)
        assert len(engine.ran) == 6
        assert len(study.records(study.specs(), store)) == 6


def test_failed_runs_are_run_again_only_when_asked_for(study, tmp_path):
    with Store(tmp_path) as store:
        bad = Here(fail=lambda spec: spec.fold == 1)
        study.execute(study.pending(study.specs(), store), store, bad)
        assert study.pending(study.specs(), store) == []
        again = study.pending(study.specs(), store, retry_failed=True)
        assert [spec.fold for spec, _ in again] == [1, 1]
        study.execute(again, store, Here())
        assert store.keys("failed") == set()
        assert len(store.keys("done")) == 6
