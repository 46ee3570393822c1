from dataclasses import replace

import pytest

from ifmixup.report.sections.paired_dots import paired_dots
from ifmixup.study.statistics import paired_difference


def test_a_dot_a_fold_and_their_mean(studies, experiment):
    gcn = experiment("gcn")
    (grid,) = paired_dots(studies, gcn).grids
    panel = grid.panels[0]
    assert "none" not in panel.rows
    assert len(panel.rows) == 5
    dots, mean = panel.series[:2]
    cells = studies.groups(gcn)["MUTAG", "holdout"]
    mine, base = cells["ifmixup"].reading.scores, cells["none"].reading.scores
    assert dots.x == pytest.approx([100 * (mine[fold] - base[fold]) for fold in sorted(mine)])
    found = paired_difference(mine, base, cells["ifmixup"].test_ratio)
    assert mean.x == pytest.approx([100 * found.mean])


def test_without_a_baseline_there_are_none(studies, experiment):
    alone = replace(studies, cells=[c for c in studies.cells if c.variant.startswith("none")])
    assert paired_dots(alone, experiment("depth")) is None


def test_the_axis_says_what_the_variants_are_compared_with(studies, experiment):
    (one,) = paired_dots(studies, experiment("gcn")).grids
    assert one.panels[0].x_label == "points more than none"
    (several,) = paired_dots(studies, experiment("depth")).grids
    assert several.panels[0].x_label == "points more than what each is compared with"


def test_an_error_is_in_its_own_units(error_studies):
    (grid,) = paired_dots(error_studies, error_studies.experiments[0]).grids
    dots, mean = grid.panels[0].series
    assert dots.x == pytest.approx([-0.10, -0.09, -0.11, -0.10, -0.10])
    assert mean.x == pytest.approx([-0.10])
    assert grid.panels[0].x_label == "MAE more than none (less is better)"
