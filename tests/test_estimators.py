"""GraphClassifier and GraphRegressor, alone and in scikit-learn's hands."""

import copy
import inspect
import pickle
import warnings

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Batch, Data

import ifmixup
from ifmixup.components import resolve
from ifmixup.data import FeatureEncoder, load
from ifmixup.errors import DatasetError, InputError, InputTypeError
from ifmixup.estimators import GraphClassifier, GraphRegressor
from ifmixup.training.packed import pack
from ifmixup.training.recommended import starting_point
from ifmixup.training.settings import Settings
from own_classes import Net, Noise
from own_metrics import COST
from rings import GRAPHS, NAMES, SMALL, ring
from task_graphs import with_values
from user_classes import EdgeNet, FrozenNet, LazyNet, MixedNet

SIZES = np.array([100.0 * graph.num_nodes for graph in GRAPHS])


@pytest.fixture(scope="module")
def fitted():
    return GraphClassifier(**{**SMALL, "epochs": 30}).fit(GRAPHS, NAMES)


def test_parameters_are_those_of_the_settings():
    ours = inspect.signature(GraphClassifier).parameters
    theirs = dict(inspect.signature(Settings).parameters)
    for name in ("train_share", "label_noise"):  # what a study asks, and nobody deploys
        del theirs[name]
    assert list(ours)[: 2 + len(theirs)] == ["model", "method", *theirs]
    # None: as recommended for the graphs, else the default of the settings.
    assert all(ours[name].default in (None, theirs[name].default) for name in theirs)
    assert GraphClassifier().get_params()["method"] == "ifmixup"


def test_it_learns(fitted):
    assert fitted.classes_.tolist() == ["chord", "ring"]
    assert fitted.n_features_in_ == 1
    assert fitted.n_iter_ == 30
    assert fitted.score(GRAPHS, NAMES) == 1.0
    assert fitted.predict(GRAPHS[:4]).tolist() == ["ring", "chord", "ring", "chord"]
    assert fitted.curves_["train_loss"][-1] < fitted.curves_["train_loss"][0]


def test_probabilities(fitted):
    found = fitted.predict_proba(GRAPHS[:7])
    assert found.shape == (7, 2)
    assert found.dtype == np.float64
    assert found.sum(1) == pytest.approx(np.ones(7))


def test_order_and_company_do_not_matter(fitted):
    whole = fitted.predict_proba(GRAPHS)
    order = np.random.default_rng(0).permutation(len(GRAPHS))
    shuffled = fitted.predict_proba([GRAPHS[i] for i in order])
    alone = np.concatenate([fitted.predict_proba([graph]) for graph in GRAPHS])
    np.testing.assert_allclose(shuffled, whole[order], atol=1e-6)
    np.testing.assert_allclose(alone, whole, atol=1e-6)


def test_the_same_random_state_gives_the_same():
    one, two, other = (
        GraphClassifier(**{**SMALL, "random_state": state}).fit(GRAPHS).predict_proba(GRAPHS)
        for state in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-6


def test_without_a_random_state_numpy_decides():
    found = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        model = GraphClassifier(**{**SMALL, "random_state": None}).fit(GRAPHS)
        found.append(model.predict_proba(GRAPHS))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 1e-6


def test_fitting_leaves_the_graphs_and_torch_alone():
    before, state = GRAPHS[0].clone(), torch.get_rng_state()
    GraphClassifier(**SMALL).fit(GRAPHS)
    assert torch.equal(GRAPHS[0].x, before.x)
    assert GRAPHS[0].x.dtype == torch.long
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "dataset", "batch"])
def test_kinds_of_input(fitted, kind):
    if kind == "dataset":
        mutag = load("MUTAG")[:20]
        model = GraphClassifier(**SMALL).fit(mutag)
        assert model.predict(mutag).tolist() == model.predict(list(mutag)).tolist()
        return
    array = np.empty(len(GRAPHS), dtype=object)
    array[:] = GRAPHS
    made = {"list": GRAPHS, "tuple": tuple(GRAPHS), "array": array}
    given = made[kind] if kind in made else Batch.from_data_list(GRAPHS)
    assert fitted.predict(given).tolist() == NAMES.tolist()


