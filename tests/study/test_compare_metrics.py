"""Several metrics, those of scikit-learn and the user's own, and baselines, in a comparison."""

import json
from dataclasses import replace

import pytest
import torch

import ifmixup
from engine_here import Here
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.study.baselines import Baseline, best_baseline
from ifmixup.study.compare import _told
from ifmixup.study.study import load_studies
from ifmixup.training.packed import pack
from ifmixup.training.task import best_epoch
from own_metrics import COST, confidence, missed
from stored_runs import study_of
from task_graphs import rings, with_labels, with_values

TINY = {"hidden_channels": 4, "num_layers": 1, "epochs": 2, "folds": 3, "progress": False}
ONE = {**TINY, "methods": "none"}


def imbalanced():
    """66 graphs, of which 5 are of class 1: 92.4 % are of one class, as in ClinTox."""
    graphs = rings(66)
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([int(i % 13 == 0 and i > 0)])
    return graphs


def test_several_metrics_of_which_the_first_decides(tmp_path):
    engine = Here()
    metric = ["f1_macro", "accuracy", "f1", COST]
    found = ifmixup.compare("MUTAG", metric=metric, folder=tmp_path, engine=engine, **TINY)
    (study,) = load_studies(tmp_path)
    assert (study.metric, study.metrics) == (
        "f1_macro", ("f1_macro", "accuracy", "f1", "cost", "nll"),
    )  # fmt: skip
    for row in found.rows:
        assert row.metric == "f1_macro"
        assert set(row.reading.scores) == {(0, 0), (0, 1), (0, 2)}
        for name in study.metrics:
            assert set(row.reading.others[name]) == {(0, 0), (0, 1), (0, 2)}
        assert row.reading.others["f1_macro"] == row.reading.scores
    assert "F1 (macro) in %" in found.table()
    assert {spec.metrics[0].name for spec in engine.ran} == {"f1_macro"}


def test_whatever_decides_log_loss_or_rmse_stands_beside_it(tmp_path):
    found = ifmixup.compare("MUTAG", folder=tmp_path / "a", engine=Here(), **ONE)
    assert found.study.metrics == ("accuracy", "nll")
    assert found.rows[0].reading.others["nll"].keys() == {(0, 0), (0, 1), (0, 2)}
    found = ifmixup.compare(with_values(30), folder=tmp_path / "b", engine=Here(), **ONE)
    assert found.study.metrics == ("mae", "rmse")
    decided = {**ONE, "metric": "rmse", "engine": Here()}
    found = ifmixup.compare(with_values(30), folder=tmp_path / "c", **decided)
    (row,) = found.rows
    assert (row.metric, found.study.metrics) == ("rmse", ("rmse",))
    assert row.reading.mean > 0
    assert "RMSE in the units of the target; lower is better" in " ".join(found.table().split())


def test_another_metric_that_every_run_has_trains_nothing_again(tmp_path):
    engine = Here()
    shared = {"folder": tmp_path, "engine": engine, **ONE}
    ifmixup.compare("MUTAG", **shared)
    assert len(engine.ran) == 3
    ifmixup.compare("MUTAG", metric=["accuracy", "mcc", "brier"], **shared)
    assert len(engine.ran) == 3  # shown beside what decides
    ifmixup.compare("MUTAG", protocols="last", **shared)
    assert len(engine.ran) == 6
    last = ifmixup.compare("MUTAG", protocols="last", metric="mcc", **shared)
    assert len(engine.ran) == 6  # read off the last epoch
    (row,) = last.rows
    assert (row.metric, row.reading.others["mcc"]) == ("mcc", row.reading.scores)
    ifmixup.compare("MUTAG", metric="mcc", **shared)
    assert len(engine.ran) == 9  # where it chooses the epoch
    ifmixup.compare("MUTAG", protocols=("paper", "last"), metric="mcc", **shared)
    assert len(engine.ran) == 12  # paper and last share their runs


