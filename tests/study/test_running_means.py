import pytest

from ifmixup.study.running_means import RunningMeans
from stored_runs import record, result, study_of

SCORES = {"none": [0.5, 0.9, 0.7], "ifmixup": [0.6, 0.1, 0.8]}


def found(run, metric="accuracy", **more):
    """The best validation epoch is the first; the last one has another number."""
    score = SCORES[run.method.name][run.fold]
    return record(run, result([score, 0.0], validation=[0.9, 0.1], metric=metric, **more))


def test_means_over_the_folds_that_all_have_and_never_of_one():
    study = study_of(("gcn",), ("none", "ifmixup"), folds=3)
    means = RunningMeans(study)
    runs = {(run.method.name, run.fold): run for run in study.specs()}
    for method, fold in (("none", 0), ("none", 1), ("none", 2), ("ifmixup", 0)):
        means.add(found(runs[method, fold]))
    assert means.folds() == [(0, 0)]
    assert means.text() == ""
    means.add(record(runs["ifmixup", 1], error="no"))  # its fold does not count
    means.add(found(runs["ifmixup", 2]))
    assert means.folds() == [(0, 0), (0, 2)]
    assert means.text() == "means over 2 folds: gcn none 60.0, gcn ifmixup 70.0"


def test_of_a_grid_validation_chooses():
    study = study_of(("gcn",), ("none",), folds=2, grid={"dropout": [0.0, 0.5]})
    means = RunningMeans(study)
    for run in study.specs():
        good = dict(run.model.options)["dropout"] == 0.5
        validation = [0.8 if good else 0.7, 0.1]
        means.add(record(run, result([0.3 if good else 0.9, 0.0], validation=validation)))
    assert means.text() == "means over 2 folds: gcn none 30.0"


@pytest.mark.parametrize(("candidates", "text"), [(1, "means over 2 folds: gcn none 0"), (2, "")])
def test_protocols_that_choose_on_all_folds_show_the_last_epoch(candidates, text):
    grid = {"dropout": [0.0, 0.5][:candidates]}
    study = study_of(("gcn",), ("none",), folds=2, protocols=("paper",), grid=grid, metric="mae")
    means = RunningMeans(study)
    for run in study.specs():
        means.add(record(run, result([0.5, 0.0], metric="mae")))
    assert means.text() == text


def test_many_trials_are_counted():
    methods = ("none", "ifmixup")
    study = study_of(("gcn", "gin", "gat", "gatv2"), methods, folds=2)
    means = RunningMeans(study)
    for run in study.specs():
        means.add(found(run))
    assert means.text().endswith("gat none 70.0, gat ifmixup 35.0 and 2 more")
