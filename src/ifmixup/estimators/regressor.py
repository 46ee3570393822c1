"""A graph regressor with scikit-learn's manners."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from ifmixup.data.pyg import as_graphs
from ifmixup.data.user_targets import values_of
from ifmixup.errors import InputError
from ifmixup.estimators.estimator import GraphEstimator, of_graphs, refuse


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs, as :class:`~ifmixup.GraphClassifier` predicts classes.

    The parameters are those of :class:`~ifmixup.GraphClassifier`. Targets are standardised while
    training, and predictions are in the original units. A target may be missing (NaN): it is left
    out of the loss.

    Attributes:
        n_features_in_: The width of ``x`` in the graphs that ``fit`` saw.
        n_iter_: The number of epochs trained.
        curves_: A value an epoch: ``train_loss``, and with early stopping ``validation_mae`` and
            ``validation_loss``.
        predictor_: The trained model, as a :class:`~ifmixup.prediction.predictor.Predictor`.
    """

    def fit(self, graphs: Any, y: Any = None, **unsupported: Any) -> GraphRegressor:
        """Train on graphs.

        Args:
            graphs: A list of ``Data``, a NumPy array of them, or a PyG dataset.
            y: A number ``[B]`` or a row ``[B, T]`` for each graph; None takes the ``y`` of the
                graphs.
            unsupported: scikit-learn may pass more, such as ``sample_weight``: an error.
        """
        refuse(unsupported)
        taken = as_graphs(graphs)
        values = values_of(taken, y)
        rows = torch.from_numpy(values).view(len(taken), -1)
        self._train(graphs, taken, rows, "values")
        self._one_value = values.ndim == 1
        return self

    def predict(self, graphs: Any) -> NDArray[np.float64]:
        """The value of each graph ``[B]``, or its row ``[B, T]``, as ``fit`` was given them."""
        values = self._ask(graphs)
        return values[:, 0] if self._one_value else values

    def score(self, graphs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The coefficient of determination R², of which 1 is the best.

        Of several values it is the mean over the columns, each over the graphs where it is known;
        a column that fewer than two graphs have does not count.

        Args:
            graphs: As for ``fit``.
            y: The values; None takes the ``y`` of the graphs.
            sample_weight: How much each graph counts, ``[B]``.
        """
        several = as_graphs(graphs)
        guesses = self.predict(graphs).reshape(len(several), -1)
        values = values_of(several, y).reshape(len(several), -1)
        if values.shape != guesses.shape:
            raise InputError(
                f"y has {values.shape[1]} values a graph, and fit was given {guesses.shape[1]}."
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        known = ~np.isnan(values)
        enough = [column for column in range(values.shape[1]) if known[:, column].sum() > 1]
        found = [
            r2_score(
                values[known[:, column], column],
                guesses[known[:, column], column],
                sample_weight=None if weights is None else weights[known[:, column]],
            )
            for column in enough or [int(known.sum(0).argmax())]
        ]
        return float(np.mean(found))

    def __sklearn_tags__(self) -> Any:
        return of_graphs(super().__sklearn_tags__())
