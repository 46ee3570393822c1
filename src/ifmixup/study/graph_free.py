"""Guesses without the graphs' structure, fitted and measured on the folds of a study."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ifmixup.components import ClassSpec
from ifmixup.errors import import_extra
from ifmixup.study.baselines import Baseline
from ifmixup.training.metric import measure
from ifmixup.training.metrics import all_metrics
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import Fold
from ifmixup.training.task import is_ours

TREES = 100
BITS, RADIUS = 2048, 2  # of Morgan fingerprints, as ECFP4
MOST_GRAPHS = 100_000  # with more only the majority class or the mean is measured
LEAST_DRAWN = 1000  # graphs for each tree, where a fold has so many
MOST_DRAWN = 8000  # graphs for the trees of all folds: a matter of seconds
LEAF = 2  # graphs in each leaf, where there are several columns


def measure_baselines(
    data: PackedDataset, folds: Sequence[Fold], metrics: Sequence[ClassSpec] = ()
) -> list[Baseline]:
    """What guesses without the graphs' structure get on the test graphs of ``folds``.

    - ``majority class``, for values ``mean``: the frequencies of the classes or labels among the
      training graphs, or the mean of their values, whatever the graph.
    - A random forest on Morgan fingerprints (radius 2, 2048 bits) where SMILES are known, else on
      the sums of a graph's node features with its numbers of nodes and edges. A forest needs
      neither scaling nor tuning. Of several labels or values it learns all columns at once, with
      the training mean for what is missing, and with two graphs or more in every leaf: graphs
      that agree in all columns are rare, and trees down to single graphs are slower and no better.

    Probabilities count one more graph, or tree, that does not know: one of 0 has no log-loss. Both
    are fitted on the training graphs of each fold and on no others. Where these are many, each tree
    draws fewer of them than there are: :data:`MOST_DRAWN` by the number of folds.

    Args:
        data: The dataset.
        folds: The folds, as the models train on them.
        metrics: Metrics to measure besides those of the task.
    """
    name = "mean" if data.task == "values" else "majority class"
    guess = _mean if data.task == "values" else partial(_frequencies, data.task)
    first = _measured(name, data, folds, metrics, guess)
    if len(data) > MOST_GRAPHS:
        note = (
            f"The baseline of a random forest was left out: {data.name} has {len(data)} graphs, "
            f"more than {MOST_GRAPHS}."
        )
        return [replace(first, note=note)]
    name, features = _features(data)
    most = max(LEAST_DRAWN, MOST_DRAWN // len(folds))
    forest = partial(_forest, features, data, most)
    second = _measured(name, data, folds, metrics, forest)
    if any(len(fold.train) > most for fold in folds):
        note = f"Each tree of the {name} draws {most} of the training graphs of a fold, for speed."
        second = replace(second, note=note)
    return [first, second]


Guess = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[Any]]


def _measured(
    name: str,
    data: PackedDataset,
    folds: Sequence[Fold],
    metrics: Sequence[ClassSpec],
    guess: Guess,
) -> Baseline:
    """A baseline on every fold.

    ``guess(train, y, test)`` is given indices of graphs and target rows of the training graphs
    ``[n, C or T]``, and returns such rows for the test graphs.
    """
    began = time.perf_counter()
    rows = _target_rows(data)
    values: dict[str, list[tuple[int, int, float]]] = {}
    for fold in folds:
        train, test = (np.asarray(getattr(fold, part)) for part in ("train", "test"))
        out = _as_model_output(torch.from_numpy(guess(train, rows[train], test)), data.task)
        y = data.y[fold.indices("test").to(data.y.device)].cpu()
        scores = all_metrics(out, y, data.task)
        scores |= {
            spec.name: measure(spec, out, y, data.task, None)
            for spec in metrics
            if not is_ours(spec)
        }
        scores.pop("squared_error", None)  # which runs have of standardised values
        for metric, value in scores.items():
            values.setdefault(metric, []).append((fold.repeat, fold.fold, value))
    seconds = round(time.perf_counter() - began, 3)
    return Baseline(name, data.name, {m: tuple(v) for m, v in values.items()}, seconds)


def _target_rows(data: PackedDataset) -> NDArray[np.float64]:
    """Targets as rows ``[B, C or T]``: 0 and 1 for classes, NaN for what is missing."""
    y = data.y.cpu()
    if data.task == "classes":
        return np.eye(data.num_outputs)[y.numpy()]
    return y.double().numpy()


def _as_model_output(rows: Tensor, task: str) -> Tensor:
    """Probabilities or values as a model gives them: logits, or values."""
    if task == "classes":
        return rows.log()
    return rows.logit() if task == "labels" else rows


def _mean(train: Any, y: NDArray[Any], test: NDArray[Any]) -> NDArray[Any]:
    """The mean of the target rows for every test graph, over what is known."""
    known = ~np.isnan(y)
    count = known.sum(0)
    total = np.where(known, y, 0.0).sum(0)
    return np.repeat((total / np.maximum(count, 1))[None], len(test), 0)


def _frequencies(task: str, train: Any, y: NDArray[Any], test: NDArray[Any]) -> NDArray[Any]:
    """The frequencies of classes or labels among the training graphs, for every test graph."""
    return _uncertain(_mean(train, y, test), task, len(train))


def _uncertain(rows: NDArray[Any], task: str, count: int) -> NDArray[Any]:
    """Probabilities that ``count`` voters gave, with one more voter that does not know."""
    unknown = 1 / rows.shape[1] if task == "classes" else 0.5
    return (count * rows + unknown) / (count + 1)


def _forest(
    features: NDArray[np.float32],
    data: PackedDataset,
    most: int,
    train: NDArray[Any],
    y: NDArray[Any],
    test: NDArray[Any],
) -> NDArray[Any]:
    """What a random forest gives for the test graphs, as target rows."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    options = {"n_estimators": TREES, "max_features": "sqrt", "random_state": 0, "n_jobs": -1}
    options |= {"max_samples": most if len(train) > most else None}
    if data.task == "classes":
        forest, wanted = RandomForestClassifier(**options), y.argmax(1)
    else:
        filled = np.where(np.isnan(y), _mean(train, y, train), y)
        wanted = filled.squeeze(1) if filled.shape[1] == 1 else filled
        leaf = 1 if filled.shape[1] == 1 else LEAF
        forest = RandomForestRegressor(min_samples_leaf=leaf, **options)
    with warnings.catch_warnings():  # the threads of scikit-learn can leave no filters behind
        forest.fit(features[train], wanted)
    forest.n_jobs = 1  # so that the trees are summed in one order
    if data.task == "classes":
        rows = np.zeros((len(test), data.num_outputs))
        rows[:, forest.classes_] = forest.predict_proba(features[test])
    else:
        rows = forest.predict(features[test]).reshape(len(test), -1)
    return rows if data.task == "values" else _uncertain(rows, data.task, TREES)


