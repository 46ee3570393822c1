"""Graph classifiers and regressors with scikit-learn's manners."""

from ifmixup.estimators.classifier import GraphClassifier
from ifmixup.estimators.regressor import GraphRegressor

__all__ = ["GraphClassifier", "GraphRegressor"]
