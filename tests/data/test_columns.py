import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data.columns import Column, column_numbers, column_texts, count
from ifmixup.errors import InputError

EDGE = torch.tensor([[0], [1]])


def test_a_column_and_what_it_becomes():
    assert (Column("f").width, Column("f").feature_names) == (1, ["f"])
    kinds = Column("element", ("C", "N"))
    assert (kinds.width, kinds.feature_names) == (2, ["element=C", "element=N"])


def test_numbers_of_all_graphs_end_to_end():
    a = Data(x=torch.tensor([1, 2]), edge_index=EDGE)
    b = Data(x=torch.tensor([[3]]), edge_index=EDGE[:, :0])
    assert column_numbers([a, b], "node").tolist() == [[1], [2], [3]]
    assert column_numbers([a, b], "edge") is None
    assert (count(a, "node"), count(a, "edge"), count(b, "edge")) == (2, 1, 0)


def test_true_and_false_are_numbers():
    assert column_numbers([Data(x=torch.tensor([[True], [False]]))], "node").tolist() == [[1], [0]]


def test_a_graph_without_edges_needs_no_edge_attr():
    a = Data(edge_index=EDGE, edge_attr=torch.tensor([5]), num_nodes=2)
    b = Data(edge_index=EDGE[:, :0], num_nodes=1)
    assert column_numbers([a, b], "edge").tolist() == [[5]]


def test_texts_column_by_column():
    a = Data(node_kinds=[("C", "1"), ("N", "0")], num_nodes=2)
    b = Data(node_kinds=[("O", "0")], num_nodes=1)
    assert column_texts([a, b], "node") == [["C", "N", "O"], ["1", "0", "0"]]
    assert column_texts([Data(num_nodes=1)], "node") is None


X = torch.ones(2, 2)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([Data(x=X), Data(num_nodes=1)], "Graph 1 has no x, but others have it"),
        ([Data(x=X), Data(x=X[:, :1])], "Graphs 0 and 1 differ: x has 2 columns and 1"),
        ([Data(x=X), Data(x=X.long())], "differ: x is torch.float32 and torch.int64"),
        ([Data(x=X[None], num_nodes=1)], r"Graph 0 has x of shape \(1, 2, 2\)"),
        ([Data(x=[1, 2], num_nodes=2)], "Graph 0 has x of shape list"),
        ([Data(x=X, num_nodes=3)], "Graph 0 has 2 rows of x, but 3 nodes"),
    ],
)
def test_numbers_that_do_not_fit(graphs, message):
    with pytest.raises(InputError, match=message):
        column_numbers(graphs, "node")


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([Data(node_kinds=[("C",)], num_nodes=1), Data(num_nodes=1)], "Graph 1 has no node_kinds"),
        ([Data(node_kinds=[("C",)], num_nodes=2)], "Graph 0 has 1 rows of node_kinds, but 2 nodes"),
        ([Data(node_kinds=[("C",), ("C", "N")], num_nodes=2)], r"different lengths: \[1, 2\]"),
    ],
)
def test_texts_that_do_not_fit(graphs, message):
    with pytest.raises(InputError, match=message):
        column_texts(graphs, "node")
