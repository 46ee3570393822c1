"""Graph classifiers and regressors that are compatible with scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.components import Component, check_complete, resolve
from ifmixup.data import FeatureEncoder
from ifmixup.data.dataset import Rows
from ifmixup.data.frames import is_frame, is_smiles
from ifmixup.data.molecules import rows_of
from ifmixup.data.pyg import as_graphs
from ifmixup.data.smiles import column_names
from ifmixup.data.user_targets import labels_of, number_classes, values_of
from ifmixup.errors import InputError, InputTypeError, unknown_name
from ifmixup.prediction.predictor import Predictor
from ifmixup.study.choose_split import Split, choose_splits, columns_of
from ifmixup.training.edge_attributes import asks_for_edge_attr
from ifmixup.training.fit import Told, epoch_bar, train
from ifmixup.training.metric import resolve_metrics
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.recommended import recommended_for_kind
from ifmixup.training.run_spec import PARTS
from ifmixup.training.settings import Settings, setting_types
from ifmixup.training.task import is_ours

E = TypeVar("E", bound="GraphEstimator")
_PREFIXES = ("model__", "method__")


class GraphEstimator(BaseEstimator):
    """What :class:`GraphClassifier` and :class:`GraphRegressor` share.

    Options of the model and of the method are parameters too, called ``model__num_layers`` or
    ``method__alpha``; there are as many as the classes have.
    """

    early_stopping: bool
    validation_fraction: float
    patience: int
    metric: Any
    random_state: int | np.random.RandomState | None
    device: str
    progress: bool
    predictor_: Predictor
    split_: dict[str, NDArray[np.int64]]

    def __init__(
        self,
        model: Any = "gin",
        method: Any = "ifmixup",
        *,
        epochs: int | None = None,
        learning_rate: float | None = None,
        halve_every: int | None = None,
        weight_decay: float | None = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        label_smoothing: float = 0.0,
        recompute_bn: bool = False,
        use_edge_attr: bool | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 50,
        metric: Any = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        progress: bool = False,
        **options: Any,
    ) -> None:
        # scikit-learn's rule: parameters are stored as they are, and checked in fit.
        given = locals()
        for name in GraphEstimator._get_param_names():
            setattr(self, name, given[name])
        self._options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name, options of the model and of the method included."""
        return {**super().get_params(deep=deep), **self._options}

    def set_params(self: E, **params: Any) -> E:
        """Set parameters by name; options too, such as ``model__num_layers=3``."""
        options = {
            name: value
            for name, value in params.items()
            if name in self._options or name.startswith(_PREFIXES)
        }
        super().set_params(**{name: params[name] for name in params if name not in options})
        self._options = {**self._options, **options}
        return self

    def _component(self, kind: str) -> Component:
        """The model or the method with its options."""
        prefix = f"{kind}__"
        options = {
            name.removeprefix(prefix): value
            for name, value in self._options.items()
            if name.startswith(prefix)
        }
        found = resolve(kind, getattr(self, kind))
        # Fixed: what is recommended does not change an option that was given.
        found = replace(found.with_options(**options), fixed=found.fixed | {*options})
        check_complete(found)
        return found

    def _train(
        self, given: Any, graphs: Sequence[Data], targets: Tensor, task: str, split: Split | None
    ) -> None:
        """Train on the list of the ``given`` graphs, with targets ``[B]`` or rows ``[B, T]``."""
        for name in self._options:
            if not name.startswith(_PREFIXES):
                error = unknown_name("parameter", name, GraphEstimator._get_param_names())
                raise InputTypeError(
                    f"{error} Options of the model and of the method begin with model__ and "
                    f"method__, such as model__num_layers=3."
                )
        model, method = self._component("model"), self._component("method")
        shared = {name: getattr(self, name) for name in setting_types() if hasattr(self, name)}
        given_settings = {name: value for name, value in shared.items() if value is not None}
        Settings.of(given_settings)  # an error before the graphs are encoded
        use_edge_attr = self.use_edge_attr
        if use_edge_attr is None:
            with_edges = [graph for graph in graphs if graph.num_edges]
            has = bool(with_edges) and all(map(_has_edge_data, with_edges))
            use_edge_attr = has and asks_for_edge_attr(model.spec)
        if len(graphs) < 2:
            raise InputError("At least two graphs are needed to fit; got 1 sample.")
        # One number seeds the run, whatever kind of state was given.
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        data = _packed(graphs, targets, task, edge_attr=bool(use_edge_attr))
        encoder = getattr(given, "encoder", None)  # of a loaded dataset: it knows its columns
        known = data if encoder is None else replace(data, encoder=encoder.to_dict())
        start = recommended_for_kind(known, model, method)
        model, method = start.model, start.method
        settings = start.settings.with_(**{**given_settings, "use_edge_attr": use_edge_attr})
        metrics = resolve_metrics(self.metric, data)
        if is_ours(metrics[0]):
            data = replace(data, metric=metrics[0].name)
        if split is None:
            kept, held_out = self._hold_out(targets, task, seed)
        else:
            kept, held_out = self._split(data, _rows(given, split), split, seed)
        if split is None and hasattr(self, "split_"):  # of an earlier fit
            del self.split_
        with epoch_bar(settings.epochs) if self.progress else nullcontext(Told()) as told:
            trainer = train(
                settings,
                model.spec,
                method.spec,
                data,
                train=kept,
                validation=held_out,
                patience=self.patience if self.early_stopping else None,
                seed=seed,
                device=self.device,
                metrics=metrics,
                **told,
            )
        kinds = graphs[0].get("node_kinds") or [()]  # of molecules
        self.n_features_in_ = len(kinds[0]) + (
            1 if graphs[0].x.dim() == 1 else int(graphs[0].x.size(1))
        )
        self.n_iter_ = trainer.epoch
        self.curves_ = trainer.curves
        self.predictor_ = Predictor.of(trainer)
        self._encoder = encoder

    def _predict(self, graphs: Any) -> NDArray[np.float64]:
        """The output of the trained model, ``[B, C]`` or ``[B, T]``."""
        check_is_fitted(self)
        encoder = getattr(graphs, "encoder", None)
        if encoder is not None and self._encoder is not None and encoder != self._encoder:
            raise InputError(
                "These graphs were encoded differently from those passed to fit, so their "
                "features mean something else. Load them with encoder=, the encoder of that "
                "dataset."
            )
        outputs = self.predictor_.predict(as_graphs(graphs), device=self.device)
        return torch.cat(list(outputs)).numpy()

    def _split(
        self, data: PackedDataset, rows: Rows | None, split: Split, seed: int
    ) -> tuple[Tensor, Tensor]:
        """The graphs to train on, and those that choose the epoch, of a split that was given."""
        found = choose_splits(
            replace(data, rows=rows), split, folds=1, seed=seed, needed=("train",)
        )
        if len(found.folds) > 1:
            raise InputError(
                f"fit trains one model, but this split has {len(found.folds)} folds. Give one of "
                f"them, or compare with ifmixup.compare."
            )
        for note in found.notes:
            warnings.warn(note, stacklevel=4)
        (fold,) = found.folds
        self.split_ = {part: np.array(getattr(fold, part), dtype=np.int64) for part in PARTS}
        return fold.indices("train"), fold.indices("validation")

    def _hold_out(self, targets: Tensor, task: str, seed: int) -> tuple[Tensor, Tensor | None]:
        """The indices of the graphs to train on, and of those that choose the epoch."""
        total = len(targets)
        index = torch.arange(total)
        if not self.early_stopping:
            return index, None
        if not 0 < self.validation_fraction < 1:
            raise InputError(
                f"validation_fraction must lie between 0 and 1; got {self.validation_fraction}."
            )
        # Only graphs with a known target can tell which epoch is better.
        judges = index[~targets.isnan().all(1)] if task == "values" else index
        if len(judges) < 2:
            raise InputError(
                "early_stopping needs two graphs with a known y: one to train on, and one to "
                "choose the epoch by."
            )
        count = min(max(1, round(total * self.validation_fraction)), len(judges) - 1)
        stratify = None
        if task == "classes":
            # Stratified, where there are enough graphs of each class for both parts.
            of_each = targets.bincount()
            enough = of_each.min() > 1 and min(count, total - count) >= len(of_each)
            stratify = targets.numpy() if enough else None
        _, chosen = train_test_split(
            judges.numpy(), test_size=count, random_state=seed, stratify=stratify
        )
        held_out = torch.from_numpy(np.sort(chosen))
        return index[~torch.isin(index, held_out)], held_out


