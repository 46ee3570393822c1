from collections import Counter

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data import one_hot as module
from ifmixup.data.columns import Column
from ifmixup.data.one_hot import encode, learn, warn_about
from ifmixup.errors import InputError

EDGES = torch.tensor([[0, 1], [1, 0]])


def test_learning_names_the_columns():
    graphs = [Data(x=torch.tensor([[3, 1]]), num_nodes=1), Data(x=torch.tensor([[1, 1]]))]
    assert learn(graphs, "node", None) == (Column("x[0]", (1, 3)), Column("x[1]", (1,)))
    assert learn(graphs, "node", ["a", "b"]) == (Column("a", (1, 3)), Column("b", (1,)))
    assert learn(graphs, "edge", None) is None


def test_what_was_not_seen_is_counted():
    graph = Data(x=torch.tensor([[3], [5], [5]]), num_nodes=3)
    unseen = Counter()
    encode([graph], "node", (Column("a", (3,)),), unseen)
    assert graph.x.tolist() == [[1], [0], [0]]
    assert unseen == {("a", 5): 2}
    with pytest.warns(UserWarning, match=r"1 categories were not there .*: a 5 \(2x\)\. Predict"):
        warn_about(unseen)


def test_nothing_was_unseen():
    warn_about(Counter())  # a warning would be an error


@pytest.mark.parametrize("carried", [{}, {"edge_kinds": []}, {"edge_attr": torch.zeros(0, 1)}])
def test_graphs_without_edges_fit_any_columns_of_edges(carried):
    graph = Data(x=torch.ones(1, 1), edge_index=EDGES[:, :0], **carried)
    columns = (Column("kind", ("a", "b")), Column("order", ("1",)), Column("length"))
    encode([graph], "edge", columns, Counter())
    assert graph.edge_attr.shape == (0, 4)
    assert "edge_kinds" not in graph


def test_the_size_is_checked_before_it_is_made(monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    graph = Data(x=torch.tensor([[0], [1], [2]]))
    with pytest.raises(InputError, match="x would have 3 x 2 entries, more than the 5 allowed"):
        encode([graph], "node", (Column("a", (0, 1)),), Counter())