LABELS = {
    "own": None,
    "numbers": [7 if name == "ring" else 3 for name in NAMES],
    "texts": NAMES.tolist(),
    "booleans": [bool(name == "ring") for name in NAMES],
    "tuples": [(1, "a") if name == "ring" else (0, "b") for name in NAMES],
    "mixed": ["ring" if name == "ring" else 3 for name in NAMES],
    "tensor": torch.tensor([int(name == "ring") for name in NAMES]),
    "floats": np.array([float(name == "ring") for name in NAMES]),
}


@pytest.mark.parametrize("kind", list(LABELS))
def test_kinds_of_classes(kind):
    y = LABELS[kind]
    model = GraphClassifier(**SMALL).fit(GRAPHS, y)
    given = [int(graph.y) for graph in GRAPHS] if y is None else list(y)
    assert len(model.classes_) == 2
    assert {type(found) for found in model.predict(GRAPHS).tolist()} <= {
        type(label.item() if isinstance(label, (torch.Tensor, np.generic)) else label)
        for label in given
    }
    right = [guess == label for guess, label in zip(model.predict(GRAPHS), given, strict=True)]
    assert model.score(GRAPHS, y) == pytest.approx(np.mean([bool(each) for each in right]))


def test_an_unseen_category_is_told(fitted):
    graph = ring(5)
    graph.x = torch.full_like(graph.x, 9)
    with pytest.warns(UserWarning, match=r"1 categories are not in the training data .* 9 \(5x\)"):
        assert fitted.predict([graph]).tolist()[0] in ("ring", "chord")


def test_edge_attributes_are_read_where_all_graphs_have_them():
    graphs = [ring(5, bool(n % 2)) for n in range(10)]
    for graph in graphs[:5]:
        graph.edge_attr = torch.zeros(graph.num_edges, dtype=torch.long)
    model = GraphClassifier(**SMALL).fit(graphs)
    assert len(model.predict(graphs)) == 10
    assert model.predictor_.settings.use_edge_attr is False
    with pytest.raises(InputError, match="Graph 5 has no edge_attr, but others have it"):
        GraphClassifier(**SMALL, use_edge_attr=True).fit(graphs)
    model = GraphClassifier(**SMALL, use_edge_attr=True).fit(
        [graph for n in range(6) for graph in graphs[:5]]
    )
    with pytest.raises(InputError, match="no columns of edge_attr"):
        model.predict(graphs[5:])


class TestEarlyStopping:
    def test_stops_and_keeps_the_best(self):
        model = GraphClassifier(
            **{**SMALL, "epochs": 200},
            early_stopping=True,
            patience=3,
            validation_fraction=0.25,
        ).fit(GRAPHS, NAMES)
        assert 3 < model.n_iter_ < 200
        assert len(model.curves_["validation_accuracy"]) == model.n_iter_

    def test_rare_classes_are_no_hindrance(self):
        y = ["rare", *NAMES[1:]]
        model = GraphClassifier(**SMALL, early_stopping=True).fit(GRAPHS, y)
        assert model.classes_.tolist() == ["chord", "rare", "ring"]
        assert model.predict_proba(GRAPHS).shape == (40, 3)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"validation_fraction": 1.5}, "validation_fraction must lie between 0 and 1; got 1.5"),
            (
                {"patience": 0},
                "patience must be a whole number of epochs, at least 1, or None; got 0",
            ),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(InputError, match=message):
            GraphClassifier(**SMALL, early_stopping=True, **options).fit(GRAPHS)


