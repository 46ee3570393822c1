from types import SimpleNamespace

import pytest

from ifmixup.paper.grid_effects import grid_effects, to_markdown
from ifmixup.training import Settings


def run(accuracy, *, method="none", **changes):
    # the first half of the epochs does not count, and validation and test count alike
    curves = {
        "validation_accuracy": [0.0, 0.0, accuracy - 0.1, accuracy - 0.1],
        "test_accuracy": [1.0, 1.0, accuracy + 0.1, accuracy + 0.1],
    }
    settings = Settings(method=method, **changes)
    return SimpleNamespace(settings=settings), SimpleNamespace(curves=curves)


RUNS = [
    run(0.6, layers=3),
    run(0.7, layers=5),
    run(0.65, layers=3, method="ifmixup"),
    run(0.6, layers=5, method="ifmixup"),
    run(0.9, layers=8),  # without a partner
    run(0.9, layers=5, method="ifmixup", alpha=1.0),  # nor this
    run(0.9, layers=5, method="drop_edge"),
]


def test_means_by_hand():
    found = {(each.factor, each.value): each for each in grid_effects(RUNS)}
    whole = found["", None]
    assert (whole.without, whole.with_) == pytest.approx((0.65, 0.625))
    assert (whole.better, whole.settings) == (1, 2)
    deep = found["layers", 5]
    assert (deep.without, deep.with_, deep.better) == pytest.approx((0.7, 0.6, 0))
    assert ("layers", 8) not in found


def test_several_folds_of_a_setting_are_one_setting():
    found = grid_effects([*RUNS[:4], run(0.8, layers=3), run(0.8, layers=3, method="ifmixup")])
    assert found[0].settings == 2
    assert found[0].without == pytest.approx(0.7)


def test_as_a_table():
    lines = to_markdown("MUTAG", grid_effects(RUNS)).splitlines()
    assert lines[4] == "| GCN | all | 65.0 | 62.5 | −2.5 | 1 of 2 |"
    assert "| GCN | layers 5 | 70.0 | 60.0 | −10.0 | 0 of 1 |" in lines
