from ifmixup.report.chart import Grid
from ifmixup.report.markup import Html
from ifmixup.report.section import Section


def test_the_charts_of_a_section():
    grid = Grid("g", "", [])
    assert Section("s", "S", [Html("<p></p>"), grid, grid]).grids == [grid, grid]