def test_cross_validation():
    model = GraphClassifier(**{**SMALL, "epochs": 20})
    array = np.empty(len(GRAPHS), dtype=object)
    array[:] = GRAPHS
    scores = cross_val_score(model, GRAPHS, NAMES, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.5
    np.testing.assert_array_equal(cross_val_score(model, array, NAMES, cv=3), scores)
    by_loss = cross_val_score(model, GRAPHS, NAMES, cv=3, scoring="neg_log_loss")
    assert np.isfinite(by_loss).all()


def test_grid_search():
    search = GridSearchCV(GraphClassifier(**SMALL), {"method": ["none", "ifmixup"]}, cv=2)
    search.fit(GRAPHS, NAMES)
    assert search.best_params_["method"] in ("none", "ifmixup")
    assert search.predict(GRAPHS[:2]).shape == (2,)


class TestOptions:
    """Options of the model and the method are parameters: model__..., method__...."""

    def test_get_set_clone(self):
        model = GraphClassifier(model__num_layers=3, method__alpha=1.0)
        assert model.get_params()["model__num_layers"] == 3
        assert model.set_params(method__alpha=2.0, model__dropout=0.1, epochs=7) is model
        wanted = {"model__num_layers": 3, "method__alpha": 2.0, "model__dropout": 0.1, "epochs": 7}
        for each in (model, clone(model), pickle.loads(pickle.dumps(model))):
            assert each.get_params().items() >= wanted.items()
        assert "model__num_layers=3" in repr(model)
        assert "model__num_layers" in model._repr_html_()

    def test_they_reach_the_classes(self):
        model = GraphClassifier(model="gcn", **SMALL, method__alpha=3).fit(GRAPHS, NAMES)
        assert model.predictor_.model.hidden_channels == 8
        assert len(model.predictor_.model.layers) == 1
        other = clone(model).set_params(method__alpha=0.5).fit(GRAPHS, NAMES)
        assert other.curves_["train_loss"] != model.curves_["train_loss"]

    def test_grid_search(self):
        grid = {"model__num_layers": [1, 2], "method__alpha": [1.0, 20.0]}
        search = GridSearchCV(GraphClassifier(**SMALL), grid, cv=2, error_score="raise")
        search.fit(GRAPHS, NAMES)
        layers = search.best_params_["model__num_layers"]
        assert len(search.best_estimator_.predictor_.model.layers) == layers
        assert len(search.cv_results_["params"]) == 4

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"model__num_layer": 3}, "option of model 'gin' 'num_layer'. Did you mean 'num_lay"),
            ({"method__alpa": 3}, "option of method 'ifmixup' 'alpa'. Did you mean 'alpha'"),
            ({"model__num_layers": 2.5}, "num_layers of gin must be int; got 2.5"),
            ({"model": "gni"}, "Unknown model 'gni'. Did you mean 'gin'"),
            ({"model": Net, "model__widht": 3}, "option of model 'Net' 'widht'. Did you mean 'w"),
            ({"method": "none", "method__alpha": 1.0}, "Unknown option of method 'none' 'alpha'"),
        ],
    )
    def test_wrong_ones_are_told_in_fit(self, options, message):
        model = GraphClassifier(epochs=1, **options)  # scikit-learn's rule: not before
        with pytest.raises(InputError, match=message):
            model.fit(GRAPHS)

    @pytest.mark.parametrize("name", ["hidden", "layers", "num_layers", "alpha", "module__width"])
    def test_a_name_without_its_class(self, name):
        with pytest.raises(TypeError, match=f"Unknown parameter '{name}'.* begin with model__"):
            GraphClassifier(**{name: 3}).fit(GRAPHS)


