import math

import pytest

from ifmixup.study.reading import Reading, mean, std_over_folds, std_over_repeats

TWO_REPEATS = {(0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.8, (1, 1): 1.0}


def reading(protocol="holdout", accuracy=TWO_REPEATS, last=TWO_REPEATS, missing=None):
    return Reading(protocol, "accuracy", accuracy, last, {}, 4, missing or {})


def test_mean_and_both_deviations():
    found = reading()
    assert found.mean == pytest.approx(0.75)
    # The repeats' means are 0.6 and 0.9: two values 0.3 apart deviate by 0.3 / √2.
    assert found.std_over_repeats == pytest.approx(0.3 / math.sqrt(2))
    # In either repeat the folds are 0.2 apart.
    assert found.std_over_folds == pytest.approx(0.2 / math.sqrt(2))


def test_the_last_epoch_has_its_own():
    found = reading(last={(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.3, (1, 1): 0.3})
    assert found.last_mean == pytest.approx(0.25)
    assert found.last_std_over_repeats == pytest.approx(0.1 / math.sqrt(2))
    assert found.last_std_over_folds == pytest.approx(0.1 / math.sqrt(2))  # of 0.2 / √2 and 0


def test_one_repeat_says_nothing_about_repeats():
    assert math.isnan(std_over_repeats({(0, 0): 0.5, (0, 1): 0.7}))
    assert math.isnan(std_over_folds({(0, 0): 0.5, (1, 0): 0.7}))
    assert math.isnan(std_over_repeats({}))
    assert math.isnan(std_over_folds({}))
    assert math.isnan(mean({}))


def test_a_repeat_of_one_fold_has_no_deviation_to_average():
    values = {(0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.9}
    assert std_over_folds(values) == pytest.approx(0.2 / math.sqrt(2))


def test_nan_is_seen_not_skipped():
    assert math.isnan(mean({(0, 0): 0.5, (0, 1): math.nan}))


def test_optimistic_and_complete():
    assert [reading(p).optimistic for p in ("holdout", "paper")] == [False, True]
    assert reading().complete
    assert not reading(missing={(0, 3): 1}).complete
