import networkx as nx
import numpy as np
import pytest

from ifmixup.report.component_layout import clutter, lay_out, to_segments

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(len(points), 1)]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([[0, 1], [1, 2], [2, 3], [3, 0]], 0),  # the sides
        ([[0, 2], [1, 3]], 1),  # the diagonals cross
        ([[0, 2], [0, 1]], 0),  # edges that share a node do not
        ([[0, 1], [3, 2]], 0),  # nor do parallel ones
    ],
)
def test_crossings(ends, expected):
    assert clutter(SQUARE, np.array(ends)) == expected


def test_an_edge_over_a_node_counts_twice():
    line = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [1.0, 1.0]])
    assert clutter(line, np.array([[0, 2]])) == 2
    assert clutter(line, np.array([[0, 1], [1, 2]])) == 0


def test_distances_to_segments():
    points = np.array([[1.0, 1.0], [-3.0, 4.0], [5.0, 0.0]])
    found = to_segments(points, np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]]))
    assert found[:, 0].tolist() == [1.0, 5.0, 3.0]


def test_a_hexagon_is_drawn_as_one():
    points = lay_out(nx.cycle_graph(6))
    sides = np.linalg.norm(points - np.roll(points, 1, 0), axis=1)
    assert sides == pytest.approx(np.full(6, sides.mean()), rel=1e-2)
    assert distances(points).max() == pytest.approx(2 * sides.mean(), rel=1e-2)


def test_a_planar_graph_is_untangled_and_the_same_each_time():
    graph = nx.ladder_graph(6)
    points = lay_out(graph)
    assert clutter(points, np.array(graph.edges)) == 0
    assert np.array_equal(points, lay_out(graph))


@pytest.mark.parametrize(
    "graph", [nx.complete_graph(20), nx.star_graph(100)], ids=["dense", "large"]
)
def test_nodes_keep_their_distance(graph):
    points = lay_out(graph)
    assert points.shape == (len(graph), 2)
    assert distances(points).min() > 0.9
