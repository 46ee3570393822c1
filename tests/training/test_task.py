import math

import pytest

from ifmixup.components import ClassSpec
from ifmixup.data.dataset import METRICS, TASKS
from ifmixup.errors import InputError
from ifmixup.training.task import (
    BESIDE,
    LOSSES,
    TITLES,
    best_epoch,
    best_value,
    check_metric_name,
    check_metric_spec,
    difference_unit,
    higher_is_better,
    is_fraction,
    metric_of,
    signed,
    title_of,
    validation_score,
)

NAN = math.nan


def test_all_metrics_and_tasks_are_known():
    assert set(TITLES) == {metric for metrics in METRICS.values() for metric in metrics}
    assert set(LOSSES) == set(TASKS)


def test_which_way_is_better():
    lower = ["nll", "brier", "ece", "mae", "rmse"]
    assert [name for name in TITLES if not higher_is_better(name)] == lower
    assert [name for name in TITLES if not is_fraction(name)] == [
        "mcc", "nll", "brier", "mae", "rmse", "r2", "spearman",
    ]  # fmt: skip
    assert not higher_is_better("loss")
    assert {BESIDE[task] in METRICS[task] for task in TASKS} == {True}


def test_a_metric_that_is_not_ours_has_a_direction_and_a_title():
    for way in (False, True):  # what one study says does not bind the next
        spec = ClassSpec("cost_per_graph", "costs.py:cost", (("higher_is_better", way),))
        check_metric_spec(spec)
        assert higher_is_better("cost_per_graph", [spec]) is way
        assert not higher_is_better("mae", [spec])
    assert (title_of("cost_per_graph"), title_of("mae")) == ("cost per graph", "MAE")
    with pytest.raises(InputError, match="another metric called 'accuracy'"):
        check_metric_spec(ClassSpec("accuracy", "costs.py:cost", (("higher_is_better", True),)))
    with pytest.raises(InputError, match="does not say whether higher is better"):
        check_metric_spec(ClassSpec("cost", "costs.py:cost", (("higher_is_better", "no"),)))


@pytest.mark.parametrize("name", ["", "loss", "chosen_f1", "scaled_f1", "a/b", "1st", "x" * 61])
def test_names_that_no_metric_can_have(name):
    with pytest.raises(InputError, match="not a name for a metric"):
        check_metric_name(name)


def test_what_a_difference_is_said_in():
    assert [difference_unit(name) for name in ("accuracy", "roc_auc", "mae")] == [
        "points",
        "points of ROC-AUC",
        "MAE",
    ]


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "average_precision", "mae"])
def test_the_metric_is_the_one_that_the_curves_name(metric):
    assert metric_of({"train_loss": [], f"test_{metric}": [], "test_loss": []}) == metric
    assert metric_of({f"validation_{metric}": []}) == metric


def test_curves_without_any_are_of_the_usual_one():
    assert metric_of({"train_loss": []}) == "accuracy"


def test_more_is_better_and_nan_the_worst():
    assert signed(0.5, True) == 0.5
    assert signed(0.5, False) == -0.5
    assert signed(NAN, False) == signed(NAN, True) == -math.inf


def test_the_metric_decides_and_then_the_loss():
    curves = {"validation_mae": [2.0, 1.0, 1.0, NAN], "validation_loss": [0.1, 0.3, 0.2, 0.0]}
    scores = [validation_score(curves, False, epoch) for epoch in range(4)]
    assert sorted(range(4), key=scores.__getitem__) == [3, 0, 1, 2]
    assert validation_score(curves, False) == scores[3]
    assert (best_epoch(curves, False), best_value(curves, False)) == (2, -1.0)
    assert (best_epoch(curves, True), best_value(curves, True)) == (0, 2.0)


@pytest.mark.parametrize(
    ("metric", "loss", "epoch"),
    [
        ([0.1, 0.9, 0.5], [1, 1, 0], 1),  # the highest accuracy
        ([0.9, 0.9, 0.5], [2, 1, 0], 1),  # then the lowest loss
        ([0.9, 0.9, 0.9], [1, 1, 1], 0),  # then the earliest
        ([NAN, 0.2, NAN], [0, 5, 0], 1),
        ([0.9, 0.9, 0.1], [NAN, 5, 0], 1),
    ],
)
def test_the_epoch_that_validation_chooses(metric, loss, epoch):
    curves = {"validation_accuracy": metric, "validation_loss": loss}
    assert best_epoch(curves, True) == epoch
    assert validation_score(curves, True, epoch) == (metric[epoch], -loss[epoch])
