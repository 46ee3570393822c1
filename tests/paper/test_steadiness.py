from types import SimpleNamespace

import pytest

from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.steadiness import jump, later_accuracy, steadiness_table


def cell(variant, *curves, protocol="paper"):
    results = [SimpleNamespace(curves={"test_accuracy": list(curve)}) for curve in curves]
    return SimpleNamespace(
        dataset="MUTAG", protocol=protocol, variant=variant, chosen_results=lambda: results
    )


def test_by_hand():
    one = cell("none", [0.0, 0.1, 0.5, 0.7], [1.0, 1.0, 0.9, 0.9])
    assert later_accuracy(one) == pytest.approx((0.6 + 0.9) / 2)
    assert jump(one) == pytest.approx((0.2 + 0.0) / 2)


def test_the_table_has_a_line_for_each_comparison():
    cells = [
        cell("none, no dropout", [0.0, 0.0, 0.6, 0.8]),
        cell("ifmixup, no dropout", [0.0, 0.0, 0.75, 0.75]),
        cell("ifmixup, mean readout", [0.5, 0.5]),  # nothing to compare it with
    ]
    (line,) = steadiness_table(EXPERIMENTS["suspects"], cells).splitlines()[2:]
    assert line == "| MUTAG | ifmixup, no dropout | paper | 70.0 | 75.0 | +5.0 | 20.0 | 0.0 |"
