import math
from dataclasses import replace

import pytest

from ifmixup.study.steady import steady
from stored_runs import done


def runs(*curves):
    found = []
    for fold, curve in enumerate(curves):
        outcome = done(fold, protocol="holdout")
        outcome.result.curves["validation_accuracy"] = list(curve)
        found.append((outcome.spec, outcome.result))
    return found


def test_the_second_half_counts_and_no_single_epoch():
    assert steady(runs([1.0, 0.0, 0.6, 0.8], [0.0, 1.0, 0.5, 0.5])) == pytest.approx(0.6)
    calm, lucky = runs([0.8] * 4), runs([0.5, 0.5, 0.5, 1.0])
    assert steady(calm) > steady(lucky)


def test_runs_that_are_missing_are_no_score():
    assert math.isnan(steady([]))
    assert math.isnan(steady(runs([1.0, 1.0]), folds=2))


def test_of_an_error_less_is_better():
    def errors(*curve):
        outcome = done(0, protocol="holdout")
        curves = {"validation_mae": list(curve), "test_mae": list(curve)}
        return [(outcome.spec, replace(outcome.result, curves=curves))]

    assert steady(errors(9.0, 2.0)) == -2.0
    assert steady(errors(0.0, 1.0)) > steady(errors(0.0, 2.0))
