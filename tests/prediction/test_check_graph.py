import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import InputError
from ifmixup.prediction.check_graph import check_edges

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
    before = graph.clone()
    check_edges(0, graph)
    assert graph.to_dict().keys() == before.to_dict().keys()
    assert all(torch.equal(value, before[key]) for key, value in graph)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"x": torch.ones(0, 1)}, "Graph 7 has no nodes"),
        (
            {"edge_index": EDGES.float()},
            r"Graph 7: edge_index must be .* float32 \[2, 2\]",
        ),
        ({"edge_index": EDGES[0]}, r"got int64 \[2\]"),
        ({"edge_index": EDGES + 1}, "names nodes from 1 to 2, but .* numbered from 0 to 1"),
        ({"edge_index": -EDGES}, "names nodes from -1 to 0"),
        (
            {"edge_weight": torch.ones(3)},
            r"7: edge_weight must be .* \[2\], .* float32 \[3\]",
        ),
        ({"edge_weight": torch.ones(2).long()}, r"edge_weight must be floats .* got int64 \[2\]"),
        ({"edge_weight": torch.tensor([1.0, -1.0])}, "finite and not negative; edge 1 has -1"),
        ({"edge_weight": torch.tensor([1.0, torch.nan])}, "not negative; edge 1 has nan"),
    ],
)
def test_graphs_that_are_not(parts, message):
    with pytest.raises(InputError, match=message):
        check_edges(7, Data(**{"x": X, "edge_index": EDGES, **parts}))
