import math

import pytest

from ifmixup.training.score import metric_of, signed, validation_score

NAN = math.nan


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "average_precision", "mae"])
def test_the_metric_is_the_one_that_the_curves_name(metric):
    assert metric_of({"train_loss": [], f"test_{metric}": [], "test_loss": []}) == metric
    assert metric_of({f"validation_{metric}": []}) == metric


def test_curves_without_any_are_of_the_usual_one():
    assert metric_of({"train_loss": []}) == "accuracy"


def test_more_is_better_and_nan_the_worst():
    assert signed(0.5, "roc_auc") == 0.5
    assert signed(0.5, "mae") == -0.5
    assert signed(NAN, "mae") == signed(NAN, "accuracy") == -math.inf


def test_the_metric_decides_and_then_the_loss():
    curves = {"validation_mae": [2.0, 1.0, 1.0, NAN], "validation_loss": [0.1, 0.3, 0.2, 0.0]}
    scores = [validation_score(curves, epoch) for epoch in range(4)]
    assert sorted(range(4), key=scores.__getitem__) == [3, 0, 1, 2]
    assert validation_score(curves) == scores[3]
