import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data.attributes import carried
from ifmixup.data.columns import Column
from ifmixup.errors import DatasetError


def put(rows, **options):
    graphs = [Data(num_nodes=len(one)) for one in rows]
    names = carried(graphs, rows, "node", "here", **options)
    return names, graphs


def test_categories_first_then_numbers():
    row = {"mass": 1.5, "element": "C", "charge": -1, "ring": True}
    names, (graph,) = put([[row, {"mass": 2, "element": "N", "charge": 0, "ring": False}]])
    assert names == ["charge", "element", "ring", "mass"]
    assert graph.node_kinds == [("-1", "C", "1"), ("0", "N", "0")]
    assert graph.x.tolist() == [[1.5], [2.0]]
    assert graph.x.dtype == torch.float32


def test_a_category_that_is_missing_is_one():
    _, (a, b) = put([[{"k": "x"}, {"k": None}], [{}]])
    assert (a.node_kinds, b.node_kinds) == ([("x",), ("",)], [("",)])


def test_lists_are_columns():
    names, (graph,) = put([[{"p": [0.5, 1]}, {"p": np.array([2.0, 3.0])}, {"p": (4, 5.5)}]])
    assert names == ["p[0]", "p[1]"]
    assert graph.x.tolist() == [[0.5, 1], [2, 3], [4, 5.5]]
    names, (graph,) = put([[{"p": torch.tensor([0.5]), "q": np.float32(2)}]])
    assert names == ["p[0]", "q"]
    assert graph.x.tolist() == [[0.5, 2.0]]


def test_nothing_is_nothing():
    names, (graph,) = put([[{}, {}]])
    assert names == []
    assert set(graph.keys()) == {"num_nodes"}


def test_some_of_them():
    rows = [[{"a": 1, "b": 0.5, "c": {}}]]
    assert put(rows, wanted=["b"])[0] == ["b"]
    with pytest.raises(DatasetError, match=r"no node has an attribute 'z'. There are: a, b"):
        put([[{"a": 1, "b": 0.5}]], wanted=["z"])


def test_as_an_encoder_expects():
    expected = [Column("element", ("C",)), Column("p[1]")]
    names, (graph,) = put([[{"p": [1.0, 2.0], "element": 7, "other": {}}]], columns=expected)
    assert names == ["element", "p[1]"]
    assert graph.node_kinds == [("7",)]
    assert graph.x.tolist() == [[2.0]]
    with pytest.raises(DatasetError, match=r"no node has an attribute 'element'. There are: p"):
        put([[{"p": [1.0, 2.0]}]], columns=expected)
    with pytest.raises(DatasetError, match="There are: none"):
        put([[{}]], columns=expected)


def test_edges():
    graphs = [Data(num_nodes=2), Data(num_nodes=1)]
    assert carried(graphs, [[{"w": 0.5}], []], "edge", "here") == ["w"]
    assert graphs[0].edge_attr.tolist() == [[0.5]]
    assert graphs[1].edge_attr.shape == (0, 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[{"a": 0.5}], [{}]], "here, graph 1: the attribute 'a' of a node is missing, but others"),
        ([[{"p": [0.5, 1.0]}, {"p": [0.5]}]], r"graph 0: the attribute 'p\[1\]' of a node is miss"),
        ([[{"a": {"b": 1}}]], "graph 0: the attribute 'a' is a dict; numbers, texts and lists"),
        ([[{"a": [[1, 2]]}]], r"'a\[0\]' is a list; numbers"),
        ([[{"a": 10**400}, {"a": 0.5}]], "graph 0: 'a' is too large a number"),
        ([[{f"a{i}": 1 for i in range(10_001)}]], "10001 different attributes, more than the 1000"),
    ],
)
def test_attributes_that_cannot_be_used(rows, message):
    with pytest.raises(DatasetError, match=message):
        put(rows)


def test_a_text_where_training_had_a_number():
    with pytest.raises(DatasetError, match="'a' of a node is 'x', but others have numbers"):
        put([[{"a": "x"}]], columns=[Column("a")])
