import pytest

from ifmixup import augment
from ifmixup.augment.registry import _METHODS
from ifmixup.errors import InputError


def test_the_methods_of_the_paper_are_found_without_a_list():
    assert augment.names() == [
        "attribute_masking",
        "drop_edge",
        "drop_node",
        "ifmixup",
        "mixup_graph",
        "none",
    ]


def test_options_reach_the_method():
    method = augment.create("ifmixup", 3, alpha=2.0, pairing="self")
    assert isinstance(method, augment.IfMixup)
    assert (method.num_classes, method.alpha, method.pairing) == (3, 2.0, "self")


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown method 'dropedge'. Did you mean 'drop_edge'"):
        augment.create("dropedge", 2)


def test_an_unknown_option_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"'drop_rate'. Did you mean 'drop_ratio'"):
        augment.create("drop_edge", 2, drop_rate=0.5)


def test_a_new_method_is_one_class(monkeypatch):
    monkeypatch.setattr("ifmixup.augment.registry._METHODS", dict(_METHODS))

    @augment.register("mine")
    class Mine(augment.Method):
        pass

    assert "mine" in augment.names()
    assert isinstance(augment.create("mine"), Mine)
