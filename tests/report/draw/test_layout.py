import networkx as nx
import numpy as np
import pytest

from ifmixup.report.draw.layout import clutter, fit, lay_out, segment_distances

RING = [(i, (i + 1) % 6) for i in range(6)]
SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


def smallest_distance(points):
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    return distance[np.triu_indices(len(points), 1)].min()


@pytest.mark.parametrize(
    ("n", "edges", "dummies"),
    [
        (6, RING, 0),
        (8, RING, 2),
        (130, RING, 124),
        (5, [(0, 1)], 0),
        (12, [*RING, (6, 7), (7, 8)], 1),
        (1, [], 0),
        (2, [(0, 0)], 1),
    ],
)
def test_all_nodes_are_in_the_box_and_apart(n, edges, dummies):
    points, unit = fit(n, edges, 200, 180, num_dummies=dummies)
    assert points.shape == (n, 2)
    assert (points > unit / 2 - 1e-6).all()
    assert (points < np.array([200, 180]) - unit / 2 + 1e-6).all()
    if n > 1:
        assert smallest_distance(points) > 0.9 * unit


def test_the_box_is_filled_in_one_direction():
    points, unit = fit(6, RING, 60, 180)
    assert np.ptp(points[:, 0]) == pytest.approx(60 - unit)
    assert points.mean(0) == pytest.approx([30, 90], abs=3)


def test_a_small_graph_is_not_blown_up():
    _, unit = fit(2, [(0, 1)], 1000, 1000)
    assert unit == 76


def test_dummy_nodes_are_a_grid_beside_the_graph():
    points, unit = fit(26, RING, 200, 180, num_dummies=20)
    dummies, ring = points[6:], points[:6]
    columns = np.unique(dummies[:, 0].round(6))
    rows = np.unique(dummies[:, 1].round(6))
    assert len(columns) * len(rows) in range(20, 20 + len(columns))
    assert np.diff(columns) == pytest.approx(np.full(len(columns) - 1, unit))
    assert np.diff(rows) == pytest.approx(np.full(len(rows) - 1, unit))
    # Read like text: to the right, then down.
    assert dummies[0] == pytest.approx([columns[0], rows[-1]])
    assert dummies[1, 0] == pytest.approx(dummies[0, 0] + unit)
    assert ring[:, 0].max() < dummies[:, 0].min() or ring[:, 1].min() > dummies[:, 1].max()


def test_few_dummy_nodes_go_into_a_free_corner():
    corner = [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (2, 6),
        (6, 7),
    ]  # a tree that leaves corners free
    _, alone = fit(8, corner, 200, 180)
    points, unit = fit(9, corner, 200, 180, num_dummies=1)
    assert unit == pytest.approx(alone)
    assert smallest_distance(points) > 0.9 * unit


def test_isolated_nodes_stay_with_their_graph():
    points, unit = fit(30, [(0, 1), (1, 2)], 200, 180, num_dummies=25)
    graph, dummies = points[:5], points[5:]
    to_graph = np.linalg.norm(graph[3:, None] - graph[None, :3], axis=2).min()
    assert to_graph < 2 * unit
    assert np.ptp(graph, axis=0).max() < 4 * unit
    assert len(dummies) == 25


def test_the_same_each_time():
    first, second = (fit(9, RING, 200, 180, num_dummies=3)[0] for _ in range(2))
    assert np.array_equal(first, second)


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


def test_distances_segment_distances():
    points = np.array([[1.0, 1.0], [-3.0, 4.0], [5.0, 0.0]])
    found = segment_distances(points, np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]]))
    assert found[:, 0].tolist() == [1.0, 5.0, 3.0]


def test_a_hexagon_is_drawn_as_one():
    points = lay_out(nx.cycle_graph(6))
    sides = np.linalg.norm(points - np.roll(points, 1, 0), axis=1)
    assert sides == pytest.approx(np.full(6, sides.mean()), rel=1e-2)
    assert np.linalg.norm(points - points[0], axis=1).max() == pytest.approx(
        2 * sides.mean(), rel=1e-2
    )


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
    assert smallest_distance(points) > 0.9
