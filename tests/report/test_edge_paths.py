import numpy as np
import pytest
from matplotlib.patches import ConnectionStyle

from ifmixup.report.edge_paths import CROWD, bends, loop_direction, path
from ifmixup.report.pair import Edge

LINE = np.array([[0.0, 0.0], [50.0, 0.0], [100.0, 0.0]])


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
