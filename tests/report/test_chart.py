from ifmixup.report.chart import PALETTE, Grid, Panel, Series, colour_of


def test_a_method_has_its_colour_wherever_it_stands():
    assert colour_of("ifmixup", 0) == colour_of("ifmixup", 5) == PALETTE[1]
    assert colour_of("8 layers", 2) == PALETTE[2]
    assert colour_of("8 layers", 2 + len(PALETTE)) == PALETTE[2]


def test_a_legend_names_each_series_once():
    one, other = Series("a", "line", [1], [2], "#000000"), Series("b", "line", [1], [2], "#ffffff")
    grid = Grid("name", "title", [Panel("x", [one, other]), Panel("y", [one])])
    assert grid.legend() == {"a": "#000000", "b": "#ffffff"}
