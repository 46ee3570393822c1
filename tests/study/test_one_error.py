import pytest

from ifmixup.study.one_error import smallest_within_one_error

SIZES = {"small": 1, "middle": 2, "large": 3}


def chosen(**scores):
    return smallest_within_one_error(scores, SIZES.__getitem__)


def test_a_small_one_that_is_as_good_wins():
    name, mean = chosen(large=[0.8, 0.9, 0.7], small=[0.9, 0.8, 0.68])
    assert name == "small"
    assert mean == pytest.approx((0.9 + 0.8 + 0.68) / 3)


def test_a_small_one_that_is_clearly_worse_does_not():
    # by hand: differences 0.1, 0.12, 0.08: mean 0.1, error 0.02 / sqrt(3)
    assert chosen(large=[0.8, 0.9, 0.7], small=[0.7, 0.78, 0.62])[0] == "large"


def test_one_standard_error_is_the_limit():
    # by hand: differences 0.3, 0.1, -0.1 and half of these: d = 0.1, s = 0.2, error 0.115
    best = [0.8, 0.8, 0.8]
    assert chosen(large=best, small=[0.5, 0.7, 0.9])[0] == "small"
    # 0.3, 0.1, 0.0: d = 0.133, s = 0.153, error 0.088
    assert chosen(large=best, small=[0.5, 0.7, 0.8])[0] == "large"


def test_among_equally_small_ones_the_better():
    scores = {"a": [0.5, 0.7], "b": [0.6, 0.7], "c": [0.9, 0.5]}
    assert smallest_within_one_error(scores, lambda _: 0)[0] == "c"


def test_one_that_failed_on_a_fold_is_not_chosen():
    assert chosen(small=[0.99], large=[0.5, 0.6])[0] == "large"


def test_one_fold_has_no_error():
    assert chosen(small=[0.5], large=[0.6])[0] == "large"
    assert chosen(small=[0.6], large=[0.6])[0] == "small"
