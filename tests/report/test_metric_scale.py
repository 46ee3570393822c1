from ifmixup.report.metric_scale import axis, difference_axis, factor
from ifmixup.training.task import TITLES


def test_fractions_are_in_per_cent_and_errors_in_their_own_units():
    assert {metric: factor(metric) for metric in TITLES} == {
        "accuracy": 100,
        "roc_auc": 100,
        "average_precision": 100,
        "mae": 1,
    }
    assert [axis(metric) for metric in ("accuracy", "mae")] == ["accuracy, %", "MAE"]


def test_a_difference_says_in_what_and_which_way_is_better():
    assert difference_axis("accuracy", "none") == "points more than none"
    assert difference_axis("roc_auc", "none") == "points of ROC-AUC more than none"
    assert difference_axis("mae", "none") == "MAE more than none (less is better)"
