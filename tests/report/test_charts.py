import dataclasses
import math

import numpy as np
import pytest

from ifmixup.data import load
from ifmixup.data.catalog import VARIABLE
from ifmixup.report.charts import (
    calibration,
    figure_bars,
    graph_sizes,
    learning_curves,
    means,
    paired_dots,
)
from ifmixup.report.studies import Studies, gather
from ifmixup.training.packed import pack
from stored_runs import records_of, result, stored, study_of


def test_means_of_the_paper_and_ours(shown):
    gcn = shown("gcn")
    (panel,) = means(gcn).panels
    held = panel.series[1]
    rows = gcn.groups["MUTAG, holdout"]
    assert held.x == pytest.approx([100 * row.reading.mean for row in rows.values()])
    assert panel.series[0].hollow
    assert means(gcn).title.endswith("over folds for ours and over repeats for the published.")


def test_groups_of_bars(shown):
    depth = shown("depth")
    (grid,) = figure_bars(depth).grids
    assert [panel.title for panel in grid.panels] == ["MUTAG, holdout", "MUTAG, paper"]
    series = grid.panels[0].series
    assert [each.name for each in series] == ["none", "ifmixup", "mixup_graph"]
    assert all(list(each.x) == ["3 layers", "5 layers", "8 layers"] for each in series)
    row = depth.groups["MUTAG, holdout"]["ifmixup, 5 layers"]
    assert series[1].y[1] == pytest.approx(100 * row.reading.mean)
    assert figure_bars(shown("gcn")) is None


def test_if_a_bar_is_missing_the_others_stay_where_they_are(shown):
    depth = shown("depth")
    runs = [r for r in depth.comparison.runs if dict(r.spec.model.options)["num_layers"] != 3]
    runs += [r for r in depth.comparison.runs if r not in runs and r.spec.method.name != "none"]
    part = dataclasses.replace(depth, comparison=dataclasses.replace(depth.comparison, runs=runs))
    none, ifmixup, _ = figure_bars(part).grids[0].panels[0].series
    assert list(none.x) == list(ifmixup.x) == ["3 layers", "5 layers", "8 layers"]
    assert [math.isnan(value) for value in none.y] == [True, False, False]
    assert not any(map(math.isnan, ifmixup.y))


def test_a_dot_per_fold_and_the_difference_of_the_table(shown):
    gcn = shown("gcn")
    (grid,) = paired_dots(gcn).grids
    panel = grid.panels[0]
    assert len(panel.rows) == 6
    assert panel.x_label == "difference to none, points"
    dots, mean = panel.series[:2]
    rows = gcn.groups["MUTAG, holdout"]
    mine, base = rows["ifmixup"].reading.scores, rows["none"].reading.scores
    assert dots.x == pytest.approx([100 * (mine[fold] - base[fold]) for fold in sorted(mine)])
    assert mean.x == [100 * rows["ifmixup"].difference.mean]
    (several,) = paired_dots(shown("depth")).grids
    assert several.panels[0].x_label == "difference to its reference, points"


def test_nothing_compared_has_no_dots(tmp_path):
    study = study_of(methods=["none"], protocols=["last"])
    records = records_of(study, lambda spec, validated: result())
    (shown,) = gather([stored(tmp_path, study, records)]).shown
    assert paired_dots(shown) is None
    assert means(shown).title.endswith("lines are ± one standard deviation over folds.")


def test_an_error_is_in_its_own_units(error_studies):
    (own,) = error_studies.shown
    (panel,) = paired_dots(own).grids[0].panels
    dots, mean = panel.series
    assert dots.x == pytest.approx([-0.10, -0.09, -0.11, -0.10, -0.10])
    assert mean.x == pytest.approx([-0.10])
    assert panel.x_label == "difference to none, MAE (lower is better)"
    labels = [panel.y_label for panel in learning_curves(own).grids[0].panels]
    assert labels == ["training loss", "test MAE", "test loss"]
    labels = [panel.x_label for panel in calibration(own).grids[0].panels]
    assert "squared error" in labels


def test_the_mean_curve_and_its_band(shown):
    gcn = shown("gcn")
    (grid,) = learning_curves(gcn).grids
    labels = ["training loss", "test accuracy, %", "test loss"]
    assert [panel.y_label for panel in grid.panels] == labels * 2
    line = grid.panels[1].series[1]
    row = gcn.groups["MUTAG, holdout"]["ifmixup"]
    curves = np.array([each.curves["test_accuracy"] for each in row.chosen_results()])
    assert curves.shape == (2, 2)
    assert list(line.x) == [1, 2]
    assert line.y == pytest.approx(100 * curves.mean(0))
    assert line.high == pytest.approx(100 * (curves.mean(0) + curves.std(0)), abs=1e-5)
    assert learning_curves(shown("depth")) is None


def test_a_fold_without_the_metric_does_not_spoil_the_mean(tmp_path):
    study = study_of(methods=["none"], protocols=["paper"], metric="roc_auc", folds=3)

    def measure(spec, validated):
        value = math.nan if spec.fold == 0 else 0.5 + spec.fold / 10
        return result((value, value), metric="roc_auc")

    (shown,) = gather([stored(tmp_path, study, records_of(study, measure))]).shown
    (line,) = learning_curves(shown).grids[0].panels[1].series
    assert line.y == pytest.approx([65, 65])


def test_calibration_and_time(shown):
    gcn = shown("gcn")
    (grid,) = calibration(gcn).grids
    labels = ["expected calibration error", "log-loss", "milliseconds per epoch"]
    assert [panel.x_label for panel in grid.panels] == labels * 2
    row = gcn.groups["MUTAG, holdout"]["none"]
    ece = [record.result.metrics["ece"] for record in row.records]
    assert grid.panels[0].series[0].x == pytest.approx([np.mean(ece)])
    seconds = [record.result.seconds for record in row.records]
    assert grid.panels[2].series[0].x == pytest.approx([1000 * np.mean(seconds) / 2])
    assert calibration(shown("depth")) is None


@pytest.fixture
def only_mutag(monkeypatch, tmp_path):
    """A machine that has only the bundled dataset."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_every_graph_is_counted_before_and_after(studies, only_mutag):
    section = graph_sizes(studies)
    (grid,) = section.grids
    assert [panel.x_label for panel in grid.panels] == ["nodes", "edges"]
    for panel in grid.panels:
        assert [sum(series.y) for series in panel.series] == [188, 188]
    said = section.parts[-1]
    assert "NCI109" not in said  # nothing about datasets that were not asked for
    assert "<img" not in said


def test_other_graphs_of_the_same_name_are_not_counted(tmp_path):
    other = study_of(protocols=["last"])
    same = dataclasses.replace(
        other,
        trials=tuple(
            dataclasses.replace(trial, data=pack(load("MUTAG")).fingerprint, keys=())
            for trial in other.trials
        ),
    )
    for study, counted in ((other, False), (same, True)):
        folder = stored(tmp_path / str(counted), study, {})
        assert (graph_sizes(gather([folder])) is not None) == counted
    assert graph_sizes(Studies([])) is None
