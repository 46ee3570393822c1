import pytest

from engine_here import Here
from ifmixup.data import load
from ifmixup.study.grid import expand
from ifmixup.study.halving import Rung
from ifmixup.study.search import climb, halve
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study
from ifmixup.training import Settings, pack

GRID = {"learning_rate": [1e-9, 0.02], "hidden": [2, 4], "layers": [1, 2], "dropout": [0.0, 0.5]}


@pytest.mark.parametrize("protocol", ["holdout", "paper"])
def test_settings_that_do_badly_are_left_out(tmp_path, protocol):
    data = pack(load("MUTAG"))
    base = Settings(epochs=24, method="none")
    trial = (protocol, "gcn", "none")
    study = Study(data, make_splits(data, folds=5), 0, {trial: expand(base, GRID)})
    engine = Here()
    with Store(tmp_path) as store:

        def execute(specs):
            study.execute(study.pending(specs, store), store, engine)

        found = halve(study, store, execute)
        left = found.settings[trial]
        # 16 settings on 2 folds and 10 epochs, the best 6 on 4 folds and 10 epochs, 2 are left
        assert len(left) == 2
        assert all(settings in study.settings[trial] for settings in left)
        assert all(settings.epochs == 24 for settings in left)
        # hardly any learning at all is never the best
        assert any(settings.learning_rate == 0.02 for settings in left)
        assert {spec.settings.epochs for spec in engine.ran} == {10}
        assert len(engine.ran) == 16 * 2 + 6 * 2  # two of the four folds were there already
        assert all(spec.protocol == protocol for spec in engine.ran)
        assert halve(study, store, execute).settings == found.settings
        assert len(engine.ran) == 44


def test_a_single_setting_is_not_searched(tmp_path):
    data = pack(load("MUTAG"))
    study = Study(data, make_splits(data, folds=3), 0, {("holdout", "gcn", "none"): [Settings()]})

    def execute(specs):
        raise AssertionError("nothing is to be run")

    with Store(tmp_path) as store:
        assert halve(study, store, execute) == study


def test_the_settings_that_are_left_come_with_their_scores_in_the_last_rung(tmp_path):
    data = pack(load("MUTAG"))
    trial = ("holdout", "gcn", "none")
    candidates = expand(Settings(epochs=24), GRID)
    study = Study(data, make_splits(data, folds=5), 0, {trial: candidates})
    engine = Here()
    with Store(tmp_path) as store:

        def execute(specs):
            study.execute(study.pending(specs, store), store, engine)

        rungs = [Rung(16, folds=1, epochs=3, keep=4), Rung(4, folds=2, epochs=8, keep=1)]
        ((best, score),) = climb(study, store, execute, {trial: rungs})[trial].items()
        assert best in candidates
        assert best.learning_rate == 0.02
        assert len(engine.ran) == 16 + 4 * 2  # nothing is run in full
        assert 0.5 < score <= 1
        last = [spec for spec in engine.ran if spec.settings == best.with_(epochs=8)]
        curves = [store.record(spec.key).result.curves["validation_accuracy"] for spec in last]
        assert score == pytest.approx(sum(max(curve) for curve in curves) / 2)


def test_without_rungs_all_are_left(tmp_path):
    data = pack(load("MUTAG"))
    trial, only = ("holdout", "gcn", "none"), Settings(epochs=1, layers=1, hidden=2)
    study = Study(data, make_splits(data, folds=2), 0, {trial: [only]})
    with Store(tmp_path) as store:
        left = climb(study, store, lambda specs: None, {trial: []})
    assert list(left[trial]) == [only]
