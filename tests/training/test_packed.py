import pytest
import torch
from torch_geometric.data import Batch, Data

from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.training import Packed, pack


def test_a_batch_is_what_pyg_collates(mutag):
    dataset = load("MUTAG")
    index = [5, 100, 5, 17]
    cut, expected = (
        mutag.batch(torch.tensor(index)),
        Batch.from_data_list([dataset[i] for i in index]),
    )
    for key in ("x", "edge_index", "edge_attr", "y", "batch", "ptr"):
        assert torch.equal(cut[key], expected[key])


def test_what_is_known_of_the_data(mutag):
    assert (len(mutag), mutag.name, mutag.num_features, mutag.num_classes) == (188, "MUTAG", 7, 2)
    assert mutag.edge_dim == 4
    assert mutag.without_edge_attr().edge_dim is None


def test_it_can_be_sent(mutag):
    again = Packed.of(mutag.to_dict())
    assert again.fingerprint == mutag.fingerprint
    assert torch.equal(again.batch(torch.tensor([3])).x, mutag.batch(torch.tensor([3])).x)


def graphs() -> list[Data]:
    return [
        Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([k]))
        for k in (0, 2)
    ]


def test_the_fingerprint_is_of_the_content():
    assert pack(graphs()).fingerprint == pack(graphs(), "a name").fingerprint
    other = graphs()
    other[1].y = torch.tensor([1])
    assert pack(other).fingerprint != pack(graphs()).fingerprint
    other = graphs()
    other[0].edge_index = torch.tensor([[1], [0]])
    assert pack(other).fingerprint != pack(graphs()).fingerprint
    assert pack(graphs()).num_classes == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "Graph 1 has no x"),
        ({"y": None}, "Graph 1 has no y"),
        ({"y": torch.tensor([0.5])}, "Graph 1 has no single class number"),
        ({"y": torch.tensor([1, 0])}, "Graph 1 has no single class number"),
        ({"y": torch.tensor([-1])}, "Class numbers start at 0; got -1"),
        ({"x": torch.ones(2, 1).long()}, "Graph 1 has features x of torch.int64.*One-hot"),
        (
            {"x": torch.ones(2, 3)},
            r"Graphs 0 and 1 differ: rows of x have the shapes \[1\] and \[3\]",
        ),
        ({"edge_attr": torch.ones(1, 2)}, "Graphs 0 and 1 differ: only one of them has edge_attr"),
    ],
)
def test_what_cannot_be_packed(change, message):
    data = graphs()
    for key, value in change.items():
        data[1][key] = value
    with pytest.raises(InputError, match=message):
        pack(data)


def test_two_graphs_at_least():
    with pytest.raises(InputError, match="at least two graphs is needed; got 1"):
        pack(graphs()[:1])


def test_types_are_those_of_training():
    data = graphs()
    data[0].x, data[0].y = data[0].x.double(), data[0].y.int()
    data[1].x = data[1].x.double()
    packed = pack(data)
    assert (packed.graphs.nodes["x"].dtype, packed.y.dtype) == (torch.float32, torch.int64)
