"""Metrics of a user's own."""

import numpy as np

from ifmixup import Metric


def missed(y_true, y_pred):
    """The share of all graphs that are of class 1 and were taken for class 0."""
    return np.mean((y_true == 1) & (y_pred == 0))


def confidence(y_true, proba):
    """The mean probability of the true class."""
    return np.where(y_true == 1, proba, 1 - proba).mean()


def broken(y_true, y_pred):
    return y_pred[len(y_true)]


def several(y_true, y_pred):
    return y_pred


COST = Metric("cost", missed, higher_is_better=False)
