import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from ifmixup.report.edge_paths import CROWD
from ifmixup.report.graph_panel import EDGE_COLOURS, draw_edges, draw_nodes
from ifmixup.report.pair import Edge

POSITIONS = np.array([[10.0, 10.0], [90.0, 10.0], [50.0, 80.0], [90.0, 80.0]])


@pytest.fixture
def axes():
    return Figure().add_axes((0, 0, 1, 1), xlim=(0, 100), ylim=(0, 100))


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
    ]
    draw_edges(axes, POSITIONS, edges, 8.0, 4.0)
    drawn = {lines.get_label(): lines for lines in axes.collections}
    assert {label: list(lines.get_linewidths()) for label, lines in drawn.items()} == {
        "edges both": [4.0],
        "edges A": [3.0, 3.0],
        "edges B": [1.0],
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
