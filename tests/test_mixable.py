import pytest
import torch

from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from ifmixup.mixable import check_features, check_mixable
from small_graphs import batch_of


def test_labels_become_rows_and_other_graph_attributes_go():
    batch = batch_of(2, 3)
    graphs = from_batch(batch)
    found = check_mixable(graphs, num_classes=4)
    assert set(found.graphs) == {"y"}
    assert found.graphs["y"].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert graphs.graphs["name"] == batch.name == ["path 2", "path 3"]  # the input is not changed
    assert graphs.graphs["y"].tolist() == batch.y.tolist() == [2, 3]


def test_what_is_dropped_is_not_checked():
    batch = batch_of(2, 3)
    batch.number = torch.arange(5)
    graphs = from_batch(batch)
    with pytest.raises(InputError, match=r"'number' is torch.int64"):
        check_mixable(graphs, num_classes=4)
    assert "number" not in check_mixable(graphs, ["number"], 4).nodes
    assert "y" not in check_mixable(graphs, ["number", "y"]).graphs
    assert "edge_attr" not in check_mixable(graphs, ["number", "edge_attr"], 4).edges
    assert set(graphs.nodes) == {"x", "number"}  # the input is not changed
    assert set(graphs.edges) == {"edge_index", "edge_attr"}
    assert set(graphs.graphs) == {"y", "name"}


def test_repeated_edges_count_once():
    batch = batch_of(2)
    batch.edge_index, batch.edge_attr = torch.tensor([[0, 0], [1, 1]]), torch.tensor([2.0, 4.0])
    graphs = from_batch(batch)
    found = check_mixable(graphs, num_classes=3)
    assert found.edge_index.tolist() == [[0], [1]]
    assert found.edges["edge_attr"].tolist() == [3.0]
    assert graphs.edge_index.tolist() == [[0, 0], [1, 1]]  # the input is not changed
    assert graphs.edges["edge_attr"].tolist() == [2.0, 4.0]


def test_edges_come_out_sorted():
    batch = batch_of(3)
    batch.edge_index = torch.tensor([[2, 0], [0, 1]])
    found = check_mixable(from_batch(batch), num_classes=4)
    assert found.edge_index.tolist() == [[0, 2], [1, 0]]
    assert found.edges["edge_attr"].tolist() == [11.0, 10.0]
    assert check_mixable(found).edge_index is found.edge_index  # what was found mixable stays so


def test_features_are_floats_in_rows():
    batch = batch_of(2)
    assert check_features(from_batch(batch)) is batch.x
    for wrong in (batch.x.long(), batch.x.view(-1), None):
        batch.x = wrong
        with pytest.raises(InputError, match="ode features x"):
            check_features(from_batch(batch))


def test_what_is_mixed_cannot_be_dropped():
    with pytest.raises(InputError, match="x and edge_index cannot be dropped"):
        check_mixable(from_batch(batch_of(2)), ["x"])
