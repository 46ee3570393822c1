import pytest

from ifmixup.errors import InputError
from ifmixup.paper.experiments import EXPERIMENTS, find
from ifmixup.training import Settings


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_entries_are_sound(experiment):
    names = [variant.name for variant in experiment.variants]
    assert len(set(names)) == len(names)
    for variant in experiment.variants:
        assert variant.against is None or variant.against in names
        assert variant.against != variant.name
        base = Settings(model=variant.model, method=variant.method)
        settings = base.with_(**variant.changes)
        # what a variant is about makes a difference to its model and method
        assert set(variant.changes) <= set(settings.relevant())


def test_the_size_of_each_is_the_papers():
    sizes = {name: (len(e.datasets), len(e.variants)) for name, e in EXPERIMENTS.items()}
    assert sizes.pop("suspects") == (4, 36)  # ours
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


def test_suspects_differ_from_what_they_are_compared_with_in_the_method_alone():
    variants = {variant.name: variant for variant in find("suspects").variants}
    assert [v.method for v in variants.values() if v.against] == ["ifmixup"] * 20
    for variant in variants.values():
        if variant.against is not None:
            other = variants[variant.against]
            assert {"alpha", "beta"} <= variant.changes.keys()  # whatever is recommended
            shared = Settings(method=other.method).relevant().keys()
            changes = {name: v for name, v in variant.changes.items() if name in shared}
            assert (variant.model, changes) == (other.model, other.changes)


def test_figures_of_layers_compare_the_same_number_of_layers():
    for variant in find("depth").variants:
        if variant.method != "none":
            layers = variant.name.split(", ")[1]
            assert variant.against == f"none, {layers}"


def test_a_name_that_is_not_known_is_answered_with_the_nearest():
    assert find("gin").name == "gin"
    with pytest.raises(InputError, match=r"shufling.*shuffling"):
        find("shufling")
