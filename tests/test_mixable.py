import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.mixable import check_features, mixable
from small_graphs import batch_of


def test_labels_become_rows_and_other_graph_attributes_go():
    batch = batch_of(2, 3)
    found = mixable(batch, num_classes=4)
    assert set(found.graphs) == {"y"}
    assert found.graphs["y"].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert batch.name == ["path 2", "path 3"]  # the input is not changed
    assert batch.y.tolist() == [2, 3]


def test_what_is_dropped_is_not_checked():
    batch = batch_of(2, 3)
    batch.number = torch.arange(5)
    with pytest.raises(InputError, match=r"'number' is torch.int64"):
        mixable(batch, num_classes=4)
    assert "number" not in mixable(batch, ["number"], 4).nodes
    assert "y" not in mixable(batch, ["number", "y"]).graphs


def test_repeated_edges_count_once():
    batch = batch_of(2)
    batch.edge_index, batch.edge_attr = torch.tensor([[0, 0], [1, 1]]), torch.tensor([2.0, 4.0])
    found = mixable(batch, num_classes=3)
    assert found.edge_index.tolist() == [[0], [1]]
    assert found.edges["edge_attr"].tolist() == [3.0]


def test_features_are_floats_in_rows():
    batch = batch_of(2)
    assert check_features(batch) is batch.x
    for wrong in (batch.x.long(), batch.x.view(-1), None):
        batch.x = wrong
        with pytest.raises(InputError, match="ode features x"):
            check_features(batch)


def test_what_is_mixed_cannot_be_dropped():
    with pytest.raises(InputError, match="x and edge_index cannot be dropped"):
        mixable(batch_of(2), ["x"])
