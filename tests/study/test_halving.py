import itertools
import math

import pytest

from engine_here import Here
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.study.compare import plan
from ifmixup.study.halving import Rung, cost, halve, rungs, score, select
from ifmixup.study.run import Runner
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult


def finished(test, val=None, metric="accuracy"):
    curves = {f"test_{metric}": test}
    if val is not None:
        curves |= {f"validation_{metric}": val, "validation_loss": [0.0] * len(val)}
    return RunResult(curves, {}, 1.0, 0.1)


def test_the_papers_grid_costs_less_than_a_fifth():
    rounds = rungs(144, 10, 350)
    assert rounds == [Rung(144, 2, 39, 48), Rung(48, 4, 117, 16), Rung(16, 10, 350, 16)]
    # (144 · 2 · 39 + 48 · 4 · 117 + 16 · 10 · 350) / (144 · 10 · 350)
    assert cost(rounds) == pytest.approx(89_696 / 504_000)
    assert cost(rounds) < 0.18


@pytest.mark.parametrize(
    ("settings", "folds", "epochs", "expected"),
    [
        (1, 10, 350, [Rung(1, 10, 350, 1)]),
        (2, 10, 350, [Rung(2, 4, 117, 1), Rung(1, 10, 350, 1)]),
        (3, 10, 350, [Rung(3, 4, 117, 1), Rung(1, 10, 350, 1)]),
        (4, 10, 350, [Rung(4, 2, 39, 2), Rung(2, 4, 117, 1), Rung(1, 10, 350, 1)]),
        (9, 10, 45, [Rung(9, 2, 10, 3), Rung(3, 4, 15, 1), Rung(1, 10, 45, 1)]),
        (9, 10, 5, [Rung(9, 2, 5, 3), Rung(3, 4, 5, 1), Rung(1, 10, 5, 1)]),
        (9, 3, 350, [Rung(9, 2, 39, 3), Rung(3, 3, 117, 1), Rung(1, 3, 350, 1)]),
        (9, 2, 10, [Rung(9, 2, 10, 9)]),  # nothing to save
        (2, 4, 15, [Rung(2, 4, 15, 2)]),  # 2 · 4 · 10 + 4 · 15 would be more than 2 · 4 · 15
        (9, 4, 10, [Rung(9, 2, 10, 3), Rung(3, 4, 10, 3)]),
    ],
)
def test_small_plans(settings, folds, epochs, expected):
    assert rungs(settings, folds, epochs) == expected


def test_a_run_of_an_earlier_rung_is_not_paid_twice():
    # 9 · 2 runs, then 2 more folds of 3 settings, then 6 more of 1, all of 10 epochs.
    rounds = rungs(9, 10, 10)
    assert [(r.folds, r.epochs) for r in rounds] == [(2, 10), (4, 10), (10, 10)]
    assert cost(rounds) == pytest.approx((18 + 6 + 6) / 90)


def test_a_plan_never_costs_more_than_the_grid():
    for settings in range(1, 40):
        for folds in range(1, 12):
            for epochs in (1, 9, 10, 11, 30, 100):
                rounds = rungs(settings, folds, epochs)
                assert all(r.keep == n.settings for r, n in itertools.pairwise(rounds))
                assert (rounds[-1].folds, rounds[-1].epochs) == (folds, epochs)
                assert rounds[-1].keep >= 1
                assert cost(rounds) <= 1
                assert len(rounds) == 1 or cost(rounds) < 1


def test_the_best_go_on_in_the_order_of_the_grid():
    assert select([0.5, 0.9, 0.7, 0.8], 2) == [1, 3]
    assert select([0.8, 0.8, 0.8], 2) == [0, 1]  # equals: the earlier
    assert select([math.nan, 0.1, 0.0], 2) == [1, 2]
    assert select([math.nan, math.nan, 0.1], 2) == [0, 2]
    assert select([0.5], 3) == [0]


