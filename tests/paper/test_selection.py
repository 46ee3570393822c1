"""Expected maxima against all subsets; a method that does nothing seems to gain."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.errors import InputError
from ifmixup.paper.reproduce import Scale, plan
from ifmixup.paper.selection import (
    AGAIN,
    FRESH,
    bootstrap,
    expected_best,
    expected_best_of_grid,
    selection,
    selection_table,
)
from ifmixup.study.comparison import Comparison
from ifmixup.study.study import Study
from stored_runs import records_of, result

values = st.lists(st.integers(0, 5), min_size=1, max_size=7).map(np.array)


@given(values, st.data())
def test_the_best_of_a_subset_is_that_of_all_subsets(found, data):
    count = data.draw(st.integers(1, len(found)))
    every = [max(part) for part in itertools.combinations(found, count)]
    assert expected_best(found, count) == pytest.approx(np.mean(every))


@pytest.mark.parametrize("count", [0, 4])
def test_no_more_than_there_are(count):
    with pytest.raises(InputError, match="Of 3 values 1 to 3 are drawn"):
        expected_best(np.arange(3), count)


@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_the_best_of_a_grid_is_that_of_all_choices_of_seeds(settings, seeds, data):
    cells = data.draw(
        st.lists(st.integers(0, 4), min_size=settings * seeds, max_size=settings * seeds)
    )
    grid = np.array(cells).reshape(settings, seeds)
    for chosen in range(1, seeds + 1):
        draws = [list(itertools.combinations(row, chosen)) for row in grid]
        every = [max(map(max, each)) for each in itertools.product(*draws)]
        assert expected_best_of_grid(grid, chosen) == pytest.approx(np.mean(every))


def test_noise_alone_gains_from_a_larger_grid():
    noise = np.random.default_rng(0).normal(0.8, 0.05, (48, 3, 10, 20))
    found = bootstrap(noise, resamples=50)
    assert all(each.low <= each.high for each in found.values())
    assert all(each.mean > 0 for each in found.values())
    # every fold, setting and epoch alike: nothing to choose from
    same = bootstrap(np.full((4, 3, 5, 2), 0.7), resamples=5)
    assert [each.mean for each in same.values()] == pytest.approx([0.0] * 3, abs=1e-12)


def run_again(study, winner):
    """The winner with two fresh seeds: 70 and 80 per cent."""
    names = {f"{FRESH[0]}, {number}": 100 + number for number in range(2)}
    trials = [
        replace(study.trials[0], candidates=(winner,), name=name, seed=seed, keys=())
        for name, seed in names.items()
    ]
    made = Study(AGAIN, "again", "accuracy", tuple(trials))
    value = {100: 0.7, 101: 0.8}
    records = records_of(made, lambda spec, _: result((0.1, value[spec.seed])))
    return Comparison(made, list(records.values()))


def test_from_the_runs_of_the_experiment():
    (study,) = plan(
        ["selection"], Scale("tiny", 1, 2, epochs=2, graphs=60), datasets=["MUTAG"]
    ).studies
    numbers = {key: i for i, key in enumerate(sorted(study.keys))}
    by_key = records_of(study, lambda spec, _: result((0.5 + numbers[spec.key] / 1000, 0.5)))
    records = list(by_key.values())
    found = selection(Comparison(study, records), "MUTAG")
    assert (found.settings, found.seeds, len(found.curve)) == (48, 3, 144)
    assert found.curve[-1] == max(found.curve)
    assert found.best_epoch.mean > 0
    best = [
        np.mean([0.5 + numbers[key] / 1000 for trial in study.trials for key in trial.keys[i]])
        for i in range(48)
    ]
    assert found.winner == study.trials[0].candidates[int(np.argmax(best))]
    assert found.winner_score == pytest.approx(100 * max(best))
    table = selection_table([Comparison(study, records), run_again(study, found.winner)])
    assert list(table.head[3:]) == [
        *("best of 144 − best of 48", "the winner", "with fresh seeds", "with fresh folds")
    ]
    assert list(table.rows[0][4:]) == [f"{found.winner_score:.1f}", "75.0", "–"]
    assert selection_table([]) is None
    assert selection(Comparison(study, records[1:]), "MUTAG") is None
    assert selection(Comparison(study, records), "PTC_MR") is None
