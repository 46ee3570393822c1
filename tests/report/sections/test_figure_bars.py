import dataclasses
import math

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


def test_where_a_bar_is_missing_the_others_keep_their_place(studies, experiment):
    depth = experiment("depth")
    cells = [cell for cell in studies.cells if cell.variant != "none, 3 layers"]
    (grid,) = figure_bars(dataclasses.replace(studies, cells=cells), depth).grids
    none, ifmixup, _ = grid.panels[0].series
    assert set(none.x) == set(ifmixup.x) == {"3 layers", "5 layers", "8 layers"}
    assert list(none.x) == list(ifmixup.x)
    at = list(none.x).index("3 layers")
    assert [math.isnan(value) for value in none.y] == [place == at for place in range(3)]
    assert not any(map(math.isnan, ifmixup.y))


def test_a_table_has_none(studies, experiment):
    assert figure_bars(studies, experiment("gcn")) is None