def _features(data: PackedDataset) -> tuple[str, NDArray[np.float32]]:
    """What a random forest learns from, in words, and the features ``[B, F]`` themselves."""
    smiles = None if data.rows is None else data.rows.smiles
    if smiles is not None:
        return "random forest on Morgan fingerprints", morgan_fingerprints(smiles)
    return "random forest on sums of node features", sums(data)


def sums(data: PackedDataset) -> NDArray[np.float32]:
    """The sum of a graph's node features, its number of nodes and of edges, ``[B, F + 2]``."""
    graphs = data.to(torch.device("cpu")).graphs
    x = graphs.nodes["x"].double()
    total = torch.zeros(len(data), x.size(1), dtype=torch.double)
    total.index_add_(0, graphs.node_graph, x)
    counts = torch.stack([graphs.node_counts, graphs.edge_counts], 1).double()
    return torch.cat([total, counts], 1).float().numpy()


def morgan_fingerprints(smiles: Sequence[str]) -> NDArray[np.float32]:
    """Morgan fingerprints as rows of 0 and 1, ``[B, 2048]``."""
    chemistry = import_extra("rdkit.Chem", "chem")
    generators = import_extra("rdkit.Chem.rdFingerprintGenerator", "chem")
    generator = generators.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    rows = np.zeros((len(smiles), BITS), np.float32)
    with import_extra("rdkit.rdBase", "chem").BlockLogs():
        for index, text in enumerate(smiles):
            molecule = chemistry.MolFromSmiles(text)
            if molecule is not None:
                rows[index] = generator.GetFingerprintAsNumPy(molecule)
    return rows