def test_a_metric_of_the_user_s_on_two_workers_is_there_in_the_report_without_its_code(tmp_path):
    sure = ifmixup.Metric("sure", confidence, needs="proba")
    found = ifmixup.compare("MUTAG", metric=[sure, COST], folder=tmp_path, workers=2, **ONE)
    assert found.failed == []
    (row,) = found.rows
    assert row.metric == "sure"
    assert 0 < row.reading.mean < 1
    content = json.loads((tmp_path / "study.json").read_text())
    (trial,) = content["studies"][0]["trials"]
    assert [each["target"] for each in trial["metrics"]] == [
        "own_metrics:confidence", "own_metrics:missed",
    ]  # fmt: skip
    (study,) = load_studies(tmp_path)
    assert study.trials == found.study.trials
    assert study.metrics == ("sure", "cost", "nll")


def test_accuracy_is_not_the_metric_where_one_class_holds_most_graphs(tmp_path, capsys):
    shared = {"folder": tmp_path, "engine": Here(), **ONE, "progress": True, "folds": 2}
    found = ifmixup.compare(imbalanced(), **shared)
    assert found.study.metric == "roc_auc"
    said = capsys.readouterr().err
    (line,) = [line for line in said.splitlines() if line.startswith("92.4 % of the graphs of ")]
    assert line.endswith(
        "The metric is therefore ROC-AUC; --metric accuracy uses accuracy instead."
    )
    assert line in found.study.notes
    assert said.index(line) < said.index("runs done")  # before the first run
    guess = found.study.baselines[0]
    assert guess.mean("roc_auc") == 0.5
    assert guess.mean("accuracy") == pytest.approx(0.924, abs=0.001)
    # Asked for, it is taken.
    found = ifmixup.compare(imbalanced(), metric="accuracy", **shared)
    assert found.study.metric == "accuracy"
    assert not any("92.4" in note for note in found.study.notes)


def test_three_classes_of_which_one_holds_most_have_balanced_accuracy():
    graphs = imbalanced()
    graphs[0].y = torch.tensor([2])
    assert pack(graphs).metric == "balanced_accuracy"
    assert pack(graphs, metric="accuracy").metric == "accuracy"
    assert pack(load("MUTAG")).metric == "accuracy"


def test_the_baselines_are_told_with_the_same_decimals():
    values = {"mean": 1.1e-16, "random forest": 0.3}
    guesses = [
        Baseline(name, "MUTAG", {"explained_variance": ((0, 0, value),)})
        for name, value in values.items()
    ]
    study = replace(study_of(), metric="explained_variance", baselines=tuple(guesses))
    assert _told(study) == (
        "Baselines without graph structure: mean 0.000, random forest 0.300 (explained variance)."
    )


def test_baselines_are_on_the_folds_of_the_study_and_measured_once(tmp_path, monkeypatch):
    shared = {"folder": tmp_path, "engine": Here(), **ONE}
    found = ifmixup.compare("MUTAG", **shared)
    names = [each.name for each in found.study.baselines]
    assert names == ["majority class", "random forest on sums of node features"]
    for each in found.study.baselines:
        assert each.scores("accuracy").keys() == found.rows[0].reading.scores.keys()
    best = best_baseline(found.study.baselines, "MUTAG", "accuracy", True)
    assert best is not None
    (study,) = load_studies(tmp_path)
    assert study.baselines == found.study.baselines

    def again(*given):
        raise AssertionError("they were measured")

    monkeypatch.setattr("ifmixup.study.compare.measure_baselines", again)
    assert ifmixup.compare("MUTAG", **shared).study.baselines == study.baselines
    with pytest.raises(AssertionError, match="they were measured"):
        ifmixup.compare("MUTAG", **{**shared, "folds": 2})
    without = ifmixup.compare("MUTAG", baselines=False, **{**shared, "folds": 2})
    assert without.study.baselines == ()


def test_columns_of_a_table_are_named_in_compare(tmp_path):
    pytest.importorskip("rdkit")
    rows = [f"{'C' * (1 + i % 7)}O,{i % 2},{i}" for i in range(24)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["structure,active,number", *rows]))
    shared = {"folder": tmp_path / "runs", "engine": Here(), **ONE, "folds": 2}
    found = ifmixup.compare(str(path), smiles="structure", label="active", **shared)
    assert found.study.metric == "accuracy"
    assert found.study.baselines[1].name == "random forest on Morgan fingerprints"


