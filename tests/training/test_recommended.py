import json
from importlib.resources import files

import pytest

from ifmixup import augment
from ifmixup.components import MODELS, resolve, with_options
from ifmixup.training import known_data
from ifmixup.training import recommended as module
from ifmixup.training.packed import pack
from ifmixup.training.recommended import recommended
from ifmixup.training.settings import Settings
from own_classes import Net, Noise
from task_graphs import with_labels

FOUND = {
    "models": {"GCN": {"settings": {"batch_size": 8}, "options": {"num_layers": 4, "jk": "sum"}}},
    "kinds": {},
    "datasets": {
        "A name": {
            "data": "abc",
            "GCN": {
                "settings": {"learning_rate": 0.5},
                "options": {"num_layers": 3},
                "ratio": {"alpha": 2.0, "beta": 3.0},
            },
        }
    },
}


class Data:
    name, fingerprint, encoder, edge_dim = "anything", "abc", None, None


def given(model, method="none", data=Data):
    found = recommended(data, resolve("model", model), resolve("method", method))
    return found.settings, dict(found.model.spec.options), dict(found.method.spec.options)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(known_data, "known_settings", lambda: FOUND)
    monkeypatch.setattr(module, "known_settings", lambda: FOUND)


def test_a_dataset_is_known_by_its_graphs(known):
    settings, model, _ = given("gcn")
    assert settings == Settings(learning_rate=0.5, batch_size=8)
    assert (model["num_layers"], model["jk"]) == (3, "sum")

    class Other:
        name, fingerprint, encoder, edge_dim = "A name", "def", None, None

    settings, model, _ = given("gcn", data=Other)
    assert settings == Settings()
    assert model == dict(resolve("model", "gcn").spec.options)


def test_the_ratio_goes_to_methods_that_have_one(known):
    for method in ("ifmixup", "mixup_graph"):
        options = given("gcn", method)[2]
        assert (options["alpha"], options["beta"]) == (2.0, 3.0)
    for method in ("drop_edge", "manifold_mixup"):  # which draws from another distribution
        assert given("gcn", method)[2] == dict(resolve("method", method).spec.options)
    assert given("gcn", "drop_edge")[2] == dict(resolve("method", "drop_edge").spec.options)


def test_what_the_user_has_set_stays(known):
    _, model, method = given(
        with_options("gcn", num_layers=7), with_options("ifmixup", alpha=1.0, name="mine")
    )
    assert (model["num_layers"], model["jk"]) == (7, "sum")
    assert (method["alpha"], method["beta"]) == (1.0, 1.0)  # the two belong together


def test_a_model_of_ones_own_has_its_own_defaults(known):
    settings, model, method = given(Net, Noise)
    assert settings == Settings()
    assert (model, method) == ({"width": 8, "depth": 1}, {"std": 0.1})
    assert given("gin")[0] == Settings()  # nothing is known of it


def test_all_that_is_recommended_can_be_used(mutag):
    """Every entry of the file fits the models and methods that there are."""
    text = files("ifmixup.training").joinpath("recommended.json").read_text(encoding="utf-8")
    found = json.loads(text)
    assert set(found["models"]) <= {MODELS.get(name).__name__ for name in MODELS.names()}
    assert len({each["data"] for each in found["datasets"].values()}) == len(found["datasets"])
    assert found["datasets"]["MUTAG"]["data"] == mutag.fingerprint
    for dataset in found["datasets"].values():

        class Known:
            name, fingerprint, encoder, edge_dim = "x", dataset["data"], None, None

        for model in MODELS.names():
            for method in augment.names():
                given(model, method, Known)


def test_graphs_of_ones_own_take_the_defaults():
    data = pack(with_labels(10))
    for model in MODELS.names():
        assert given(model, "ifmixup", data)[0] == Settings()
