import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, ConnectionStyle, FancyArrowPatch

from ifmixup.report.draw.colours import EDGE_COLOURS
from ifmixup.report.draw.pair import Edge
from ifmixup.report.draw.panel import (
    CROWD,
    bends,
    draw_edges,
    draw_nodes,
    draw_weights,
    loop_direction,
    path,
)

LINE = np.array([[0.0, 0.0], [50.0, 0.0], [100.0, 0.0]])
POSITIONS = np.array([[10.0, 10.0], [90.0, 10.0], [50.0, 80.0], [90.0, 80.0]])


@pytest.fixture
def axes():
    return Figure().add_axes((0, 0, 1, 1), xlim=(0, 200), ylim=(0, 200))


def labelled(artists, label):
    return [artist for artist in artists if artist.get_label() == label]


def test_nodes_and_dummy_nodes(axes):
    colours = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.4]])
    draw_nodes(axes, POSITIONS, colours, 8.0)
    nodes, dummies = labelled(axes.patches, "node"), labelled(axes.patches, "dummy")
    assert [patch.center for patch in nodes] == [(10, 10), (90, 10)]
    assert [patch.get_facecolor()[:3] for patch in nodes] == [(1, 1, 0), (0, 0, 0.4)]
    assert {patch.get_linestyle() for patch in nodes} == {"solid"}
    # A dashed double circle each.
    assert [patch.center for patch in dummies] == [(50, 80), (50, 80), (90, 80), (90, 80)]
    assert [patch.radius for patch in dummies] == pytest.approx([8, 5.92, 8, 5.92])
    assert all(patch.get_linestyle() != "solid" for patch in dummies)
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "3"]
    assert [text.get_color() for text in axes.texts[:2]] == ["black", "white"]


def test_edges_are_as_wide_as_their_weight(axes):
    edges = [
        Edge(0, 1, 1.0, "both"),
        Edge(1, 3, 0.75, "A"),
        Edge(0, 2, 0.25, "B"),
        Edge(2, 3, 0.75, "A"),
        Edge(0, 3, 0.5, "new"),
    ]
    draw_edges(axes, POSITIONS, edges, 8.0, 4.0)
    drawn = {lines.get_label(): lines for lines in axes.collections}
    assert {label: list(lines.get_linewidths()) for label, lines in drawn.items()} == {
        "edges both": [4.0],
        "edges A": [3.0, 3.0],
        "edges B": [1.0],
        "edges new": [2.0],
    }
    for origin, colour in EDGE_COLOURS.items():
        assert tuple(drawn[f"edges {origin}"].get_colors()[0]) == (*to_rgb(colour), 1)
    ends = drawn["edges B"].get_segments()[0][[0, -1]]
    assert ends == pytest.approx(POSITIONS[[0, 2]])


def test_arrows_and_loops(axes):
    edges = [Edge(0, 1, 0.5, "A", directed=True), Edge(2, 2, 0.25, "B")]
    draw_edges(axes, POSITIONS, edges, 8.0, 4.0)
    assert sum(len(lines.get_segments()) for lines in axes.collections) == 0
    (arrow,), (loop,) = labelled(axes.patches, "arrow A"), labelled(axes.patches, "loop B")
    assert isinstance(arrow, FancyArrowPatch)
    assert arrow.get_linewidth() == 2.0
    assert (arrow.shrinkA, arrow.shrinkB) == (8, 8)
    assert isinstance(loop, Circle)
    assert loop.get_linewidth() == 1.0
    assert loop.center == pytest.approx((50, 80 + 9.6))


def test_a_crowd_is_translucent_and_the_rarest_on_top(axes):
    edges = [Edge(0, 1, 0.5, "A")] * CROWD + [Edge(0, 2, 1.0, "both")]
    draw_edges(axes, POSITIONS, edges, 8.0, 1.0)
    assert {lines.get_alpha() for lines in axes.collections} == {0.6}
    assert [lines.get_label() for lines in axes.collections][:2] == ["edges A", "edges both"]


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


def test_a_straight_path():
    found = path(LINE[0], LINE[2], 0.0)
    assert found.shape == (17, 2)
    assert found[:, 0] == pytest.approx(np.linspace(0, 100, 17))
    assert (found[:, 1] == 0).all()


def test_a_bent_path_is_that_of_matplotlib():
    start, end = np.array([3.0, 4.0]), np.array([20.0, -5.0])
    theirs = ConnectionStyle("arc3", rad=0.3)(tuple(start), tuple(end), shrinkA=0, shrinkB=0)
    curve = theirs.vertices  # the two ends and the control point of a quadratic curve
    t = np.linspace(0, 1, 17)[:, None]
    expected = (1 - t) ** 2 * curve[0] + 2 * t * (1 - t) * curve[1] + t**2 * curve[2]
    assert path(start, end, 0.3) == pytest.approx(expected)


def test_an_edge_goes_around_a_node_that_is_not_its_own():
    found = bends(LINE, [Edge(0, 1, 1.0, "A"), Edge(0, 2, 1.0, "A")], 8.0)
    assert found[0] == 0.0
    assert found[1] != 0.0
    middle = path(LINE[0], LINE[2], found[1])
    assert np.linalg.norm(middle - LINE[1], axis=1).min() > 8.0


def test_there_and_back_are_two_curves():
    there, back = Edge(0, 1, 1.0, "A", directed=True), Edge(1, 0, 0.5, "B", directed=True)
    found = bends(LINE, [there, back], 8.0)
    assert found[0] == found[1] > 0
    # To the right of either direction, so on different sides.
    assert path(LINE[0], LINE[1], found[0])[8, 1] < 0 < path(LINE[1], LINE[0], found[1])[8, 1]


def test_loops_and_crowds_are_not_bent():
    assert bends(LINE, [Edge(1, 1, 1.0, "A")], 8.0) == [0.0]
    assert set(bends(LINE, [Edge(0, 2, 1.0, "A")] * (CROWD + 1), 8.0)) == {0.0}


def test_a_loop_points_away_from_the_neighbours():
    edges = [Edge(0, 0, 1.0, "A"), Edge(0, 1, 1.0, "A"), Edge(1, 2, 1.0, "A")]
    assert loop_direction(0, LINE, edges) == pytest.approx([-1, 0])
    assert loop_direction(0, LINE, edges[:1]) == pytest.approx([0, 1])
