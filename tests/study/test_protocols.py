import math

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import InputError
from ifmixup.study.protocols import (
    Choice,
    Reading,
    mean,
    needs_validation,
    read,
)
from ifmixup.study.splits import make_splits
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult, run
from ifmixup.training.run_spec import RunSpec
from tiny import parts

NAN = math.nan


def finished(test, val=None, loss=None, metric="accuracy"):
    """A finished run with these curves."""
    curves = {f"test_{metric}": test}
    if val is not None:
        curves |= {f"validation_{metric}": val, "validation_loss": loss or [0.0] * len(val)}
    return RunResult(curves, {}, 1.0, 0.1)


def holdout(*candidates, pairs=()):
    return read(candidates, "holdout", pairs)


def paper(*candidates, pairs=()):
    return read(candidates, "paper", pairs)


def chosen(reading):
    return {pair: (each.candidate, each.epoch) for pair, each in reading.chosen.items()}


def test_protocols():
    assert [needs_validation(name) for name in ("holdout", "paper", "last")] == [True, False, False]
    with pytest.raises(InputError, match=r"Unknown protocol 'hold-out'. Did you mean 'holdout'"):
        needs_validation("hold-out")


def test_holdout_chooses_for_each_fold_and_looks_at_test_at_one_point():
    reading = holdout(
        {
            (0, 0): finished([0.1, 0.2, 0.3], [0.5, 0.8, 0.6]),
            (0, 1): finished([0.1, 0.2, 0.3], [0.5, 0.6, 0.5]),
        },
        {
            (0, 0): finished([0.4, 0.5, 0.6], [0.7, 0.7, 0.7]),
            (0, 1): finished([0.9, 0.5, 0.6], [0.6, 0.6, 0.7]),
        },
    )
    assert reading.scores == {(0, 0): 0.2, (0, 1): 0.6}
    assert reading.last == {(0, 0): 0.3, (0, 1): 0.6}
    assert reading.chosen == {(0, 0): Choice(0, 2), (0, 1): Choice(1, 3)}
    assert not reading.optimistic
    assert (reading.runs, reading.missing) == (4, {})


def test_holdout_does_not_depend_on_the_test_curve():
    val = [0.5, 0.8, 0.6]
    one = holdout({(0, 0): finished([0.1, 0.2, 0.3], val)}, {(0, 0): finished([1.0] * 3, val)})
    two = holdout({(0, 0): finished([0.9, 0.2, 0.9], val)}, {(0, 0): finished([0.0] * 3, val)})
    assert (one.scores, one.chosen) == (two.scores, two.chosen)


def test_settings_with_equal_validation_accuracy():
    first = {(0, 0): finished([0.1, 0.1], [0.8, 0.5], [0.4, 0])}
    second = {(0, 0): finished([0.2, 0.2], [0.5, 0.8], [0, 0.3])}
    assert chosen(holdout(first, second)) == {(0, 0): (1, 2)}  # the lower loss
    equal = {(0, 0): finished([0.1, 0.1], [0.8, 0.5], [0.3, 0])}
    assert chosen(holdout(equal, second)) == {(0, 0): (0, 1)}  # the first in the grid
    assert chosen(holdout(second, equal)) == {(0, 0): (0, 2)}


def test_paper_takes_the_best_epoch_of_the_mean_curve_of_each_repeat():
    reading = paper(
        {
            (0, 0): finished([0.1, 0.9, 0.6]),  # the mean is 0.5, 0.5, 0.7
            (0, 1): finished([0.9, 0.1, 0.8]),
            (1, 0): finished([0.6, 0.2, 0.0]),  # 0.5, 0.5, 0.2: the earliest of two
            (1, 1): finished([0.4, 0.8, 0.4]),
        }
    )
    assert reading.scores == {(0, 0): 0.6, (0, 1): 0.8, (1, 0): 0.6, (1, 1): 0.4}
    assert reading.last == {(0, 0): 0.6, (0, 1): 0.8, (1, 0): 0.0, (1, 1): 0.4}
    assert [each.epoch for each in reading.chosen.values()] == [3, 3, 1, 1]
    assert reading.optimistic
    assert reading.mean == pytest.approx(0.6)


