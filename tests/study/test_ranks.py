"""Mean ranks against hand-computed ones, and their bootstrap intervals."""

import numpy as np
import pytest

from ifmixup.errors import InputError
from ifmixup.study.ranks import mean_ranks


def test_by_hand():
    first = np.array([[0.9, 0.8, 0.7], [0.5, 0.5, 0.6]])  # ranks 1 2 3 and 2.5 2.5 1
    second = np.array([[0.1, 0.3, 0.2]])  # 3 1 2
    means = [rank.mean for rank in mean_ranks([first, second])]
    assert means == pytest.approx([(1.75 + 3) / 2, (2.25 + 1) / 2, (2 + 2) / 2])


def test_models_of_a_fold_count_together():
    scores = np.array([[[0.9, 0.1], [0.2, 0.8]]])
    assert [rank.mean for rank in mean_ranks([scores])] == [1.5, 1.5]


def test_intervals():
    always = [np.tile([0.9, 0.1], (10, 1))] * 3
    best, worst = mean_ranks(always)
    assert (best.low, best.mean, best.high) == (1, 1, 1)
    assert (worst.low, worst.high) == (2, 2)
    rng = np.random.default_rng(0)
    noise = [rng.random((10, 4)) for _ in range(4)]
    found = mean_ranks(noise)
    assert all(rank.low < rank.mean < rank.high for rank in found)
    assert sum(rank.mean for rank in found) == pytest.approx(10)
    assert mean_ranks(noise) == found  # seeded
    # One dataset on which the order is the other way round makes the interval wide.
    turned = mean_ranks([*always, np.tile([0.1, 0.9], (10, 1))])
    assert turned[0].low == 1
    assert turned[0].high >= 1.5


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """Methods that do not differ: 2.0 is inside for nearly all of 100 sets of datasets."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(100):
        ranks = mean_ranks([rng.random((10, 3)) for _ in range(4)], draws=200)
        inside += ranks[0].low <= 2 <= ranks[0].high
    assert inside >= 85


def test_nothing_to_rank():
    with pytest.raises(InputError, match="at least one dataset"):
        mean_ranks([])
