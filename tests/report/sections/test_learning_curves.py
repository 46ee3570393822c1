import dataclasses
import math

import numpy as np
import pytest

from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.report.sections.learning_curves import learning_curves


def test_the_mean_and_its_band(studies, experiment):
    gcn = experiment("gcn")
    (grid,) = learning_curves(studies, gcn).grids
    assert [panel.y_label for panel in grid.panels] == ["training loss", "test accuracy, %"] * 2
    line = grid.panels[1].series[1]
    cell = studies.groups(gcn)["MUTAG", "holdout"]["ifmixup"]
    curves = np.array([result.curves["test_accuracy"] for result in cell.chosen_results()])
    assert curves.shape == (2, 2)
    assert list(line.x) == [1, 2]
    assert line.y == pytest.approx(100 * curves.mean(0))
    assert line.high == pytest.approx(100 * (curves.mean(0) + curves.std(0)), abs=1e-5)


def test_comparisons_have_a_panel_each(studies, experiment):
    gcn = experiment("gcn")
    names = {"none": "none, no dropout", "ifmixup": "ifmixup, no dropout"}
    cells = [
        dataclasses.replace(cell, experiment="suspects", variant=names[cell.variant])
        for cell in studies.of(gcn)
        if cell.variant in names and cell.protocol == "paper"
    ]
    suspects = EXPERIMENTS["suspects"]
    found = dataclasses.replace(studies, experiments=[suspects], cells=cells)
    (grid,) = learning_curves(found, suspects).grids
    (panel,) = grid.panels
    assert panel.title == "MUTAG, paper: no dropout"
    assert [line.name for line in panel.series] == ["none", "ifmixup"]
    assert panel.series[0].colour != panel.series[1].colour


def test_a_figure_has_none(studies, experiment):
    assert learning_curves(studies, experiment("depth")) is None


def test_the_curve_of_an_error(error_studies):
    (grid,) = learning_curves(error_studies, error_studies.experiments[0]).grids
    assert [panel.y_label for panel in grid.panels] == ["training loss", "test MAE"]
    assert list(grid.panels[1].series[0].y) == pytest.approx([1.0, 0.52])


def test_a_fold_without_the_metric_does_not_spoil_the_mean(error_studies):
    own = error_studies.experiments[0]
    cell = error_studies.of(own)[0]
    lost, *kept = cell.records
    curves = {**lost.result.curves, "test_mae": [math.nan, math.nan]}
    lost = dataclasses.replace(lost, result=dataclasses.replace(lost.result, curves=curves))
    found = dataclasses.replace(
        error_studies, cells=[dataclasses.replace(cell, records=[lost, *kept])]
    )
    (grid,) = learning_curves(found, own).grids
    values = [record.result.curves["test_mae"][1] for record in kept]
    assert grid.panels[1].series[0].y[1] == pytest.approx(np.mean(values))
