import math

import pytest

from ifmixup.report.chart import Panel, Series
from ifmixup.report.plotly_chart import figure, label

pytest.importorskip("plotly")
RED = "#ff0000"


def test_bars_with_their_deviation():
    bars = Series("a", "bars", ["3 layers", "5 layers"], [50.0, 60.0], RED, [45, 60], [56, 60])
    made = figure(Panel("t", [bars], y_range=(40.0, 100.0)))
    (trace,) = made["data"]
    assert trace["type"] == "bar"
    assert trace["error_y"]["array"] == [6, 0]
    assert trace["error_y"]["arrayminus"] == [5, 0]
    assert made["layout"]["yaxis"]["range"] == [40, 100]
    assert "template" not in made["layout"]


def test_a_line_with_its_band_and_without_what_is_not_a_number():
    line = Series("a", "line", [1, 2], [0.5, math.nan], RED, [0.4, math.nan], [0.6, math.nan])
    band, drawn = figure(Panel("t", [line]))["data"]
    assert band["x"] == [1, 1]
    assert band["y"] == [0.6, 0.4]
    assert drawn["y"] == [0.5, None]


def test_rows_stand_from_the_top_down():
    mean = Series("a", "mean", [1.0], [0], RED, [0.5], [2.0], hollow=True)
    dots = Series("a", "dots", [1.0, 2.0], [0.1, 0.2], RED)
    steps = Series("b", "steps", [1.0, 2.0], [3, 4], RED)
    made = figure(Panel("t", [mean, dots, steps], rows=["<b>", "y"], zero=True))
    assert made["layout"]["yaxis"]["range"] == [1.5, -0.5]
    assert made["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;", "y"]
    assert made["data"][0]["marker"]["symbol"] == "diamond-open"
    assert made["data"][0]["error_x"]["arrayminus"] == [0.5]
    assert made["data"][2]["line"]["shape"] == "hvh"


def test_labels_hold_no_html():
    assert label("<a href='x'>") == "&lt;a href='x'&gt;"
