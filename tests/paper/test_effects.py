from dataclasses import replace
from types import SimpleNamespace

import pytest

from ifmixup.paper.effects import effects
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.study.statistics import HELPS, HURTS, NO_DIFFERENCE

GCN = replace(EXPERIMENTS["gcn"], datasets=("A", "B"))


def cell(variant, dataset, scores, protocol="holdout", metric="accuracy"):
    by_fold = {(0, fold): value for fold, value in enumerate(scores)}
    reading = SimpleNamespace(scores=by_fold, metric=metric)
    return SimpleNamespace(
        experiment="gcn",
        variant=variant,
        dataset=dataset,
        protocol=protocol,
        reading=reading,
        test_ratio=1 / 9,
    )


NONE = [0.70, 0.72, 0.68, 0.71, 0.69]


def shifted(by):
    return [value + by + 0.001 * (place % 2) for place, value in enumerate(NONE)]


def test_what_a_variant_does_on_all_datasets():
    cells = [
        cell("none", "A", NONE),
        cell("none", "B", NONE),
        cell("ifmixup", "A", shifted(0.1)),
        cell("ifmixup", "B", shifted(-0.05)),
        cell("drop_edge", "B", [0.71, 0.71, 0.69, 0.70, 0.69]),
        cell("ifmixup", "A", NONE, "paper"),  # nothing to compare it with
    ]
    mixed, dropped = effects(GCN, cells)
    assert (mixed.variant, mixed.protocol) == ("ifmixup", "holdout")
    assert mixed.verdicts == {"A": HELPS, "B": HURTS}
    assert mixed.mean == pytest.approx(0.025 + 0.0004)
    assert (mixed.count(HELPS), mixed.count(HURTS)) == (1, 1)
    assert list(dropped.differences) == ["B"]
    assert dropped.count(NO_DIFFERENCE) == 1


def test_each_variant_has_its_own_baseline():
    depth = replace(EXPERIMENTS["depth"], datasets=("A",))
    cells = [
        cell(f"{method}, {layers} layers", "A", scores)
        for method, layers, scores in (
            ("none", 3, NONE),
            ("none", 5, shifted(0.1)),
            ("ifmixup", 3, shifted(0.05)),
            ("ifmixup", 5, shifted(0.05)),
        )
    ]
    for each in cells:
        each.experiment = "depth"
    found = {effect.variant: effect for effect in effects(depth, cells)}
    assert {name: effect.against for name, effect in found.items()} == {
        "ifmixup, 3 layers": "none, 3 layers",
        "ifmixup, 5 layers": "none, 5 layers",
    }
    assert found["ifmixup, 3 layers"].mean == pytest.approx(0.05 + 0.0004)
    assert found["ifmixup, 5 layers"].mean == pytest.approx(-0.05)


def test_without_a_baseline_there_are_none():
    assert effects(EXPERIMENTS["beta"], [cell("ifmixup", "A", NONE)]) == []
    assert effects(GCN, [cell("ifmixup", "A", NONE)]) == []


def test_of_an_error_less_helps():
    cells = [
        cell("none", "A", NONE, metric="mae"),
        cell("ifmixup", "A", shifted(-0.1), metric="mae"),
    ]
    (mixed,) = effects(GCN, cells)
    assert mixed.verdicts == {"A": HELPS}


def test_a_dataset_without_a_score_does_not_count_in_the_mean():
    cells = [
        cell("none", "A", NONE),
        cell("none", "B", NONE),
        cell("ifmixup", "A", shifted(0.1)),
        cell("ifmixup", "B", []),
    ]
    (mixed,) = effects(GCN, cells)
    assert mixed.mean == pytest.approx(0.1004)
