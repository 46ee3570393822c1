import pytest

from ifmixup.augment import names as method_names
from ifmixup.report.chart import (
    PALETTE,
    Grid,
    Panel,
    Series,
    axis,
    colours,
    difference_axis,
    factor,
)

OF_THE_PAPER = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")


@pytest.mark.parametrize("names", [OF_THE_PAPER, OF_THE_PAPER[::-1], ("mine", *OF_THE_PAPER)])
def test_a_method_has_its_colour_in_every_study(names):
    found = colours(names)
    assert list(found) == list(names)
    assert [found[name] for name in OF_THE_PAPER] == list(PALETTE[:6])


def test_all_methods_have_different_colours_as_long_as_they_suffice():
    names = list(dict.fromkeys(["none", *method_names()]))[: len(PALETTE)]
    names += [f"own {i}" for i in range(len(PALETTE) - len(names))]
    assert sorted(colours(names).values()) == sorted(PALETTE)


def test_other_names_get_the_colours_that_are_left_in_their_order():
    layers = colours(["3 layers", "5 layers", "8 layers"])
    assert list(layers.values()) == list(PALETTE[:3])
    assert colours(["none", "wide", "ifmixup", "narrow"]) == {
        "none": PALETTE[0],
        "wide": PALETTE[2],
        "ifmixup": PALETTE[1],
        "narrow": PALETTE[3],
    }


def test_only_none_is_grey_where_there_is_none():
    found = colours(["none", *(f"own {i}" for i in range(20))])
    assert [name for name, colour in found.items() if colour == PALETTE[0]] == ["none"]
    assert list(found.values())[1:9] == [*PALETTE[1:], PALETTE[1]]


def test_a_legend_names_each_series_once():
    one, other = Series("a", "line", [1], [2], "#000000"), Series("b", "line", [1], [2], "#ffffff")
    grid = Grid("name", "title", [Panel("x", [one, other]), Panel("y", [one])])
    assert grid.legend() == {"a": "#000000", "b": "#ffffff"}


def test_fractions_are_in_per_cent_and_errors_in_their_own_units():
    assert {name: factor(name) for name in ("accuracy", "roc_auc", "mae", "mcc")} == {
        "accuracy": 100,
        "roc_auc": 100,
        "mae": 1,
        "mcc": 1,
    }
    assert [axis(metric) for metric in ("accuracy", "mae")] == ["accuracy, %", "MAE"]


def test_a_difference_says_in_what_and_which_way_is_better():
    assert difference_axis("accuracy", "none", True) == "difference to none, points"
    assert difference_axis("roc_auc", "none", True) == "difference to none, points of ROC-AUC"
    assert difference_axis("mae", "none", False) == "difference to none, MAE (lower is better)"
