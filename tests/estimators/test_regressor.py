import inspect
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from ifmixup.errors import InputError, InputTypeError
from ifmixup.estimators import GraphClassifier, GraphRegressor
from rings import GRAPHS, SMALL
from task_graphs import with_values

SIZES = np.array([100.0 * graph.num_nodes for graph in GRAPHS])


@pytest.fixture(scope="module")
def regressor():
    options = {"epochs": 60, "hidden": 32, "dropout": 0.0, "norm": "none", "batch_size": 8}
    return GraphRegressor(method="none", **{**SMALL, **options}).fit(GRAPHS, SIZES)


class TestRegressor:
    def test_values_in_their_units(self, regressor):
        found = regressor.predict(GRAPHS)
        assert found.shape == (40,)
        assert regressor.score(GRAPHS, SIZES) > 0.9
        assert np.abs(found - SIZES).mean() < 50

    def test_several_values_some_of_them_missing(self):
        y = np.stack([SIZES, -SIZES], 1)
        y[::3, 0] = np.nan
        model = GraphRegressor(**SMALL).fit(GRAPHS, y)
        assert model.predict(GRAPHS).shape == (40, 2)
        assert np.isfinite(model.predict(GRAPHS)).all()

    def test_the_graphs_may_bring_their_own(self):
        graphs = [graph.clone() for graph in GRAPHS]
        for graph, size in zip(graphs, SIZES, strict=True):
            graph.y = torch.tensor([[size]])
        own = GraphRegressor(**SMALL).fit(graphs)
        given = GraphRegressor(**SMALL).fit(GRAPHS, SIZES)
        np.testing.assert_array_equal(own.predict(graphs), given.predict(graphs))
        assert own.score(graphs) == given.score(graphs, SIZES)

    def test_early_stopping_and_cross_validation(self):
        model = GraphRegressor(**SMALL, early_stopping=True).fit(GRAPHS, SIZES)
        assert len(model.curves_["validation_mae"]) == 3
        assert cross_val_score(GraphRegressor(**SMALL), GRAPHS, SIZES, cv=2).shape == (2,)

    def test_pickle_and_clone(self, regressor):
        found = pickle.loads(pickle.dumps(regressor))
        np.testing.assert_array_equal(found.predict(GRAPHS), regressor.predict(GRAPHS))
        with pytest.raises(NotFittedError):
            clone(regressor).predict(GRAPHS)

    def test_parameters_are_the_same(self):
        assert inspect.signature(GraphRegressor) == inspect.signature(GraphClassifier)

    def test_sample_weights_are_refused(self):
        with pytest.raises(InputTypeError, match="Sample weights are not supported"):
            GraphRegressor(**SMALL).fit(GRAPHS, SIZES, sample_weight=SIZES)


def values_with_gaps(count=30):
    graphs = with_values(count)
    y = torch.cat([graph.y for graph in graphs]).numpy()
    return graphs, y


def test_only_graphs_with_a_value_choose_the_epoch():
    graphs, y = values_with_gaps()
    y[:28] = np.nan
    regressor = GraphRegressor(
        epochs=2, hidden=4, layers=2, early_stopping=True, validation_fraction=0.3, random_state=0
    )
    fitted = regressor.fit(graphs, y)
    assert np.isfinite(fitted.curves_["validation_mae"]).all()
    y[28] = np.nan
    with pytest.raises(InputError, match="two graphs with a known y"):
        regressor.fit(graphs, y)


def test_r2_is_over_what_is_known():
    graphs, y = values_with_gaps()
    fitted = GraphRegressor(epochs=2, hidden=4, layers=2, random_state=0).fit(graphs, y)
    guesses, known = fitted.predict(graphs), ~np.isnan(y[:, 1])
    assert not known.all()
    expected = [
        r2_score(y[:, 0], guesses[:, 0]),
        r2_score(y[known, 1], guesses[known, 1]),
    ]
    assert fitted.score(graphs, y) == pytest.approx(np.mean(expected))
    y[1:, 0] = np.nan  # one value has no spread: the column does not count
    assert fitted.score(graphs, y) == pytest.approx(expected[1])
    weights = np.arange(30.0)
    assert fitted.score(graphs, y, weights) == pytest.approx(
        r2_score(y[known, 1], guesses[known, 1], sample_weight=weights[known])
    )
