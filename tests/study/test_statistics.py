import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ifmixup.errors import InputError
from ifmixup.study.statistics import (
    ALPHA,
    HELPS,
    HURTS,
    INCONCLUSIVE,
    NO_DIFFERENCE,
    TOO_FEW,
    Difference,
    Margin,
    holm,
    holm_alphas,
    judge,
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
    # six signs are enough for an interval of 95 %: 2 / 2⁶ < 0.05 < 2 / 2⁵
    assert math.isnan(difference([0.1] * 5, 0.1).low)
    six = difference([0.1] * 6, 0.1)
    assert six.low == six.high == pytest.approx(0.1)
    assert math.isnan(difference([0.1] * 6, 0.1).at(0.01).low)
    assert difference([-0.1] * 10, 0.1).p_value == 2 / 1024
    zero = difference([0.0] * 10, 0.1)
    assert (zero.mean, zero.p_value, zero.low, zero.high) == (0, 1, 0, 0)


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


def test_the_levels_of_holms_steps_by_hand():
    # 0.001 < 0.05/4 and 0.015 < 0.05/3 are rejected; 0.03 > 0.05/2 is not, and the last follows.
    assert holm_alphas([0.2, 0.001, 0.03, 0.015]) == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])
    assert holm_alphas([0.2, math.nan]) == [0.05, 0.05]
    assert holm_alphas([]) == []


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.001, 0.05, "helps"),
        (-0.05, -0.001, "hurts"),
        (0.0, 0.05, "inconclusive: the interval includes zero"),
        (-0.05, 0.004, "inconclusive: the interval includes zero"),
        (-0.01, 0.01, "no difference larger than 1 point"),
        (-0.002, 0.0101, "inconclusive: the interval includes zero"),
        (0.002, 0.004, "helps"),  # by less than the margin, but it does
        (0.0, 0.0, "no difference larger than 1 point"),
        (math.nan, math.nan, "too few runs"),
    ],
)
def test_verdict(low, high, words):
    assert verdict(Difference((low + high) / 2, low, high, 0.5, 10)) == words


def test_the_margin_is_in_the_words():
    found = Difference(0.0, -0.015, 0.015, 0.9, 10)
    assert verdict(found) == INCONCLUSIVE
    assert verdict(found, Margin(0.02, "2 points")) == "no difference larger than 2 points"


def test_of_an_error_less_is_better():
    less = Difference(-0.1, -0.2, -0.01, 0.01, 10)
    assert verdict(less, Margin(higher_is_better=False)) == "helps"
    assert verdict(less) == "hurts"
    assert verdict(less, words=("better", "worse")) == "worse"


@pytest.mark.parametrize(("pairs", "said"), [(2, TOO_FEW), (4, TOO_FEW), (5, HELPS)])
def test_a_few_folds_are_no_proof(pairs, said):
    assert verdict(Difference(0.03, 0.02, 0.04, 0.001, pairs)) == said


def test_fewer_than_five_runs_are_never_no_difference():
    for pairs in range(5):
        same = Difference(0.0, -0.001, 0.001, 0.9, pairs)
        assert verdict(same) == TOO_FEW
    assert verdict(Difference(0.0, -0.001, 0.001, 0.9, 5)).startswith(NO_DIFFERENCE)


def test_the_smallest_difference_that_would_be_found():
    # 10 folds without shared training graphs, s = 0.01: (2.2622 + 0.8834) · 0.01 / √10
    found = paired_difference(folds([0.51, 0.49] * 5), folds([0.5] * 10), 0.0)
    assert found.spread == pytest.approx(0.01 * math.sqrt(10 / 9))
    expected = (2.26216 + 0.88340) * found.spread / math.sqrt(10)
    assert found.detectable() == pytest.approx(expected, rel=1e-4)
    # and so often it is found, if the truth is as large
    chance = np.random.default_rng(0)
    samples = found.detectable() + found.spread * chance.standard_normal((2000, 10))
    hits = np.mean([difference(each, 0.0).p_value < 0.05 for each in samples])
    assert 0.75 < hits < 0.85


def test_how_many_repeats_a_difference_needs():
    found = difference([0.02, -0.01, 0.03, 0.0, 0.01, 0.02, -0.02, 0.01, 0.0, 0.02], 0.0)
    needed = found.repeats_for(0.005, 10)
    assert found.detectable(10 * needed) <= 0.005 < found.detectable(10 * (needed - 1))
    assert found.repeats_for(1.0, 10) == 1
    # Repeats share graphs: with 1/9 of them in a test fold, the error has a floor.
    shared = Difference(0.0, -0.1, 0.1, 0.9, 10, spread=0.05, test_ratio=1 / 9)
    assert shared.repeats_for(0.01, 10) is None
    assert difference([0.1] * 6, 0.1).repeats_for(0.01, 10) is None  # no spread is known
    assert math.isnan(difference([0.1] * 6, 0.1).detectable())


values = st.one_of(
    st.lists(st.integers(-3, 3).map(lambda n: n / 20), max_size=14),  # small folds: ties
    st.lists(st.floats(-0.3, 0.3), max_size=14),
    st.tuples(st.floats(-0.1, 0.1), st.integers(0, 14)).map(lambda t: [t[0]] * t[1]),
    st.tuples(st.floats(-0.05, 0.05), st.integers(0, 2**32)).map(
        lambda t: list(t[0] + 0.01 * np.random.default_rng(t[1]).standard_normal(10))
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(values, min_size=1, max_size=6),
    st.sampled_from([0.0, 1 / 9, 1 / 4, 1.0]),
    st.sampled_from([0.001, 0.01, 0.1]),
    st.booleans(),
)
def test_verdict_p_and_interval_never_contradict_each_other(family, ratio, margin, more):
    differences = [difference(each, ratio) for each in family]
    margins = [Margin(margin, "the margin", more)] * len(family)
    for found in judge(differences, margins):
        low, high, p = found.difference.low, found.difference.high, found.adjusted_p
        has_interval = not math.isnan(low)
        leaves_out_zero = has_interval and (low > 0 or high < 0)
        assert leaves_out_zero == (p < ALPHA)
        if has_interval:
            assert low <= found.difference.mean <= high
        if found.difference.pairs < 5 or not has_interval:
            assert found.verdict == TOO_FEW
        elif leaves_out_zero:
            assert found.verdict == (HELPS if (found.difference.mean > 0) == more else HURTS)
        elif -margin <= low <= high <= margin:
            assert found.verdict == f"{NO_DIFFERENCE} the margin"
        else:
            assert found.verdict == INCONCLUSIVE
        assert 1 - found.difference.alpha >= 0.95
