import itertools
import math

import pytest

from ifmixup.errors import InputError
from ifmixup.study.halving import Halving, Rung, cost, score
from ifmixup.training import RunResult, RunSpec, Settings


def finished(test, val=None, fold=0, hidden=64, metric="accuracy"):
    curves = {f"test_{metric}": test}
    if val is not None:
        curves |= {f"validation_{metric}": val, "validation_loss": [0.0] * len(val)}
    protocol = "paper" if val is None else "holdout"
    settings = Settings(epochs=len(test), hidden=hidden)
    spec = RunSpec("D", "d", settings, protocol, 0, fold, f"s{fold}", 0)
    return spec, RunResult(curves, {}, 1.0, 0.1)


def test_the_papers_grid_costs_less_than_a_fifth():
    rungs = Halving().rungs(144, 10, 350)
    assert rungs == [Rung(144, 2, 39, 48), Rung(48, 4, 117, 16), Rung(16, 10, 350, 16)]
    # (144 · 2 · 39 + 48 · 4 · 117 + 16 · 10 · 350) / (144 · 10 · 350)
    assert cost(rungs) == pytest.approx(89_696 / 504_000)
    assert cost(rungs) < 0.18
    # Three repeats: only the last rung is trained three times.
    assert cost(rungs, repeats=3) == pytest.approx((33_696 + 168_000) / 1_512_000)


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
    assert Halving().rungs(settings, folds, epochs) == expected


def test_another_eta():
    assert Halving(eta=2).rungs(5, 10, 100) == [
        Rung(5, 2, 25, 3),
        Rung(3, 4, 50, 2),
        Rung(2, 10, 100, 2),
    ]
    with pytest.raises(InputError, match="eta must be at least 2"):
        Halving(eta=1)


def test_a_run_of_an_earlier_rung_is_not_paid_twice():
    # 9 · 2 runs, then 2 more folds of 3 settings, then 6 more of 1, all of 10 epochs.
    rungs = Halving().rungs(9, 10, 10)
    assert [(r.folds, r.epochs) for r in rungs] == [(2, 10), (4, 10), (10, 10)]
    assert cost(rungs) == pytest.approx((18 + 6 + 6) / 90)


@pytest.mark.parametrize("sizes", [(0, 10, 10), (3, 0, 10), (3, 10, 0)])
def test_nothing_to_plan(sizes):
    with pytest.raises(InputError, match="At least one setting, fold and epoch"):
        Halving().rungs(*sizes)


def test_a_plan_never_costs_more_than_the_grid():
    for settings in range(1, 40):
        for folds in range(1, 12):
            for epochs in (1, 9, 10, 11, 30, 100):
                rungs = Halving().rungs(settings, folds, epochs)
                assert all(r.keep == n.settings for r, n in itertools.pairwise(rungs))
                assert (rungs[-1].folds, rungs[-1].epochs) == (folds, epochs)
                assert rungs[-1].keep >= 1
                assert cost(rungs) <= 1
                assert len(rungs) == 1 or cost(rungs) < 1


def test_the_best_go_on_in_the_order_of_the_grid():
    assert Halving.select({0: 0.5, 1: 0.9, 2: 0.7, 3: 0.8}, 2) == [1, 3]
    assert Halving.select({7: 0.8, 2: 0.8, 5: 0.8}, 2) == [2, 5]  # equals: the earlier
    assert Halving.select({0: math.nan, 1: 0.1, 2: 0.0}, 2) == [1, 2]
    assert Halving.select({0: 0.5}, 3) == [0]


def test_the_score_under_holdout_is_validation_alone():
    runs = [finished([1.0, 0.0], [0.2, 0.6]), finished([1.0, 0.0], [0.8, 0.4], fold=1)]
    assert score("holdout", runs) == pytest.approx(0.7)
    other = [finished([0.0, 0.5], [0.2, 0.6]), finished([0.3, 0.0], [0.8, 0.4], fold=1)]
    assert score("holdout", other) == score("holdout", runs)


def test_the_score_under_paper_is_the_best_of_the_mean_curve():
    runs = [finished([0.9, 0.2, 0.5]), finished([0.1, 0.6, 0.7], fold=1)]
    assert score("paper", runs) == pytest.approx(0.6)


def test_a_setting_that_failed_somewhere_has_no_score():
    runs = [finished([0.9], [0.9])]
    assert score("holdout", runs, folds=1) == 0.9
    assert math.isnan(score("holdout", runs, folds=2))
    assert math.isnan(score("paper", []))


def test_runs_that_are_not_of_one_setting():
    with pytest.raises(InputError, match="of one setting"):
        score("paper", [finished([0.9]), finished([0.8], hidden=128)])
    with pytest.raises(InputError, match="the paper runs"):
        score("paper", [finished([0.9], [0.9])])
    with pytest.raises(InputError, match="Did you mean 'paper'"):
        score("papre", [])
    two_settings = [finished([0.9]), finished([0.8], hidden=128, fold=1)]
    with pytest.raises(InputError, match="of one setting"):
        score("paper", two_settings)


def test_of_an_error_the_score_is_the_negative():
    assert score("holdout", [finished([9.0, 9.0], [3.0, 2.0], metric="mae")]) == -2.0
    assert score("paper", [finished([3.0, 2.0], metric="mae")]) == -2.0


def test_folds_where_the_metric_is_not_defined_do_not_count():
    nan = math.nan
    runs = [
        finished([0.5], [0.8], metric="roc_auc"),
        finished([0.5], [nan], fold=1, metric="roc_auc"),
    ]
    assert score("holdout", runs) == 0.8
    runs = [finished([0.5], metric="roc_auc"), finished([nan], fold=1, metric="roc_auc")]
    assert score("paper", runs) == 0.5
