import math

import numpy as np
import pytest
from scipy import stats

from ifmixup.errors import InputError
from ifmixup.study.statistics import (
    HELPS,
    NO_DIFFERENCE,
    NOT_ENOUGH,
    Difference,
    holm,
    paired_difference,
    signed_rank,
    verdict,
)


def folds(values, repeat=0):
    return {(repeat, fold): value for fold, value in enumerate(values)}


def difference(values, ratio):
    return paired_difference(folds(values), folds([0.0] * len(values)), ratio)


def test_by_hand():
    # Differences 0.1, 0.2, 0.3: mean 0.2, variance 0.01, error √((1/3 + 1/2) · 0.01).
    found = paired_difference(folds([0.6, 0.9, 0.7]), folds([0.5, 0.7, 0.4]), 0.5)
    error = math.sqrt(5 / 6 * 0.01)
    assert found.pairs == 3
    assert found.mean == pytest.approx(0.2)
    # t for 2 degrees of freedom has a closed form: P(T > t) = 1/2 − t / (2 √(2 + t²)).
    t = 0.2 / error
    assert found.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t))
    # and its 97.5 % point is 0.95 · √(2 / (1 − 0.95²)) = 4.30265...
    reach = 0.95 * math.sqrt(2 / (1 - 0.95**2)) * error
    assert (found.low, found.high) == (pytest.approx(0.2 - reach), pytest.approx(0.2 + reach))


def test_without_correction_it_is_the_paired_t_test_of_scipy():
    chance = np.random.default_rng(3)
    a, b = chance.random(10), chance.random(10)
    found = paired_difference(folds(a), folds(b), 0.0)
    expected = stats.ttest_rel(a, b)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))


def test_interval_and_p_value_agree():
    chance = np.random.default_rng(0)
    for shift in np.linspace(0, 0.1, 50):
        found = difference(shift + 0.05 * chance.standard_normal(10), 1 / 9)
        assert (found.low <= 0 <= found.high) == (found.p_value >= 0.05)


def test_folds_are_paired_by_repeat_and_number():
    method = {(0, 0): 0.9, (0, 1): 0.8, (1, 0): 0.7, (1, 1): math.nan}
    none = {(1, 0): 0.5, (0, 1): 0.7, (0, 0): 0.6, (1, 1): 0.5, (2, 0): 0.1}
    found = paired_difference(method, none, 1.0)
    assert found.pairs == 3
    assert found.mean == pytest.approx((0.3 + 0.1 + 0.2) / 3)


def test_equal_differences():
    # 0.9 − 0.8 and 0.8 − 0.7 are equal to a person, not to a computer.
    found = paired_difference(folds([0.9, 0.8, 0.7]), folds([0.8, 0.7, 0.6]), 0.5)
    assert (found.mean, found.p_value) == (pytest.approx(0.1), 0.25)  # three signs: 2 / 2³
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert difference([-0.1] * 10, 0.1).p_value == 2 / 1024
    zero = difference([0.0] * 10, 0.1)
    assert (zero.mean, zero.p_value) == (0, 1)


@pytest.mark.parametrize("values", [[], [0.1]])
def test_fewer_than_two_pairs(values):
    found = difference(values, 0.1)
    assert found.pairs == len(values)
    assert all(math.isnan(v) for v in (found.low, found.high, found.p_value))
    assert math.isnan(found.mean) == (not values)


@pytest.mark.parametrize("ratio", [-0.1, math.nan, math.inf])
def test_a_ratio_that_is_none(ratio):
    with pytest.raises(InputError, match="test_ratio is n_test / n_train"):
        difference([0.1, 0.2], ratio)


def test_no_more_false_alarms_than_promised():
    # Differences of 10 folds without an effect, correlated by what the test folds' share implies
    # (Nadeau and Bengio's ρ = n_test / (n_test + n_train) = 0.1).
    chance = np.random.default_rng(1)
    shared, own = chance.standard_normal((4000, 1)), chance.standard_normal((4000, 10))
    samples = math.sqrt(0.1) * shared + math.sqrt(0.9) * own
    rates = [
        np.mean([difference(s, ratio).p_value < 0.05 for s in samples]) for ratio in (1 / 9, 0)
    ]
    assert 0.04 < rates[0] < 0.06
    assert rates[1] > 0.13  # the plain t-test


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([-1, -2, -3, -4, -5, -6], 2 / 64),  # one of 64 signs is as low, one as high
        ([0.5, -0.9, -1.4, -2.3, -2.9, -5.3], 4 / 64),  # a rank sum of 0 or 1
        ([1, -2, 3, -4, 5], 0.8125),  # ranks 9 against 6: 13 of 32 on each side
        ([0, 0, 0, 0, 0], 1),
    ],
)
def test_signed_ranks_by_hand(differences, p_value):
    assert signed_rank(differences) == pytest.approx(p_value)
    assert signed_rank([-each for each in differences]) == pytest.approx(p_value)


def test_too_few_datasets_to_say_anything():
    assert math.isnan(signed_rank([-1, -2, -3, -4]))


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1; the last two may not fall below 0.06.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.03]) == [0.03]


def test_holm_does_not_count_what_was_not_compared():
    adjusted = holm([math.nan, 0.02, 0.03])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])


@pytest.mark.parametrize(
    ("mean", "p", "words"),
    [
        (0.02, 0.049, "helps"),
        (-0.02, 0.049, "hurts"),
        (0.02, 0.05, "no difference that these folds can show"),
        (-0.02, 1.0, "no difference that these folds can show"),
        (0.0, 0.0, "no difference that these folds can show"),
        (0.02, math.nan, "not enough runs to say"),
        (math.nan, 0.01, "not enough runs to say"),
    ],
)
def test_verdict(mean, p, words):
    assert verdict(Difference(mean, 0.0, 0.0, p, 10), p) == words


def test_of_an_error_less_is_better():
    less = Difference(-0.1, -0.2, -0.01, 0.01, 10)
    assert verdict(less, 0.01, higher_is_better=False) == "helps"
    assert verdict(less, 0.01) == "hurts"


@pytest.mark.parametrize(("pairs", "said"), [(2, NOT_ENOUGH), (4, NOT_ENOUGH), (5, HELPS)])
def test_a_few_folds_are_no_proof(pairs, said):
    assert verdict(Difference(0.03, 0.02, 0.04, 0.001, pairs), 0.001) == said
    assert verdict(Difference(0.03, -0.02, 0.08, 0.3, pairs), 0.3) == NO_DIFFERENCE