def test_the_score_under_holdout_is_validation_alone():
    runs = [finished([1.0, 0.0], [0.2, 0.6]), finished([1.0, 0.0], [0.8, 0.4])]
    assert score("holdout", runs, True) == pytest.approx(0.7)
    other = [finished([0.0, 0.5], [0.2, 0.6]), finished([0.3, 0.0], [0.8, 0.4])]
    assert score("holdout", other, True) == score("holdout", runs, True)


def test_the_score_under_paper_is_the_best_of_the_mean_curve():
    runs = [finished([0.9, 0.2, 0.5]), finished([0.1, 0.6, 0.7])]
    assert score("paper", runs, True) == pytest.approx(0.6)


def test_a_setting_that_failed_somewhere_has_no_score():
    runs = [finished([0.9], [0.9])]
    assert score("holdout", runs, True, folds=1) == 0.9
    assert math.isnan(score("holdout", runs, True, folds=2))
    assert math.isnan(score("paper", [], True))


def test_the_score_under_last_is_the_last_of_the_mean_curve():
    runs = [finished([0.9, 0.2, 0.5]), finished([0.1, 0.6, 0.7])]
    assert score("last", runs, True) == pytest.approx(0.6)
    assert score("last", [finished([3.0, 2.0], metric="mae")], False) == -2.0
    with pytest.raises(InputError, match="Did you mean 'paper'"):
        score("papre", runs, True)


def test_of_an_error_the_score_is_the_negative():
    assert score("holdout", [finished([9.0, 9.0], [3.0, 2.0], metric="mae")], False) == -2.0
    assert score("paper", [finished([3.0, 2.0], metric="mae")], False) == -2.0


def test_folds_where_the_metric_is_not_defined_do_not_count():
    nan = math.nan
    runs = [
        finished([0.5], [0.8], metric="roc_auc"),
        finished([0.5], [nan], metric="roc_auc"),
    ]
    assert score("holdout", runs, True) == 0.8
    runs = [finished([0.5], metric="roc_auc"), finished([nan], metric="roc_auc")]
    assert score("paper", runs, True) == 0.5


GRID = {
    "learning_rate": [1e-9, 0.02],
    "hidden_channels": [2, 4],
    "num_layers": [1, 2],
    "dropout": [0.0, 0.5],
}


@pytest.mark.parametrize("protocol", ["holdout", "paper"])
def test_settings_that_do_badly_are_left_out(tmp_path, protocol):
    data = pack(load("MUTAG"))
    splits, engine = make_splits(data, folds=5), Here()
    options = {"protocols": protocol, "grid": GRID, "changes": {"epochs": 24}}
    study = plan(data, splits, ["gcn"], ["none"], **options)
    with Store(tmp_path) as store:
        runner = Runner(store, engine, [(data, splits)], progress=False)
        found = halve(study, store, runner.execute)
        (before,), (after,) = study.trials, found.trials
        # 16 settings on 2 folds and 10 epochs, the best 6 on 4 folds and 10 epochs, 2 are left
        assert len(after.candidates) == len(after.keys) == 2
        assert all(each in before.candidates for each in after.candidates)
        assert all(each.settings.epochs == 24 for each in after.candidates)
        assert set(after.keys) <= set(before.keys)
        # hardly any learning at all is never the best
        assert any(each.settings.learning_rate == 0.02 for each in after.candidates)
        assert {spec.settings.epochs for spec in engine.ran} == {10}
        assert len(engine.ran) == 16 * 2 + 6 * 2  # two of the four folds were there already
        assert halve(study, store, runner.execute) == found
        assert len(engine.ran) == 44


def test_a_single_setting_is_not_searched(tmp_path):
    data = pack(load("MUTAG"))
    study = plan(data, make_splits(data, folds=3), ["gcn"], ["none"])

    def execute(specs):
        raise AssertionError("nothing is to be run")

    with Store(tmp_path) as store:
        assert halve(study, store, execute) == study
