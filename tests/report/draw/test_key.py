import pytest
import torch
from matplotlib.figure import Figure
from torch_geometric.data import Data

from ifmixup.report.draw.colours import distinguish
from ifmixup.report.draw.key import draw_edge_key, draw_node_key
from ifmixup.report.draw.pair import take_pair

BOX = (0.01, 0.01, 0.5, 0.1)


@pytest.fixture
def figure():
    return Figure(figsize=(12, 7))


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_few_features_are_named(figure):
    features = distinguish(torch.eye(3), ("C", "N", "O"))
    draw_node_key(figure, features, True, BOX)
    (legend,) = figure.legends
    assert texts(legend) == ["C", "N", "O", "dummy node"]
    assert figure.axes == []
    figure.draw_without_rendering()  # handles are made
    circles = [patch for patch in legend.get_patches() if patch.get_label() != ""]
    faces = [patch.get_facecolor()[:3] for patch in circles[:3]]
    assert faces == [tuple(colour) for colour in features.colours]


def test_no_dummy_nodes_no_key_for_them(figure):
    draw_node_key(figure, distinguish(torch.eye(2)), False, BOX)
    assert texts(figure.legends[0]) == ["feature 0", "feature 1"]


def test_many_features_are_on_a_colour_bar(figure):
    draw_node_key(figure, distinguish(torch.eye(30)[3:], "degree"), False, BOX)
    assert figure.legends == []
    (axes,) = figure.axes
    assert axes.get_xlabel() == "degree"
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["3", "7", "10", "14", "18", "22", "25", "29"]


def test_a_long_key_has_two_rows(figure):
    draw_node_key(figure, distinguish(torch.eye(8), "feature"), True, BOX)
    assert figure.legends[0]._ncols == 5
    draw_node_key(figure, distinguish(torch.eye(5), list("ABCDE")), True, BOX)
    assert figure.legends[1]._ncols == 6


def test_edges_by_weight(figure):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    a = Data(x=torch.eye(3), edge_index=edges)
    b = Data(x=torch.eye(3), edge_index=edges[:, :2])
    draw_edge_key(figure, take_pair(a, b, 0.75), 4.0, BOX)
    (legend,) = figure.legends
    assert texts(legend) == ["weight 1: in both (1 edge)", "weight 0.75: only in A (1 edge)"]
    assert [line.get_linewidth() for line in legend.get_lines()] == [4.0, 3.0]


def test_without_edges_there_is_no_key(figure):
    empty = Data(x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long))
    draw_edge_key(figure, take_pair(empty, empty, 0.5), 4.0, BOX)
    assert figure.legends == []
