import pytest

from ifmixup.errors import InputError
from ifmixup.paper.experiments import EXPERIMENTS, find
from ifmixup.training import Settings


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_entries_are_sound(experiment):
    names = [variant.name for variant in experiment.variants]
    assert len(set(names)) == len(names)
    assert experiment.baseline is None or experiment.baseline in names
    for variant in experiment.variants:
        base = Settings(model=variant.model, method=variant.method)
        settings = base.with_(**variant.changes)
        # what a variant is about makes a difference to its model and method
        assert set(variant.changes) <= set(settings.relevant())


def test_the_size_of_each_is_the_papers():
    sizes = {name: (len(e.datasets), len(e.variants)) for name, e in EXPERIMENTS.items()}
    assert sizes == {
        "gcn": (8, 6),
        "gat": (8, 3),
        "gin": (8, 6),
        "beta": (6, 10),
        "depth": (6, 9),
        "shuffling": (2, 5),
        "shuffling-depth": (2, 4),
        "pairing": (2, 4),
    }


def test_a_name_that_is_not_known_is_answered_with_the_nearest():
    assert find("gin").name == "gin"
    with pytest.raises(InputError, match=r"shufling.*shuffling"):
        find("shufling")