class TestOwnClasses:
    @pytest.mark.parametrize("method", ["ifmixup", Noise], ids=["ifmixup", "Noise"])
    @pytest.mark.parametrize("cls", [Net, LazyNet, FrozenNet, MixedNet], ids=lambda c: c.__name__)
    def test_any_parameters(self, cls, method):
        options = {"epochs": 2, "random_state": 0, "model__width": 4}
        model = GraphClassifier(cls, method, **options).fit(GRAPHS, NAMES)
        assert isinstance(model.predictor_.model, cls)
        expected = model.predict_proba(GRAPHS)
        found = pickle.loads(pickle.dumps(model)).predict_proba(GRAPHS)
        np.testing.assert_array_equal(found, expected)
        again = clone(model).fit(GRAPHS, NAMES).predict_proba(GRAPHS)
        np.testing.assert_array_equal(again, expected)

    def test_a_class_in_a_file_and_a_grid_over_both(self, tmp_path, monkeypatch):
        source = inspect.getsource(inspect.getmodule(Net))
        (tmp_path / "nets_of_mine.py").write_text(source)
        monkeypatch.chdir(tmp_path)
        given = {"model": "nets_of_mine.py:Net", "method": "nets_of_mine.py:Noise"}
        model = GraphClassifier(**given, epochs=1, random_state=0)
        grid = {"model__width": [2, 4], "method__std": [0.1, 0.5]}
        search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(GRAPHS, NAMES)
        width = search.best_params_["model__width"]
        assert search.best_estimator_.predictor_.model.head.in_features == width

    def test_a_variant(self):
        variant = ifmixup.with_options(Net, name="deep", depth=2)
        model = GraphClassifier(variant, "none", epochs=1, model__width=4).fit(GRAPHS, NAMES)
        assert len(model.predictor_.model.convs) == 2
        assert clone(model).get_params()["model"] == variant

    def test_edge_attributes_go_to_a_model_that_names_them(self):
        graphs = [graph.clone() for graph in GRAPHS]
        for graph in graphs:
            graph.edge_attr = torch.arange(graph.num_edges) % 3
        model = GraphClassifier(EdgeNet, "none", epochs=1).fit(graphs, NAMES)
        assert model.predict(graphs).shape == (40,)
        assert model.predictor_.model.given == {"edge_attr"}
        with pytest.raises(InputError, match="no columns of edge_attr"):
            model.predict(GRAPHS)
        model = GraphClassifier(EdgeNet, "none", epochs=1).fit(GRAPHS, NAMES)
        assert model.predict(graphs).shape == (40,)
        assert model.predictor_.model.given == set()

    def test_a_model_that_returns_the_wrong_shape(self):
        class Wrong(Net):
            def forward(self, x, edge_index, edge_weight, batch):
                return super().forward(x, edge_index, edge_weight, batch)[:, :1]

        with pytest.raises(ifmixup.IfmixupError, match=r"\[2, 1\] for 2 graphs"):
            GraphClassifier(Wrong, "none", epochs=1).fit(GRAPHS, NAMES)

    def test_regression(self):
        model = GraphRegressor(Net, Noise, epochs=2, random_state=0).fit(GRAPHS, SIZES)
        assert np.isfinite(model.predict(GRAPHS)).all()


def test_pipeline():
    def without_y(graphs):
        return [Data(x=graph.x, edge_index=graph.edge_index) for graph in graphs]

    steps = [("clean", FunctionTransformer(without_y)), ("classify", GraphClassifier(**SMALL))]
    model = Pipeline(steps).set_params(classify__epochs=20).fit(GRAPHS, NAMES)
    assert model.score(GRAPHS, NAMES) > 0.5
    assert model["classify"].n_iter_ == 20


def test_clone_is_not_fitted(fitted):
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copied)


def test_pickle_and_joblib(fitted, tmp_path):
    expected = fitted.predict_proba(GRAPHS)
    text = pickle.dumps(fitted)
    assert len(text) < 30_000  # no graphs, and each weight once
    np.testing.assert_array_equal(pickle.loads(text).predict_proba(GRAPHS), expected)
    joblib.dump(fitted, tmp_path / "model.joblib")
    found = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(found.predict_proba(GRAPHS), expected)


def test_progress(capsys):
    GraphClassifier(**SMALL, progress=True).fit(GRAPHS)
    assert "epoch 3/3" in capsys.readouterr().err
    GraphClassifier(**SMALL).fit(GRAPHS)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(GraphClassifier(), method)(GRAPHS)