class _TakesGraphs:
    """Tells scikit-learn, after its own mixins, that graphs are taken, which may have a y."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


class GraphClassifier(_TakesGraphs, ClassifierMixin, GraphEstimator):
    """Classify graphs: ``fit``, ``predict``, ``predict_proba``, ``score``.

    It works wherever scikit-learn's classifiers do, such as in ``cross_val_score``,
    ``GridSearchCV`` and ``Pipeline``, and takes lists of PyG ``Data`` in place of a matrix.

    Integer features are one-hot encoded over the categories in ``fit``. On a CPU, the same
    ``random_state`` gives the same numbers. Sample weights are not supported, because a mixed graph
    is made of two samples.

    Args:
        model: A name (``"gcn"``, ``"gin"``, ``"gat"``, ``"gatv2"``), your own class,
            ``"nets.py:Net"``, or a result of :func:`ifmixup.with_options`.
        method: Augmentation of the training graphs: a name such as ``"ifmixup"`` or ``"none"``,
            your own class, and so on.
        epochs: This and the following ones, up to ``use_edge_attr``, are
            :class:`~ifmixup.training.settings.Settings`. None is the default; for molecules made
            from SMILES it is what is recommended for molecules, as in :func:`ifmixup.compare`.
        early_stopping: Whether to hold out a part of the graphs and keep the weights of the best
            epoch on them.
        validation_fraction: Fraction that is held out for early stopping.
        patience: Number of epochs without improvement after which training stops (early stopping).
        metric: Metric that chooses the epoch (early stopping): a name such as ``"f1_macro"`` or
            ``"rmse"``, a scorer of scikit-learn, or an :class:`ifmixup.Metric`. By default
            accuracy, or MAE for values; if one class has more than 80 % of the graphs, ROC-AUC, or
            balanced accuracy for more than two classes.
        random_state: Seed, for reproducible results; None draws from NumPy's global state.
        device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``mps``.
        progress: Whether to show a progress bar while fitting.
        **options: The options of the model as ``model__NAME`` and of the method as
            ``method__NAME``, such as ``model__num_layers=3`` or ``method__alpha=1.0``.

    Attributes:
        classes_: The classes, sorted; the columns of ``predict_proba`` are in this order.
        n_features_in_: Number of columns of ``x`` in the graphs passed to ``fit``.
        n_iter_: Number of epochs trained.
        curves_: One value per epoch: ``train_loss``, and with early stopping
            ``validation_accuracy``, or what the metric is called, and ``validation_loss``.
        predictor_: The trained model, as a :class:`~ifmixup.prediction.predictor.Predictor`.
        split_: The indices of the train, validation and test graphs, where a split was given.

    Example:
        >>> from ifmixup.data import load
        >>> graphs = load("MUTAG")
        >>> classifier = GraphClassifier(epochs=5, model__num_layers=2, random_state=0)
        >>> classifier.fit(graphs[:150]).predict_proba(graphs[150:]).shape
        (38, 2)
    """

    classes_: NDArray[Any]

    def fit(self, graphs: Any, y: Any = None, *, split: Split | None = None) -> GraphClassifier:
        """Train on graphs.

        Args:
            graphs: A list of ``Data``, a NumPy array of them, or a PyG dataset; or molecules: a
                list or a Series of SMILES, or a DataFrame with a column ``smiles``.
            y: The class of each graph, anything hashable; None takes the ``y`` of the graphs.
            split: Which graphs to train on and which choose the epoch, as for
                :func:`ifmixup.compare`; test graphs are left out. ``"scaffold"`` and the like make
                one 80/10/10 split. The indices are in ``split_`` afterwards.
        """
        several = as_graphs(graphs)
        classes, numbers = number_classes(labels_of(several, y))
        self._train(graphs, several, torch.from_numpy(numbers), "classes", split)
        self.classes_ = classes
        return self

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The class of each graph, ``[B]``."""
        probabilities = self.predict_proba(graphs)
        return self.classes_[probabilities.argmax(1)]

    def predict_proba(self, graphs: Any) -> NDArray[np.float64]:
        """The probability of each class, ``[B, C]``, in the order of ``classes_``."""
        return self._predict(graphs)

    def score(self, graphs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on graphs, given as for ``fit``; each may have a weight in the mean."""
        guesses = self.predict(graphs)
        labels = labels_of(as_graphs(graphs), y)
        right = [guess == label for guess, label in zip(guesses, labels, strict=True)]
        return float(np.average(right, weights=sample_weight))


class GraphRegressor(_TakesGraphs, RegressorMixin, GraphEstimator):
    """Predict numbers of graphs, as :class:`~ifmixup.GraphClassifier` predicts classes.

    Parameters and attributes are those of :class:`~ifmixup.GraphClassifier`, without ``classes_``;
    with early stopping ``curves_`` has ``validation_mae``. Targets are standardised while training,
    and predictions are in the original units. A target may be missing (NaN): it is left out of the
    loss.
    """

    def fit(self, graphs: Any, y: Any = None, *, split: Split | None = None) -> GraphRegressor:
        """Train on graphs, given as for :meth:`GraphClassifier.fit`; ``y`` is a number ``[B]`` or a
        row ``[B, T]`` for each.
        """
        several = as_graphs(graphs)
        values = values_of(several, y)
        rows = torch.tensor(values).view(len(several), -1)  # a column of a frame is read-only
        self._train(graphs, several, rows, "values", split)
        self._one_value = values.ndim == 1
        return self

    def predict(self, graphs: Any) -> NDArray[np.float64]:
        """The value of each graph ``[B]``, or its row ``[B, T]``, as ``fit`` was given them."""
        values = self._predict(graphs)
        return values[:, 0] if self._one_value else values

    def score(self, graphs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The coefficient of determination R²; 1 is the best.

        For several values it is the mean over the columns, each over the graphs where it is known;
        a column that fewer than two graphs have does not count. Each graph may have a weight.
        """
        several = as_graphs(graphs)
        guesses = self.predict(graphs).reshape(len(several), -1)
        values = values_of(several, y).reshape(len(several), -1)
        if values.shape != guesses.shape:
            raise InputError(
                f"y has {values.shape[1]} values per graph, and fit was given {guesses.shape[1]}."
            )
        weights = np.ones(len(several)) if sample_weight is None else np.asarray(sample_weight)
        known = ~np.isnan(values)
        enough = np.flatnonzero(known.sum(0) > 1)
        found = []
        for column in enough if len(enough) else [known.sum(0).argmax()]:
            rows = known[:, column]
            given, guessed = values[rows, column], guesses[rows, column]
            found.append(r2_score(given, guessed, sample_weight=weights[rows]))
        return float(np.mean(found))


def _rows(given: Any, split: Split) -> Rows | None:
    """What is known of the given graphs besides, as far as a split needs it."""
    if is_frame(given) or is_smiles(given):
        return rows_of(given, columns_of(split))
    found: Rows | None = getattr(given, "rows", None)
    return found


def _has_edge_data(graph: Data) -> bool:
    return graph.get("edge_attr") is not None or graph.get("edge_kinds") is not None


def _packed(
    graphs: Sequence[Data], targets: Tensor, task: str, *, edge_attr: bool
) -> PackedDataset:
    """The graphs as a training takes them, with their features encoded."""
    read = ["x", "edge_index", "edge_weight", "node_kinds"]
    read += ["edge_attr", "edge_kinds"] if edge_attr else []
    # Without what no model reads: some graphs may have it and others not.
    plain = [Data(**{key: graph[key] for key in read if key in graph}) for graph in graphs]
    nodes, edges = column_names("standard") if "node_kinds" in plain[0] else (None, None)
    encoder = FeatureEncoder.fit(plain, node_names=nodes, edge_names=edges)
    encoded = encoder.transform(plain)
    for graph, target in zip(encoded, targets.split(1), strict=True):
        graph.y = target
    return replace(pack(encoded, name="graphs", task=task), encoder=encoder.to_dict())