def test_paper_chooses_one_setting_by_the_mean_over_repeats():
    reading = paper(
        {(0, 0): finished([0.9, 0.0]), (1, 0): finished([0.5, 0.1])},  # 0.7
        {(0, 0): finished([0.0, 0.8]), (1, 0): finished([0.7, 0.2])},  # 0.75
    )
    assert chosen(reading) == {(0, 0): (1, 2), (1, 0): (1, 1)}


def test_last_reads_the_last_epoch_of_the_same_runs():
    runs = {(0, 0): finished([0.9, 0.2]), (0, 1): finished([0.1, 0.4])}
    reading = read([runs], "last", list(runs))
    assert reading.scores == reading.last == {(0, 0): 0.2, (0, 1): 0.4}
    assert not reading.optimistic  # nothing was chosen
    better = {(0, 0): finished([0.0, 0.5]), (0, 1): finished([0.0, 0.5])}
    several = read([runs, better], "last", list(runs))
    assert chosen(several) == {(0, 0): (1, 2), (0, 1): (1, 2)}
    assert several.optimistic  # a setting was chosen, on the test folds


def test_equal_means_are_equal_in_any_order_of_folds():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point.
    curves = [(0.3, 0.1), (0.2, 0.2), (0.1, 0.3)]
    for order in (curves, curves[::-1]):
        runs = {(0, fold): finished(list(curve)) for fold, curve in enumerate(order)}
        assert {each.epoch for each in paper(runs).chosen.values()} == {1}


def test_missing_runs_are_counted():
    first = {(0, 0): finished([0.5], [0.5]), (0, 1): finished([0.7], [0.5])}
    second = {(0, 0): finished([0.6], [0.6])}  # that of fold 1 failed
    reading = holdout(first, second, pairs=[(0, 0), (0, 1), (0, 2)])
    assert reading.missing == {(0, 1): 1, (0, 2): 2}
    assert reading.runs == 3
    assert reading.scores == {(0, 0): 0.6, (0, 1): 0.7}
    third = {}  # failed everywhere
    assert holdout(first, second, third).missing == {(0, 0): 1, (0, 1): 2}


def test_nothing_finished_is_nothing_read():
    assert holdout({}, {}, pairs=[(0, 0)]) is None
    assert paper() is None


def test_paper_does_not_prefer_a_setting_that_failed_on_the_hard_fold():
    reading = paper({(0, 0): finished([0.9])}, {(0, 0): finished([0.8]), (0, 1): finished([0.2])})
    assert chosen(reading) == {(0, 0): (1, 1), (0, 1): (1, 1)}
    assert reading.missing == {(0, 1): 1}


def test_nan_is_never_the_best():
    assert paper({(0, 0): finished([NAN, 0.4, 0.3])}).scores == {(0, 0): 0.4}
    reading = paper({(0, 0): finished([NAN])}, {(0, 0): finished([0.1])})
    assert chosen(reading) == {(0, 0): (1, 1)}
    assert math.isnan(paper({(0, 0): finished([NAN, NAN])}).mean)


def test_runs_that_cannot_be_read():
    with pytest.raises(InputError, match=r"different or no length: .* validation_accuracy 0"):
        holdout({(0, 0): finished([0.5])})
    with pytest.raises(InputError, match="different or no length"):
        holdout({(0, 0): finished([0.5, 0.5], [0.5])})
    with pytest.raises(InputError, match="different or no length"):
        paper({(0, 0): finished([])})
    with pytest.raises(InputError, match=r"different metrics .*: accuracy, mae"):
        paper({(0, 0): finished([0.5]), (0, 1): finished([0.5], metric="mae")})


