import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Batch, Data

from ifmixup.data import FeatureEncoder, load
from ifmixup.errors import InputError, InputTypeError
from ifmixup.estimators import GraphClassifier
from ifmixup.training import Settings
from rings import GRAPHS, NAMES, SMALL, ring


@pytest.fixture(scope="module")
def fitted():
    return GraphClassifier(**{**SMALL, "epochs": 30}).fit(GRAPHS, NAMES)


def test_parameters_are_those_of_the_settings():
    ours = inspect.signature(GraphClassifier).parameters
    theirs = inspect.signature(Settings).parameters
    assert list(theirs) == list(ours)[: len(theirs)]
    different = {name for name in theirs if ours[name].default != theirs[name].default}
    assert different == {"model", "method"}
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
    with pytest.warns(UserWarning, match=r"1 categories were not there .* 9 \(5x\)"):
        assert fitted.predict([graph]).tolist()[0] in ("ring", "chord")


def test_edge_attributes_are_read_only_when_asked():
    graphs = [ring(5, bool(n % 2)) for n in range(10)]
    for graph in graphs[:5]:
        graph.edge_attr = torch.zeros(graph.num_edges, dtype=torch.long)
    assert len(GraphClassifier(**SMALL).fit(graphs).predict(graphs)) == 10
    with pytest.raises(InputError, match="Graph 5 has no edge_attr, but others have it"):
        GraphClassifier(**SMALL, use_edge_attr=True).fit(graphs)
    model = GraphClassifier(**SMALL, use_edge_attr=True).fit(
        [graph for n in range(6) for graph in graphs[:5]]
    )
    with pytest.raises(InputError, match="no edge_attr"):
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
            ({"patience": 0}, "patience must be a number from 1; got 0"),
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
        ([GRAPHS[0], "graph"], None, "item 1 is a str"),
        ([], None, "Got no graphs: 0 sample"),
        (GRAPHS, NAMES[:-1], "Got 40 graphs but 39 classes in y"),
        (GRAPHS, ["a"] * 40, "y has 1 class: 'a'"),
        (GRAPHS, [*NAMES[1:], None], "The class of graph 39 is None"),
        (GRAPHS, [float("nan")] * 40, "y contains NaN"),
        (GRAPHS, np.linspace(0, 1, 40), "Unknown label type: continuous"),
        (GRAPHS, [[0]] * 20 + [[1]] * 20, "not hashable"),
        ([Data(x=torch.ones(1, 1))] * 3, None, "graph 0 has none of its own"),
        ([Data(x=torch.ones(1, 1), y=torch.ones(1, 2))] * 3, None, r"a y of shape \[1, 2\]"),
        ([Data(edge_index=torch.zeros(2, 1).long())] * 2, [0, 1], "no node features x"),
    ],
)
def test_what_cannot_be_fitted(graphs, y, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        GraphClassifier(**SMALL).fit(graphs, y)


def test_sample_weights_are_refused():
    with pytest.raises(InputTypeError, match="Sample weights are not supported"):
        GraphClassifier(**SMALL).fit(GRAPHS, NAMES, sample_weight=np.ones(40))


def test_a_wrong_parameter_is_told_in_fit():
    model = GraphClassifier(**SMALL, readout="summ")  # scikit-learn's rule: not before
    with pytest.raises(InputError, match=r"Unknown readout 'summ'\. Did you mean 'sum'"):
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
    with pytest.raises(InputError, match="encoded otherwise than those of fit"):
        model.predict(other)


def test_a_column_of_classes_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning):
        GraphClassifier(**SMALL).fit(GRAPHS, NAMES.reshape(-1, 1))


def test_tensors_as_classes():
    graphs = list(load("MUTAG"))[:20]
    fitted = GraphClassifier(epochs=1, random_state=0).fit(graphs, [graph.y for graph in graphs])
    assert fitted.classes_.tolist() == [0, 1]
