import numpy as np
import pytest
from matplotlib.figure import Figure

from ifmixup.report.graph_panel import EDGE_COLOURS
from ifmixup.report.pair import Edge
from ifmixup.report.weight_numbers import draw_weights


@pytest.fixture
def axes():
    return Figure().add_axes((0, 0, 1, 1), xlim=(0, 200), ylim=(0, 200))


def test_a_number_stands_on_the_middle_of_its_edge_in_its_colour(axes):
    positions = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    draw_weights(axes, positions, [Edge(0, 1, 0.75, "A"), Edge(0, 2, 0.25, "B")], 8.0, 8.0)
    found = {text.get_text(): text for text in axes.texts}
    assert found["0.75"].get_position() == (50, 0)
    assert found["0.25"].get_position() == (0, 50)
    assert found["0.75"].get_color() == EDGE_COLOURS["A"]
    assert found["0.25"].get_color() == EDGE_COLOURS["B"]


def test_numbers_of_crossing_edges_make_way(axes):
    square = np.array([[0.0, 0.0], [100.0, 100.0], [100.0, 0.0], [0.0, 100.0]])
    draw_weights(axes, square, [Edge(0, 1, 0.75, "A"), Edge(2, 3, 0.25, "B")], 8.0, 8.0)
    first, second = (np.array(text.get_position()) for text in axes.texts)
    assert (np.abs(first - second) > 9).any()
    assert not np.allclose(first, 50)
    assert not np.allclose(second, 50)


def test_beside_a_short_edge(axes):
    positions = np.array([[0.0, 0.0], [40.0, 0.0]])
    draw_weights(axes, positions, [Edge(0, 1, 0.75, "A")], 10.0, 8.0)
    (text,) = axes.texts
    assert text.get_position()[0] == 20
    assert abs(text.get_position()[1]) > 4


def test_no_number_where_there_is_no_room(axes):
    positions = np.array([[0.0, 0.0], [24.0, 0.0], [12.0, 16.0], [12.0, -16.0]])
    draw_weights(axes, positions, [Edge(0, 1, 0.75, "A")], 11.0, 8.0)
    assert list(axes.texts) == []


def test_at_a_loop(axes):
    positions = np.array([[50.0, 50.0], [50.0, 0.0]])
    draw_weights(axes, positions, [Edge(0, 0, 1.0, "both"), Edge(0, 1, 0.5, "A")], 8.0, 8.0)
    found = {text.get_text(): text.get_position() for text in axes.texts}
    assert found["1"] == pytest.approx((50, 66))
    assert found["0.5"] == pytest.approx((50, 25))