def test_a_metric_that_does_not_fit_leaves_nothing_behind(tmp_path):
    with pytest.raises(InputError, match="does not fit the task"):
        ifmixup.compare("MUTAG", metric="rmse", folder=tmp_path / "runs", engine=Here(), **ONE)
    assert not (tmp_path / "runs").exists()


def test_an_older_study_has_no_metrics(tmp_path):
    found = ifmixup.compare("MUTAG", folder=tmp_path, engine=Here(), **ONE)
    trial = found.study.trials[0]
    values = trial.to_dict()
    del values["metrics"]
    assert type(trial).of(json.loads(json.dumps(values))) == trial
    assert replace(trial, metrics=(COST.spec(),), keys=()).keys != trial.keys


def test_a_name_may_be_better_the_other_way_in_the_next_study(tmp_path):
    """In a notebook the direction is changed and the cell run again: it belongs to the study."""
    found = []
    for higher in (True, False):
        metric = ifmixup.Metric("missed", missed, higher_is_better=higher)
        folder = tmp_path / str(higher)
        found.append(ifmixup.compare("MUTAG", metric=metric, folder=folder, engine=Here(), **ONE))
    more, less = found
    assert (more.study.higher_is_better, less.study.higher_is_better) == (True, False)
    assert [row.score for row in less.rows] == [-row.reading.mean for row in less.rows]
    assert [row.score for row in more.rows] == [row.reading.mean for row in more.rows]
    assert "lower is better" in less.table()
    assert "lower is better" not in more.table()
    assert [study.higher_is_better for study in load_studies(tmp_path / "False")] == [False]


def never(y_true, y_pred):
    return float("nan")


def test_a_metric_that_is_defined_nowhere_is_the_whole_answer(tmp_path):
    metric = ifmixup.Metric("never", never)
    found = ifmixup.compare("MUTAG", metric=metric, folder=tmp_path, engine=Here(), **TINY)
    assert found.answer() == (
        "The never is not defined on any fold, so nothing can be said. Choose another metric, or a "
        "split whose test graphs have all classes."
    )


def test_from_python_several_labels_have_no_estimator_to_name(tmp_path):
    graphs = with_labels(30)
    with pytest.raises(InputError, match="one class per graph is needed"):
        ifmixup.GraphClassifier("gcn").fit(graphs)
    found = ifmixup.compare(graphs, folder=tmp_path, engine=Here(), **ONE)
    assert "To train it" not in found.answer()


def test_values_by_a_scorer_are_those_of_a_regressor_with_rmse_beside(tmp_path):
    metric = "neg_median_absolute_error"
    found = ifmixup.compare(with_values(30), metric=metric, folder=tmp_path, engine=Here(), **ONE)
    assert "model = ifmixup.GraphRegressor('gcn'" in found.answer()
    assert found.beside == ["rmse"]


def test_workers_choose_the_epoch_by_the_metric_s_direction(tmp_path):
    metric = ifmixup.Metric("missed", missed, higher_is_better=False)
    shared = {**ONE, "epochs": 6, "models": ["gin"], "folds": 4}
    found = ifmixup.compare(
        "MUTAG", metric=metric, folder=tmp_path, workers=1, baselines=False, **shared
    )
    for result in (record.result for record in found.runs):
        epoch = best_epoch(result.curves, higher=False)
        assert result.metrics["chosen_missed"] == result.curves["test_missed"][epoch]


def test_changed_code_of_a_metric_makes_new_runs(tmp_path):
    file, engine = tmp_path / "costs.py", Here()
    shared = {"folder": tmp_path / "runs", "engine": engine, **ONE}
    for number, count in ((1, 3), (1, 3), (2, 6)):
        file.write_text(
            f"def price(y_true, y_pred):\n    return {number} * abs(y_true - y_pred).mean()\n"
        )
        found = ifmixup.compare("MUTAG", metric=f"{file}:price(higher_is_better=false)", **shared)
        assert len(engine.ran) == count
    assert "price changed: 3 stored runs were made by older code." in found.study.notes
