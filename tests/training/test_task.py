from ifmixup.data.dataset import METRICS, TASKS
from ifmixup.training.task import LOSSES, TITLES, difference_unit, higher_is_better, is_fraction


def test_all_metrics_and_tasks_are_known():
    assert set(TITLES) == {metric for metrics in METRICS.values() for metric in metrics}
    assert set(LOSSES) == set(TASKS)


def test_which_way_is_better():
    assert [name for name in TITLES if not higher_is_better(name)] == ["mae"]
    assert [name for name in TITLES if not is_fraction(name)] == ["mae"]
    assert not higher_is_better("loss")


def test_what_a_difference_is_said_in():
    assert [difference_unit(name) for name in ("accuracy", "roc_auc", "mae")] == [
        "points",
        "points of ROC-AUC",
        "MAE",
    ]
