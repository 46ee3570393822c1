import warnings

import numpy as np
import torch
from sklearn.metrics import r2_score
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Data

import ifmixup
from ifmixup.estimators import GraphClassifier, GraphRegressor
from rings import SMALL


def test_they_are_public_names():
    assert ifmixup.GraphClassifier is GraphClassifier
    assert ifmixup.GraphRegressor is GraphRegressor
    assert {"GraphClassifier", "GraphRegressor"} <= set(ifmixup.__all__)


def test_what_is_imported_late_is_listed():
    assert set(ifmixup.__all__) <= set(dir(ifmixup))


class AsIs(GraphClassifier):
    """Says that it takes matrices, which it does not: so that scikit-learn's checks run at all."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class OnRows(AsIs):
    """Rows of a matrix as graphs of one node: what scikit-learn's checks feed then applies."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        return super().fit(as_nodes(X), y)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(as_nodes(validate_data(self, X, reset=False)))

    def score(self, X, y):
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class RegressorOnRows(GraphRegressor):
    """The same for numbers."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, y_numeric=True)
        return super().fit(as_nodes(X), y)

    def predict(self, X):
        check_is_fitted(self)
        return super().predict(as_nodes(validate_data(self, X, reset=False)))

    def score(self, X, y):
        guesses = self.predict(X)
        return float(r2_score(y, guesses))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.target_tags.required = True
        return tags


def as_nodes(rows):
    rows = torch.tensor(np.asarray(rows, dtype=np.float32))
    return [Data(x=row.view(1, -1), edge_index=torch.empty(2, 0).long()) for row in rows]


FITS = "fits a matrix of numbers before it looks at anything; ours takes lists of graphs"
MATTER = "is about what a matrix may be like: its type, shape, sparsity, missing numbers"
TARGET = "is about y, and gives a matrix beside it, which is refused first"
DO_NOT_APPLY = {
    "check_fit_score_takes_y": FITS,
    "check_estimators_overwrite_params": FITS,
    "check_dont_overwrite_parameters": FITS,
    "check_estimators_fit_returns_self": FITS,
    "check_n_features_in_after_fitting": FITS,
    "check_pipeline_consistency": FITS,
    "check_estimators_pickle": FITS,
    "check_classifiers_classes": FITS,
    "check_classifiers_train": FITS,
    "check_methods_sample_order_invariance": FITS,
    "check_methods_subset_invariance": FITS,
    "check_dict_unchanged": FITS,
    "check_fit_idempotent": FITS,
    "check_fit_check_is_fitted": FITS,
    "check_n_features_in": FITS,
    "check_readonly_memmap_input": MATTER,
    "check_positive_only_tag_during_fit": MATTER,
    "check_estimators_dtypes": MATTER,
    "check_complex_data": MATTER,
    "check_dtype_object": MATTER,
    "check_estimators_empty_data_messages": MATTER,
    "check_estimators_nan_inf": MATTER,
    "check_estimator_sparse_tag": MATTER,
    "check_estimator_sparse_array": MATTER,
    "check_estimator_sparse_matrix": MATTER,
    "check_f_contiguous_array_estimator": MATTER,
    "check_classifier_data_not_an_array": MATTER,
    "check_fit1d": MATTER,
    "check_fit2d_1sample": MATTER,
    "check_fit2d_1feature": MATTER,
    "check_fit2d_predict1d": MATTER,
    "check_classifiers_one_label": TARGET,
    "check_classifiers_regression_target": TARGET,
    "check_supervised_y_no_nan": TARGET,
    "check_supervised_y_2d": TARGET,
}
"""The checks of scikit-learn that do not apply to lists of graphs as they are, and why.

All others pass as they are. These, too, pass when each row of a matrix is made a graph of one node.
"""


def statuses(model, **expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke some
        found = estimator_checks.check_estimator(model, on_skip=None, on_fail=None, **expected)
    by_status = {"passed": set(), "failed": set(), "xfail": set(), "skipped": set()}
    for each in found:
        by_status[each["status"]].add(each["check_name"])
    return by_status


def test_scikit_learns_checks_that_apply():
    found = statuses(AsIs(**SMALL), expected_failed_checks=DO_NOT_APPLY)
    assert found["failed"] == set()
    assert found["xfail"] == set(DO_NOT_APPLY)
    assert len(found["passed"]) >= 14


def test_scikit_learns_checks_on_rows_as_graphs():
    model = OnRows(epochs=10, batch_size=64, hidden=16, layers=1, learning_rate=0.05, method="none")
    found = statuses(model)
    assert found["failed"] == set()
    assert set(DO_NOT_APPLY) <= found["passed"]


def test_scikit_learns_checks_of_the_regressor_on_rows_as_graphs():
    options = {"epochs": 10, "batch_size": 64, "learning_rate": 0.03, "dropout": 0.0}
    model = RegressorOnRows(**options, hidden=16, layers=1, method="none")
    assert statuses(model)["failed"] == set()
