import time
import warnings

import numpy as np
import pytest
import torch
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

from ifmixup.data import load
from ifmixup.data.dataset import METRICS
from ifmixup.study import graph_free
from ifmixup.study.graph_free import measure_baselines, morgan_fingerprints, sums
from ifmixup.study.splits import make_splits
from ifmixup.training.packed import pack
from ifmixup.training.run_spec import Fold
from own_metrics import COST
from task_graphs import with_labels, with_values

MOLECULES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "CCCC", "C1CCCCC1", "CCCl", "CO"]


def measured(data, folds=3, metrics=()):
    return measure_baselines(data, make_splits(data, folds=folds).folds, metrics)


def test_the_majority_class_is_that_of_scikit_learn():
    data = pack(load("MUTAG"))
    folds = make_splits(data, folds=3).folds
    guess, forest = measure_baselines(data, folds)
    assert guess.name == "majority class"
    assert forest.name == "random forest on sums of node features"
    assert guess.note == forest.note == ""
    assert set(guess.values) == set(forest.values) == set(METRICS["classes"])
    y, x = data.y.numpy(), np.zeros((188, 1))
    for fold in folds:
        train, test = list(fold.train), list(fold.test)
        dummy = DummyClassifier(strategy="prior").fit(x[train], y[train])
        expected = dummy.score(x[test], y[test])
        assert guess.scores("accuracy")[fold.repeat, fold.fold] == pytest.approx(expected)
    assert guess.mean("roc_auc") == 0.5
    assert guess.mean("nll") == pytest.approx(0.64, abs=0.01)
    assert forest.mean("accuracy") > guess.mean("accuracy")


def test_the_mean_of_values_and_the_frequency_of_labels():
    values = pack(with_values(30))
    guess, forest = measured(values)
    assert (guess.name, set(guess.values)) == ("mean", set(METRICS["values"]))
    fold = make_splits(values, folds=3).folds[0]
    known = values.y[list(fold.train)], values.y[list(fold.test)]
    error = (known[1] - known[0].nanmean(0)).square().nanmean(0).sqrt().mean()
    assert guess.scores("rmse")[0, 0] == pytest.approx(float(error))
    assert forest.mean("rmse") < guess.mean("rmse")
    guess, forest = measured(pack(with_labels(30)))
    assert (guess.name, guess.mean("roc_auc")) == ("majority class", 0.5)
    assert forest.mean("roc_auc") > 0.6


def test_sums_of_node_features_by_hand():
    data = pack(load("MUTAG"))
    graph = load("MUTAG")[5]
    expected = [*graph.x.sum(0).tolist(), graph.num_nodes, graph.num_edges]
    assert sums(data)[5].tolist() == expected


def test_molecules_have_fingerprints(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "molecules.csv"
    lines = [f"{smiles},{i % 2}" for i, smiles in enumerate(MOLECULES * 3)]
    path.write_text("\n".join(["smiles,label", *lines]))
    _, forest = measured(pack(load(path)), folds=2)
    assert forest.name == "random forest on Morgan fingerprints"
    assert forest.mean("accuracy") > 0.6  # most molecules stand in both folds
    rows = morgan_fingerprints(["CCO", "OCC", "c1ccccc1", "not one"])
    assert rows.shape == (4, 2048)
    assert (rows[0] == rows[1]).all()
    assert not (rows[0] == rows[2]).all()
    assert rows[3].sum() == 0


def test_metrics_of_the_user_s_are_measured_too():
    guess, _ = measured(pack(load("MUTAG")), metrics=[COST.spec()])
    assert guess.mean("cost") == 0  # the majority is of class 1: none is missed


def test_a_class_that_no_training_graph_has_is_unlikely_but_possible():
    graphs = with_values(12)
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([2 if i == 11 else i % 2])
    fold = Fold(0, 0, tuple(range(10)), (), (10, 11))
    guess, forest = measure_baselines(pack(graphs), [fold])
    assert np.isfinite([guess.mean("nll"), forest.mean("nll")]).all()


def test_many_graphs_are_a_matter_of_seconds(monkeypatch):
    data = pack(load("MUTAG"))
    monkeypatch.setattr(graph_free, "MOST_DRAWN", 0)
    monkeypatch.setattr(graph_free, "LEAST_DRAWN", 20)
    _, forest = measured(data)
    assert "node features draws 20 of the training graphs of a fold" in forest.note
    monkeypatch.setattr(graph_free, "MOST_GRAPHS", 100)
    (guess,) = measured(data)
    assert guess.name == "majority class"
    assert "left out: MUTAG has 188 graphs, more than 100" in guess.note


def test_mutag_takes_seconds(monkeypatch):
    monkeypatch.setattr(graph_free, "TREES", 100)
    began = time.process_time()
    _, forest = measured(pack(load("MUTAG")), folds=10)
    assert time.process_time() - began < 20
    assert forest.mean("accuracy") > 0.8


def test_the_filters_of_warnings_are_kept(monkeypatch):
    """A forest's threads reset them one inside the other, and may leave none behind."""
    fit = RandomForestClassifier.fit

    def careless(forest, *args):
        fit(forest, *args)
        warnings.resetwarnings()

    monkeypatch.setattr(RandomForestClassifier, "fit", careless)
    before = list(warnings.filters)
    measured(pack(load("MUTAG")))
    assert before
    assert warnings.filters == before


def test_several_labels_with_gaps_take_seconds(monkeypatch):
    """As large as tox21: what decides the time is the number of graphs, columns and bits."""
    monkeypatch.setattr(graph_free, "TREES", 100)
    random = np.random.default_rng(0)
    features = (random.random((6000, 2048)) < 0.03).astype(np.float32)
    chance = features[:, :12] + 0.05
    y = np.where(random.random((6000, 12)) < 0.2, np.nan, random.random((6000, 12)) < chance)
    began = time.process_time()
    rows = graph_free._forest(
        features, pack(with_labels(4)), 1000, np.arange(5000), y[:5000], np.arange(5000, 6000)
    )
    assert time.process_time() - began < 7  # of a fold; without the limits it is about 12
    assert rows.shape == (1000, 12)
    assert ((rows > 0) & (rows < 1)).all()
    told = [rows[features[5000:, k] == bit, k].mean() for k in range(12) for bit in (0, 1)]
    assert np.mean(told[1::2]) > np.mean(told[::2]) + 0.1  # it has learnt from what is known
