import pytest

from ifmixup.report.chart import Grid, Panel, Series
from ifmixup.report.matplotlib_chart import draw

pytest.importorskip("matplotlib")
RED = "#ff0000"


def test_every_kind_is_drawn():
    bars = Series("a", "bars", ["x", "y"], [1.0, 2.0], RED, [0.5, 1.5], [1.5, 3.0])
    line = Series("b", "line", [1, 2], [1.0, 2.0], RED, [0.5, 1.5], [1.5, 3.0])
    steps = Series("c", "steps", [1, 2], [1.0, 2.0], RED)
    mean = Series("d", "mean", [1.0], [0], RED, [0.5], [float("nan")], hollow=True)
    dots = Series("d", "dots", [1.0], [0.2], RED)
    panels = [
        Panel("bars", [bars], y_range=(0.0, 9.0)),
        Panel("line", [line]),
        Panel("steps", [steps]),
        Panel("rows", [mean, dots], rows=["$x_1"], zero=True),
    ]
    figure = draw(Grid("name", "title $", panels))
    one, two, three, four = figure.axes
    assert [bar.get_height() for bar in one.patches] == [1, 2]
    assert one.get_ylim() == (0, 9)
    assert len(two.lines) == 1
    assert len(three.lines) == 1
    assert [text.get_text() for text in four.get_yticklabels()] == [r"\$x_1"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c", "d"]
    figure.canvas.draw()