def test_the_rule_is_that_of_training():
    generator = torch.Generator().manual_seed(0)
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [
        Data(x=torch.randn(3, 4, generator=generator), edge_index=ring, y=torch.tensor([i % 2]))
        for i in range(40)
    ]
    data = pack(graphs, "noise")
    runs = {}
    for fold in make_splits(data, folds=4).folds:
        pair = (fold.repeat, fold.fold)
        spec = RunSpec("noise", data.fingerprint, fold.fingerprint, 0, *pair, *parts(epochs=8))
        runs[pair] = run(spec, data, fold)
    reading = holdout(runs)
    assert len({each.epoch for each in reading.chosen.values()}) > 1  # something is chosen
    for pair, result in runs.items():
        assert reading.scores[pair] == result.metrics["chosen_accuracy"]
        assert reading.last[pair] == result.metrics["accuracy"]


def test_of_an_error_the_lowest_is_the_best():
    reading = holdout(
        {(0, 0): finished([3.0, 2.0, 1.0], [0.5, 0.3, 0.6], metric="mae")},
        {(0, 0): finished([9.0, 8.0, 7.0], [0.9, 0.2, 0.4], metric="mae")},
    )
    assert (reading.metric, reading.scores) == ("mae", {(0, 0): 8.0})
    assert chosen(reading) == {(0, 0): (1, 2)}
    reading = paper(
        {(0, 0): finished([3.0, 1.0], metric="mae"), (0, 1): finished([1.0, 2.0], metric="mae")},
        {(0, 0): finished([0.5, 2.0], metric="mae"), (0, 1): finished([1.0, 2.0], metric="mae")},
    )
    assert chosen(reading) == {(0, 0): (1, 1), (0, 1): (1, 1)}
    assert reading.mean == 0.75


def test_a_fold_without_a_metric_has_no_score():
    auc = {"metric": "roc_auc"}
    reading = paper({(0, 0): finished([0.5, 0.7], **auc), (0, 1): finished([NAN, NAN], **auc)})
    assert (reading.scores, reading.undefined) == ({(0, 0): 0.7}, ((0, 1),))
    assert reading.mean == reading.last_mean == 0.7
    assert not reading.missing
    # A point that is missing on a fold where others are there is not left out: it is the worst.
    reading = paper({(0, 0): finished([0.5, 0.7], **auc), (0, 1): finished([0.2, NAN], **auc)})
    assert reading.scores == {(0, 0): 0.5, (0, 1): 0.2}
    # Where validation says nothing, its loss does.
    reading = holdout({(0, 0): finished([0.5, 0.7], [NAN, NAN], [0.3, 0.2], **auc)})
    assert reading.scores == {(0, 0): 0.7}


TWO_REPEATS = {(0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.8, (1, 1): 1.0}


def reading_of(scores, last=None):
    return Reading("accuracy", True, scores, last or {}, {}, len(scores), optimistic=False)


def test_mean_and_both_deviations():
    last = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.3, (1, 1): 0.3}
    found = reading_of(TWO_REPEATS, last)
    assert found.mean == pytest.approx(0.75)
    # The repeats' means are 0.6 and 0.9: two values 0.3 apart deviate by 0.3 / √2.
    assert found.std_over_repeats == pytest.approx(0.3 / math.sqrt(2))
    # In either repeat the folds are 0.2 apart.
    assert found.std_over_folds == pytest.approx(0.2 / math.sqrt(2))
    assert found.last_mean == pytest.approx(0.25)


def test_one_repeat_says_nothing_about_repeats():
    assert math.isnan(reading_of({(0, 0): 0.5, (0, 1): 0.7}).std_over_repeats)
    assert math.isnan(reading_of({(0, 0): 0.5, (1, 0): 0.7}).std_over_folds)
    assert math.isnan(reading_of({}).std_over_repeats)
    assert math.isnan(reading_of({}).std_over_folds)
    assert math.isnan(mean({}))


def test_a_repeat_of_one_fold_has_no_deviation_to_average():
    values = {(0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.9}
    assert reading_of(values).std_over_folds == pytest.approx(0.2 / math.sqrt(2))


def test_nan_is_seen_not_skipped():
    assert math.isnan(mean({(0, 0): 0.5, (0, 1): NAN}))
