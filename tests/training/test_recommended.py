import json
from pathlib import Path

import pytest

from ifmixup import augment
from ifmixup.data import NAMES
from ifmixup.nn import MODELS
from ifmixup.training import recommended as module
from ifmixup.training.recommended import recommended, varied
from ifmixup.training.settings import Settings


@pytest.mark.parametrize("dataset", [*NAMES, "my own"])
def test_there_are_settings_for_everything(dataset):
    for model in MODELS:
        for method in augment.names():
            settings = recommended(dataset, model, method)
            assert (settings.model, settings.method) == (model, method)


def test_methods_that_mix_take_what_was_found_for_ifmixup_and_others_for_none(monkeypatch):
    found = {
        "models": {"gcn": {"layers": 4, "hidden": 32}},
        "datasets": {"MUTAG": {"gcn": {"none": {"layers": 3}, "ifmixup": {"layers": 8}}}},
    }
    monkeypatch.setattr(module, "_found", lambda: found)
    assert recommended("MUTAG", "gcn", "none").layers == 3
    assert recommended("MUTAG", "gcn", "drop_edge").layers == 3
    assert recommended("MUTAG", "gcn", "ifmixup").layers == 8
    assert recommended("MUTAG", "gcn", "mixup_graph").layers == 8
    assert recommended("NCI1", "gcn", "ifmixup").layers == 4
    assert recommended("MUTAG", "gcn", "ifmixup").hidden == 32
    assert recommended("MUTAG", "gin", "none").layers == 5  # nothing is known: the default


def test_graphs_of_ones_own_take_the_defaults():
    for model in MODELS:
        assert recommended("my own", model, "none") == Settings(model=model)


def test_the_settings_that_are_recommended_by_name(monkeypatch):
    found = {
        "models": {"gcn": {"layers": 4}},
        "datasets": {"A": {"gin": {"none": {"hidden": 3}, "ifmixup": {"alpha": 8.0}}}},
    }
    monkeypatch.setattr(module, "_found", lambda: found)
    assert varied() == {"layers", "hidden", "alpha"}


SEARCHES = sorted((Path(__file__).parents[2] / "results" / "search").glob("*.json"))


@pytest.mark.skipif(not SEARCHES, reason="results/search comes with the repository only")
def test_what_a_search_found_is_what_is_recommended():
    for path in SEARCHES:
        for dataset, models in json.loads(path.read_text()).items():
            for model, methods in models.items():
                for method, found in methods.items():
                    settings = recommended(dataset, model, method).relevant()
                    assert settings.items() >= found["settings"].items()