@pytest.mark.parametrize(
    ("graphs", "y", "message"),
    [
        (np.zeros((3, 2)), [0, 1, 0], r"got an array of float64 with the shape \(3, 2\)"),
        ("MUTAG", None, "got str"),
        (GRAPHS[0], None, r"got one Data. Put it into a list"),
        ([GRAPHS[0], "graph"], None, "Graph 1 is a str"),
        ([], None, "Got no graphs: 0 sample"),
        (GRAPHS, NAMES[:-1], "Got 40 graphs but 39 classes in y"),
        (GRAPHS, ["a"] * 40, "y has 1 class: 'a'"),
        (GRAPHS, [*NAMES[1:], None], "The class of graph 39 is None"),
        (GRAPHS, [float("nan")] * 40, "y contains NaN"),
        (GRAPHS, np.linspace(0, 1, 40), "Unknown label type: continuous"),
        (GRAPHS, [[0]] * 20 + [[1]] * 20, "not hashable"),
        ([Data(x=torch.ones(1, 1))] * 3, None, "graph 0 has no y"),
        ([Data(x=torch.ones(1, 1), y=torch.ones(1, 2))] * 3, None, r"a y of shape \[1, 2\]"),
        ([Data(edge_index=torch.zeros(2, 1).long())] * 2, [0, 1], "no node features x"),
    ],
)
def test_what_cannot_be_fitted(graphs, y, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        GraphClassifier(**SMALL).fit(graphs, y)


def test_a_wrong_parameter_is_told_in_fit():
    model = GraphClassifier(**SMALL, model__readout="summ")  # scikit-learn's rule: not before
    with pytest.raises(InputError, match=r"readout.*'summ'"):
        model.fit(GRAPHS)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(epoch=3)


def test_graphs_that_do_not_fit(fitted):
    wide = Data(x=torch.ones(3, 2).long(), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(InputError, match="2 columns of x"):
        fitted.predict([wide])


def test_a_dataset_that_was_encoded_otherwise():
    mutag = load("MUTAG")
    model = GraphClassifier(**SMALL).fit(mutag[:30])
    assert model.predict(mutag[30:40]).shape == (10,)
    other = copy.copy(mutag)
    other.encoder = FeatureEncoder.fit(GRAPHS)
    with pytest.raises(InputError, match="encoded differently from those passed to fit"):
        model.predict(other)


def test_a_column_of_classes_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning):
        GraphClassifier(**SMALL).fit(GRAPHS, NAMES.reshape(-1, 1))


def test_tensors_as_classes():
    graphs = list(load("MUTAG"))[:20]
    fitted = GraphClassifier(epochs=1, random_state=0).fit(graphs, [graph.y for graph in graphs])
    assert fitted.classes_.tolist() == [0, 1]


@pytest.fixture(scope="module")
def regressor():
    options = {"model__hidden_channels": 32, "model__dropout": 0.0, "model__norm": "none"}
    more = {"epochs": 60, "batch_size": 8, "weight_decay": 0.0}
    return GraphRegressor("gin", "none", **{**SMALL, **options, **more}).fit(GRAPHS, SIZES)


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


def values_with_gaps(count=30):
    graphs = with_values(count)
    y = torch.cat([graph.y for graph in graphs]).numpy()
    return graphs, y


def test_only_graphs_with_a_value_choose_the_epoch():
    graphs, y = values_with_gaps()
    y[:28] = np.nan
    regressor = GraphRegressor(
        epochs=2, early_stopping=True, validation_fraction=0.3, random_state=0
    )
    fitted = regressor.fit(graphs, y)
    assert np.isfinite(fitted.curves_["validation_mae"]).all()
    y[28] = np.nan
    with pytest.raises(InputError, match="two graphs with a known y"):
        regressor.fit(graphs, y)


def test_r2_is_over_what_is_known():
    graphs, y = values_with_gaps()
    fitted = GraphRegressor(**SMALL).fit(graphs, y)
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


def test_they_are_public_names():
    assert ifmixup.GraphClassifier is GraphClassifier
    assert ifmixup.GraphRegressor is GraphRegressor
    assert {"GraphClassifier", "GraphRegressor"} <= set(ifmixup.__all__)


def test_what_is_imported_late_is_listed():
    assert set(ifmixup.__all__) <= set(dir(ifmixup))


class AsIs(GraphClassifier):
    """Claims to take matrices: otherwise scikit-learn's checks would not run."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class OnRows(AsIs):
    """Takes the rows of a matrix as graphs of one node: then scikit-learn's checks apply."""

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


ROUNDED = {"check_methods_subset_invariance": "it wants 1e-7, which float32 does not have"}
"""What single precision may fail, depending on the processor."""

NARROW = {"model__hidden_channels": 16, "model__num_layers": 1}


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
    model = OnRows("gin", "none", epochs=10, batch_size=64, learning_rate=0.05, **NARROW)
    found = statuses(model, expected_failed_checks=ROUNDED)
    assert found["failed"] == set()
    assert set(DO_NOT_APPLY) <= found["passed"]


def test_scikit_learns_checks_of_the_regressor_on_rows_as_graphs():
    options = {"epochs": 10, "batch_size": 64, "learning_rate": 0.03, "model__dropout": 0.0}
    model = RegressorOnRows("gin", "none", **options, **NARROW)
    assert statuses(model, expected_failed_checks=ROUNDED)["failed"] == set()


@pytest.mark.parametrize("estimator", [GraphClassifier, GraphRegressor])
def test_a_prediction_does_not_depend_on_the_graphs_beside_it(estimator):
    is_classifier = estimator is GraphClassifier
    model = estimator(**SMALL).fit(GRAPHS, NAMES if is_classifier else SIZES)
    predict = model.predict_proba if is_classifier else model.predict
    one_by_one = np.concatenate([predict([graph]) for graph in GRAPHS[:20]])
    np.testing.assert_allclose(predict(GRAPHS[:20]), one_by_one, rtol=1e-4, atol=1e-5)


def test_fit_on_a_split():
    split = {"train": range(20), "val": range(20, 30), "test": range(30, 40)}
    classifier = GraphClassifier(**SMALL).fit(GRAPHS, split=split)
    assert {part: len(index) for part, index in classifier.split_.items()} == {
        "train": 20, "validation": 10, "test": 10,
    }  # fmt: skip
    assert len(classifier.curves_["validation_accuracy"]) == 3
    test = [GRAPHS[i] for i in classifier.split_["test"]]
    assert 0 <= classifier.score(test) <= 1
    assert not hasattr(classifier.fit(GRAPHS), "split_")  # not that of another fit


def test_fit_on_a_split_without_test_or_validation_graphs():
    with pytest.warns(UserWarning, match="a tenth of the training graphs"):
        classifier = GraphClassifier(**SMALL).fit(GRAPHS, split={"train": range(30)})
    assert [len(index) for index in classifier.split_.values()] == [26, 4, 0]  # of 15 and 15


def test_splits_that_fit_cannot_use():
    two = [{"train": [0, 1], "val": [2], "test": [i]} for i in (3, 4)]
    with pytest.raises(InputError, match="fit trains one model, but this split has 2 folds"):
        GraphClassifier(**SMALL).fit(GRAPHS, split=two)
    with pytest.raises(InputError, match="has no SMILES"):
        GraphRegressor(**SMALL).fit(GRAPHS, split="scaffold")


MOLECULES = ["CCO", "CC", "c1ccccc1", "CCN", "CC=O", "C#N"] * 3


@pytest.mark.parametrize("kind", ["list", "array", "series", "frame"])
def test_molecules_as_smiles(kind):
    import pandas as pd

    make = {
        "list": list,
        "array": np.array,
        "series": pd.Series,
        "frame": lambda smiles: pd.DataFrame({"smiles": smiles}),
    }[kind]
    classifier = GraphClassifier("gin", epochs=1, random_state=0, model__num_layers=1)
    classifier.fit(make(MOLECULES), ["a", "b"] * 9)
    assert classifier.predictor_.settings.use_edge_attr is True  # bonds are read
    assert classifier.n_features_in_ == 9
    found = classifier.predict_proba(make(["CCO", "CCCN"]))
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found, classifier.predict_proba(["CCO", "CCCN"]))
    with pytest.raises(
        InputError, match=r"1 of 2 rows cannot be read as molecules: row 0: 'XX': not SM"
    ):
        classifier.predict(make(["XX", "C"]))


