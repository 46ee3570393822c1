import pytest

from ifmixup.components import METHODS, MODELS, resolve
from ifmixup.errors import InputError
from ifmixup.paper.experiments import EXPERIMENTS, find
from ifmixup.training.settings import Settings, setting_types


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_entries_are_sound(experiment):
    names = [variant.name for variant in experiment.variants]
    assert len(set(names)) == len(names)
    for variant in experiment.variants:
        assert variant.against is None or variant.against in names
        assert variant.against != variant.name
        assert variant.model in MODELS.names()
        assert variant.method in METHODS.names()
        classes = resolve("model", variant.model), resolve("method", variant.method)
        for name in variant.changes:
            assert name in setting_types() or any(each.takes(name) for each in classes)


def test_the_size_of_each():
    sizes = {name: (len(e.datasets), len(e.variants)) for name, e in EXPERIMENTS.items()}
    assert sizes == {
        "gcn": (8, 7),
        "gat": (8, 3),
        "gin": (8, 7),
        "beta": (6, 10),
        "depth": (6, 9),
        "shuffling": (2, 5),
        "shuffling-depth": (2, 4),
        "pairing": (2, 4),
        "selection": (2, 3),
        "few-labels": (1, 24),
        "label-noise": (1, 18),
        "calibration": (1, 8),
    }


def test_shares_noises_and_calibration_have_their_runs_in_common():
    """What is trained on all labels, none of them wrong, is trained once."""
    changes = [
        [{**v.changes} for v in find(name).variants if v.name.endswith(end)]
        for name, end in (("few-labels", "100%"), ("label-noise", " 0% wrong"))
    ]
    for few, noisy in zip(*changes, strict=True):
        assert few.pop("train_share") == Settings().train_share
        assert noisy.pop("label_noise") == Settings().label_noise
        assert few == noisy == find("calibration").variants[0].changes


def test_figures_of_layers_compare_the_same_number_of_layers():
    for variant in find("depth").variants:
        if variant.method != "none":
            layers = variant.name.split(", ")[1]
            assert variant.against == f"none, {layers}"


def test_a_name_that_is_not_known_is_answered_with_the_nearest():
    assert find("gin").name == "gin"
    with pytest.raises(InputError, match=r"shufling.*shuffling"):
        find("shufling")
