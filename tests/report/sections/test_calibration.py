import numpy as np
import pytest

from ifmixup.report.sections.calibration import calibration


def test_means_over_runs(studies, experiment):
    gcn = experiment("gcn")
    (grid,) = calibration(studies, gcn).grids
    labels = ["expected calibration error", "negative log-likelihood", "milliseconds an epoch"]
    assert [panel.x_label for panel in grid.panels] == labels * 2
    cell = studies.groups(gcn)["MUTAG", "holdout"]["none"]
    ece = [record.result.metrics["ece"] for record in cell.records]
    assert grid.panels[0].series[0].x == pytest.approx([np.mean(ece)])
    seconds = [record.result.seconds for record in cell.records]
    assert grid.panels[2].series[0].x == pytest.approx([1000 * np.mean(seconds) / 2])


def test_a_metric_that_is_not_there_is_left_out(studies, experiment):
    (grid,) = calibration(studies, experiment("compare-1-gcn")).grids
    assert [panel.x_label for panel in grid.panels] == [
        "negative log-likelihood",
        "milliseconds an epoch",
    ]


def test_a_figure_has_none(studies, experiment):
    assert calibration(studies, experiment("depth")) is None


def test_an_error_has_a_loss_of_its_own(error_studies):
    (grid,) = calibration(error_studies, error_studies.experiments[0]).grids
    assert [panel.x_label for panel in grid.panels] == ["squared error", "milliseconds an epoch"]