RINGS = ["Cc1ccccc1", "c1ccccc1O", "C1CC1", "CC1CC1", "c1ccoc1", "Cc1ccoc1", "C1CCC1", "CCO"] * 2


@pytest.mark.parametrize("kind", ["list", "series", "frame"])
def test_molecules_as_smiles_with_a_split_that_reads_them(kind):
    import pandas as pd

    frame = pd.DataFrame({"smiles": RINGS, "part": ["train"] * 11 + ["valid"] * 2 + ["test"] * 3})
    given = {"list": RINGS, "series": frame.smiles, "frame": frame}[kind]
    classifier = GraphClassifier("gin", epochs=1, random_state=0, model__num_layers=1)
    classifier.fit(given, [0, 1] * 8, split="scaffold")
    of_dataset = load(RINGS, label=[0, 1] * 8)
    found = clone(classifier).fit(of_dataset, split="scaffold").split_
    assert all((classifier.split_[part] == found[part]).all() for part in found)
    assert len(classifier.split_["test"])
    if kind != "frame":
        return
    with pytest.warns(UserWarning, match="Leak: 3 of 3 test graphs"):
        classifier.fit(frame, [0, 1] * 8, split="column:part")
    assert classifier.split_["validation"].tolist() == [11, 12]
    with pytest.raises(DatasetError, match="the DataFrame has no column 'prat'"):
        classifier.fit(frame, [0, 1] * 8, split="group:prat")


