import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData

from ifmixup.data import EdgeAttrToNodes, load
from ifmixup.errors import InputError, InputTypeError


@pytest.fixture
def graph():
    # Node 0 is reached from 1 and 2, node 1 from 0, node 2 from nowhere.
    return Data(
        x=torch.tensor([[1.0], [2.0], [3.0]]),
        edge_index=torch.tensor([[1, 2, 0], [0, 0, 1]]),
        edge_attr=torch.tensor([[1.0, 0.0], [4.0, 2.0], [0.0, 5.0]]),
        y=torch.tensor([1]),
    )


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        ("sum", [[1.0, 5.0, 2.0], [2.0, 0.0, 5.0], [3.0, 0.0, 0.0]]),
        ("mean", [[1.0, 2.5, 1.0], [2.0, 0.0, 5.0], [3.0, 0.0, 0.0]]),
    ],
)
def test_what_arrives_is_appended(graph, reduce, expected):
    out = EdgeAttrToNodes(reduce)(graph)
    assert out.x.tolist() == expected
    assert "edge_attr" not in out
    assert torch.equal(out.edge_index, graph.edge_index)
    assert out.y.tolist() == [1]


def test_sum_is_the_default():
    assert repr(EdgeAttrToNodes()) == "EdgeAttrToNodes(reduce='sum')"


def test_the_input_is_not_changed(graph):
    before = graph.clone()
    EdgeAttrToNodes()(graph)
    assert set(graph.keys()) == set(before.keys())
    for key, value in before:
        assert torch.equal(graph[key], value)


def test_one_number_an_edge(graph):
    graph.edge_attr = torch.tensor([1.0, 4.0, 0.5])
    assert EdgeAttrToNodes()(graph).x.tolist() == [[1.0, 5.0], [2.0, 0.5], [3.0, 0.0]]


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_no_edges(reduce):
    graph = Data(
        x=torch.ones(2, 1),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        edge_attr=torch.empty(0, 2),
    )
    assert EdgeAttrToNodes(reduce)(graph).x.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_the_dtype_of_x_stays(graph):
    graph.x = graph.x.double()
    assert EdgeAttrToNodes()(graph).x.dtype == torch.float64


def test_a_batch_and_its_graphs(graph):
    other = Data(
        x=torch.zeros(2, 1),
        edge_index=torch.tensor([[0], [1]]),
        edge_attr=torch.tensor([[7.0, 8.0]]),
        y=torch.tensor([0]),
    )
    out = EdgeAttrToNodes()(Batch.from_data_list([graph, other]))
    assert out.x[3:].tolist() == [[0, 0, 0], [0, 7, 8]]
    for alone, apart in zip([graph, other], out.to_data_list(), strict=True):
        assert torch.equal(apart.x, EdgeAttrToNodes()(alone).x)
        assert "edge_attr" not in apart
    assert out[1].num_nodes == 2


def test_as_the_transform_of_a_dataset():
    mutag = load("MUTAG")
    mutag.transform = EdgeAttrToNodes()
    assert mutag.num_features == 11
    bonds = mutag[0].x[:, 7:].sum(dim=1)
    assert bonds.tolist() == torch.bincount(mutag[0].edge_index[1]).tolist()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("x", None, "needs floats x .*; got NoneType"),
        ("edge_attr", None, "needs floats edge_attr .*; got NoneType"),
        ("edge_attr", torch.tensor([0, 1, 2]), r"got int64 \[3\].* one-hot encode"),
        ("x", torch.tensor([[0], [1], [2]]), r"floats x .*; got int64 \[3, 1\]"),
        ("edge_attr", torch.ones(2, 2), "edge_attr has 2 rows, but edge_index has 3 edges"),
        ("edge_attr", torch.ones(3, 2, 2), r"edge_attr .*; got float32 \[3, 2, 2\]"),
        ("edge_index", None, "edge_attr has 3 rows, but edge_index has 0 edges"),
    ],
)
def test_what_cannot_be_used(graph, key, value, message):
    graph[key] = value
    with pytest.raises(InputError, match=message):
        EdgeAttrToNodes()(graph)


def test_a_wrong_reduce():
    with pytest.raises(InputError, match=r"Unknown reduce 'men'\. Did you mean 'mean'"):
        EdgeAttrToNodes("men")


def test_a_heterogeneous_graph():
    with pytest.raises(InputTypeError, match="not a HeteroData"):
        EdgeAttrToNodes()(HeteroData())
