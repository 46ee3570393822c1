"""A graph classifier with scikit-learn's manners."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ifmixup.data.pyg import as_graphs
from ifmixup.data.user_targets import labels_of, number_classes
from ifmixup.estimators.estimator import GraphEstimator, of_graphs, refuse


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs: ``fit``, ``predict``, ``predict_proba``, ``score``.

    It works where scikit-learn's classifiers do, such as ``cross_val_score``, ``GridSearchCV`` and
    ``Pipeline``, and takes lists of PyG ``Data`` in place of a matrix.

    Integer features are one-hot encoded over the categories that ``fit`` sees. On a CPU the same
    ``random_state`` gives the same numbers. Sample weights are not supported: a mixed graph comes
    of two samples, and nobody has said what its weight should be.

    Args:
        model: See :class:`~ifmixup.training.Settings`, as for all that is not explained here.
        method: What happens to the training graphs, such as ``"ifmixup"`` or ``"none"``.
        early_stopping: Hold a part of the graphs out, and keep the weights of the epoch that is
            best on them. The model does not train on that part.
        validation_fraction: How much is held out for early stopping.
        patience: Stop after so many epochs without a better one (early stopping).
        random_state: A number for the same result each time; None draws from NumPy's own state.
        device: ``auto`` takes a GPU where there is one; or ``cpu``, ``cuda``, ``mps``.
        progress: Whether to show a progress bar while fitting.

    Attributes:
        classes_: The classes, sorted; the columns of ``predict_proba`` are in this order.
        n_features_in_: The width of ``x`` in the graphs that ``fit`` saw.
        n_iter_: The number of epochs trained.
        curves_: A value an epoch: ``train_loss``, and with early stopping ``validation_accuracy``
            and ``validation_loss``.
        predictor_: The trained model, as a :class:`~ifmixup.prediction.predictor.Predictor`.

    Example:
        >>> from ifmixup.data import load
        >>> graphs = load("MUTAG")
        >>> classifier = GraphClassifier(epochs=5, random_state=0).fit(graphs[:150])
        >>> classifier.predict_proba(graphs[150:]).shape
        (38, 2)
    """

    classes_: NDArray[Any]

    def fit(self, graphs: Any, y: Any = None, **unsupported: Any) -> GraphClassifier:
        """Train on graphs.

        Args:
            graphs: A list of ``Data``, a NumPy array of them, or a PyG dataset.
            y: The class of each graph, anything hashable; None takes the ``y`` of the graphs.
            unsupported: scikit-learn may pass more, such as ``sample_weight``: an error.
        """
        refuse(unsupported)
        taken = as_graphs(graphs)
        classes, numbers = number_classes(labels_of(taken, y))
        self._train(graphs, taken, torch.from_numpy(numbers), "classes", numbers)
        self.classes_ = classes
        return self

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The class of each graph, ``[B]``."""
        probabilities = self.predict_proba(graphs)
        return self.classes_[probabilities.argmax(1)]

    def predict_proba(self, graphs: Any) -> NDArray[np.float64]:
        """The probability of each class, ``[B, C]``, in the order of ``classes_``."""
        return self._ask(graphs)

    def score(self, graphs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on graphs, whose classes are ``y`` or their own.

        Args:
            graphs: As for ``fit``.
            y: The class of each graph; None takes the ``y`` of the graphs.
            sample_weight: How much each graph counts in the mean, ``[B]``.
        """
        guesses = self.predict(graphs)
        labels = labels_of(as_graphs(graphs), y)
        right = [guess == label for guess, label in zip(guesses, labels, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        return of_graphs(super().__sklearn_tags__())
