import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import InputError
from ifmixup.prediction.check_graph import check_edges, shape_of

X = torch.ones(2, 1)
EDGES = torch.tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "graph",
    [
        Data(x=X),
        Data(x=X, edge_index=torch.empty(2, 0).long()),
        Data(x=X, edge_index=EDGES),
        Data(x=X, edge_index=EDGES.int(), edge_weight=torch.tensor([0.0, 1.0])),
    ],
)
def test_graphs_that_are_right(graph):
    check_edges(0, graph)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"x": torch.ones(0, 1)}, "Graph 7 has no nodes"),
        ({"edge_index": EDGES.float()}, r"edge_index of float32 \[2, 2\]; integers"),
        ({"edge_index": EDGES[0]}, r"edge_index of int64 \[2\]"),
        ({"edge_index": EDGES + 1}, "edges of nodes 1 to 2, but its nodes .* from 0 to 1"),
        ({"edge_index": -EDGES}, "edges of nodes -1 to 0"),
        ({"edge_weight": torch.ones(3)}, r"edge_weight of float32 \[3\]; .* its 2 edges"),
        ({"edge_weight": torch.ones(2).long()}, "edge_weight of int64"),
        ({"edge_weight": torch.tensor([1.0, -1.0])}, "negative or not finite"),
        ({"edge_weight": torch.tensor([1.0, torch.nan])}, "negative or not finite"),
    ],
)
def test_graphs_that_are_not(parts, message):
    with pytest.raises(InputError, match=message):
        check_edges(7, Data(**{"x": X, "edge_index": EDGES, **parts}))


def test_shape():
    assert shape_of(torch.ones(5, 3)) == "float32 [5, 3]"
