import pytest

from ifmixup.report.sections.figure_bars import figure_bars


def test_groups_of_bars(studies, experiment):
    depth = experiment("depth")
    (grid,) = figure_bars(studies, depth).grids
    assert [panel.title for panel in grid.panels] == ["MUTAG, holdout", "MUTAG, paper"]
    series = grid.panels[0].series
    assert [each.name for each in series] == ["none", "ifmixup", "mixup_graph"]
    assert all(list(each.x) == ["3 layers", "5 layers", "8 layers"] for each in series)
    cell = studies.groups(depth)["MUTAG", "holdout"]["ifmixup, 5 layers"]
    assert series[1].y[1] == pytest.approx(100 * cell.reading.mean)


def test_a_table_has_none(studies, experiment):
    assert figure_bars(studies, experiment("gcn")) is None