def test_molecules_with_values():
    regressor = GraphRegressor("gcn", epochs=1, random_state=0, model__num_layers=1)
    assert regressor.fit(MOLECULES, range(18)).predict(["CCO"]).shape == (1,)
    assert regressor.predictor_.settings.use_edge_attr is False


@pytest.mark.parametrize("kind", [GraphClassifier, GraphRegressor])
def test_molecules_have_the_settings_of_compare(kind):
    labels = [index % 2 for index in range(18)] if kind is GraphClassifier else list(range(18))
    task = "classes" if kind is GraphClassifier else "values"
    data = pack(load(MOLECULES, label=labels, task=task))
    start = starting_point(data, resolve("model", "gin"), resolve("method", "none"))
    found = kind("gin", "none", epochs=1, random_state=0).fit(MOLECULES, labels).predictor_
    assert found.settings == start.settings.with_(epochs=1)
    assert found.settings.learning_rate != Settings().learning_rate
    options = dict(start.model.spec.options)
    for name in ("num_layers", "hidden_channels", "readout", "norm"):
        assert getattr(found.model, name) == options[name]
    loaded = load(MOLECULES, label=labels, task=task)  # and so do those that load has encoded
    again = kind("gin", "none", epochs=1, random_state=0).fit(loaded).predictor_
    assert again.settings == found.settings
    assert all(getattr(again.model, name) == options[name] for name in options if name != "dropout")
    own = kind("gin", "none", epochs=1, batch_size=5, model__num_layers=1).fit(MOLECULES, labels)
    assert own.predictor_.settings.batch_size == 5
    assert own.predictor_.model.num_layers == 1
    assert kind().get_params()["epochs"] is None


@pytest.mark.parametrize("metric", ["f1_macro", "f1", COST])
def test_another_metric_chooses_the_epoch(metric):
    name = getattr(metric, "name", metric)
    graphs = list(load("MUTAG"))[:40]
    model = GraphClassifier(**SMALL, early_stopping=True, metric=metric)
    assert len(clone(model).fit(graphs).curves_[f"validation_{name}"]) == 3
    with pytest.raises(InputError, match="does not fit the task 'classes'"):
        GraphClassifier(**SMALL, metric="rmse").fit(graphs)
