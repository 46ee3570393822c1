"""Estimators that give predictions which are there already, for scikit-learn's scorers.

A scorer takes an estimator, and decides itself whether it asks for classes or probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class FixedClassifier(ClassifierMixin, BaseEstimator):
    """Gives the probabilities ``proba`` ``[B, C]``, whatever it is asked about."""

    def __init__(self, proba: NDArray[np.float64]) -> None:
        self.proba = proba
        self.classes_ = np.arange(proba.shape[1])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable class of each ``[B]``."""
        return self.proba.argmax(1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities ``[B, C]``."""
        return self.proba


class FixedRegressor(RegressorMixin, BaseEstimator):
    """Gives the values ``[B]``, whatever it is asked about."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The values."""
        return self.values
