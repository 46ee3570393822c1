import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.datasets import FakeDataset

from ifmixup.data import from_pyg, load
from ifmixup.data import pyg as module
from ifmixup.data.encoder import Column
from ifmixup.data.pyg import as_graphs, list_name
from ifmixup.errors import DatasetError, IfmixupError, InputError, InputTypeError

EDGES = torch.tensor([[0, 1], [1, 0]])


def graph(y=None, **more):
    more = {"x": torch.tensor([[1], [2]]), **more}
    more = {"edge_index": EDGES, **more}
    return Data(**more) if y is None else Data(y=y, **more)


def test_a_dataset_object():
    fake = FakeDataset(num_graphs=6, avg_num_nodes=5, num_channels=3, edge_dim=2, task="graph")
    dataset = load(fake)
    assert dataset.name == "FakeDataset"
    assert dataset.task == "classes"
    for one, other in zip(dataset, fake, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.edge_attr, other.edge_attr)
        assert dataset.class_names[int(one.y)] == str(int(other.y))


def test_the_transform_of_a_dataset_is_applied():
    class Own(InMemoryDataset):
        def __init__(self):
            super().__init__(transform=lambda data: Data(**{**data.to_dict(), "x": data.x * 2}))
            self.data, self.slices = self.collate([graph(torch.tensor([0]))] * 2)
            self.name = "mine"

    dataset = from_pyg(Own())
    assert dataset.name == "mine"
    assert dataset.encoder.nodes == (Column("x[0]", (2, 4)),)


def test_integers_become_one_hot():
    attributes = torch.tensor([3, 3])
    dataset = from_pyg([graph(torch.tensor(i), edge_attr=attributes) for i in (0, 1)])
    assert dataset[0].x.tolist() == [[1, 0], [0, 1]]
    assert dataset[0].edge_attr.tolist() == [[1], [1]]


def test_without_x_the_degree():
    star = Data(edge_index=torch.tensor([[0, 0, 0], [1, 2, 3]]), num_nodes=5, y=torch.tensor([0]))
    dataset = from_pyg([star, Data(edge_index=EDGES, num_nodes=2, y=torch.tensor([1]))])
    assert dataset.encoder.nodes == (Column("(degree)", (0, 1, 2, 3)),)
    assert dataset[0].x.argmax(1).tolist() == [3, 0, 0, 0, 0]
    assert dataset[1].x.argmax(1).tolist() == [1, 1]


NAN = float("nan")


@pytest.mark.parametrize(
    ("ys", "task", "names", "expected"),
    [
        ([torch.tensor([5]), torch.tensor(-1)], "classes", ["-1", "5"], [1, 0]),
        ([True, False], "classes", ["0", "1"], [1, 0]),
        ([torch.tensor([[1.0]]), torch.tensor([[NAN]])], "labels", ["y"], [[1], [-1]]),
        ([torch.tensor([[1, 0]]), torch.tensor([[1, 1]])], "labels", ["y[0]", "y[1]"], None),
        ([0.5, 1.0], "values", ["y"], [[0.5], [1]]),
        ([torch.tensor([2, 3]), torch.tensor([1, 0])], "values", ["y[0]", "y[1]"], None),
    ],
)
def test_what_y_looks_like(ys, task, names, expected):
    dataset = from_pyg([graph(y) for y in ys])
    assert (dataset.task, dataset.class_names) == (task, names)
    if expected is not None:
        assert dataset.y.nan_to_num(-1).tolist() == expected


def test_the_user_knows_better():
    graphs = [graph(1.0, target=torch.tensor([i]), key=f"g{i}") for i in (0, 1)]
    dataset = from_pyg(graphs, task="classes", name="own")
    assert (dataset.task, dataset.name, dataset.class_names) == ("classes", "own", ["1"])
    assert from_pyg(graphs, label="target").y.tolist() == [0, 1]
    assert from_pyg(graphs, identifier="key").ids == ["g0", "g1"]
    assert from_pyg(graphs, identifier="target").ids == ["0", "1"]
    with pytest.raises(DatasetError, match="no attribute 'x' that is one"):
        from_pyg(graphs, identifier="x")


def test_weights_are_kept_and_the_rest_goes():
    weight = torch.tensor([0.5, 0.5])
    dataset = from_pyg([graph(0, edge_weight=weight, pos=torch.ones(2, 3))] * 2)
    assert set(dataset[0].keys()) == {"x", "edge_index", "edge_weight", "y"}


def test_without_labels():
    dataset = from_pyg([graph(), graph()], labelled=False, task="values")
    assert dataset[0].y is None
    assert (dataset.task, dataset.class_names) == ("values", None)


def test_a_name_for_a_list_without_one():
    one, other = [graph(0), graph(1)], [graph(1), graph(0)]
    assert from_pyg(one).name == from_pyg(list(one)).name
    assert from_pyg(one).name.startswith("graphs-")
    assert list_name(one, None) != list_name(one[:1], None)
    assert from_pyg(one).name != from_pyg(other).name


def test_graphs_without_nodes_are_skipped():
    empty = Data(x=torch.zeros(0, 1, dtype=torch.long), edge_index=EDGES[:, :0], y=0)
    dataset = from_pyg([graph(0), empty, graph(1)])
    assert (len(dataset), dataset.ids) == (2, ["0", "2"])
    assert [(one.line, one.reason) for one in dataset.skipped] == [(2, "no nodes")]
    with pytest.raises(DatasetError, match="no nodes"):
        from_pyg([graph(0), empty], strict=True)


@pytest.mark.parametrize("other", [HeteroData(), [1, 2], Batch])
def test_what_is_no_graph(other):
    with pytest.raises(InputTypeError, match=r"Graph 1 is a \w+; a torch_geometric Data is needed"):
        from_pyg([graph(0), other])


def test_hetero_says_what_to_do():
    with pytest.raises(InputTypeError, match=r"HeteroData becomes one with \.to_homogeneous\(\)"):
        load([HeteroData()])


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "There are no graphs in the dataset"),
        ([graph(0), graph()], "Graph 1 has no y. Give each .* labelled=False"),
        ([graph(0), graph([0, 1])], "Graph 0 has 1 values of y, graph 1 has 2"),
        ([graph([])], "Graph 0 has 0 values of y"),
        (
            [Data(x=torch.ones(2, 1), y=0)],
            "graph 0: edge_index must be .*; got NoneType",
        ),
        ([graph(0, edge_index=EDGES + 1)], "names nodes from 1 to 2, but .* from 0 to 1"),
        ([graph(0, edge_index=EDGES - 1)], "names nodes from -1 to 0"),
        ([graph(0, edge_index=EDGES.float())], "must be integers .* got float32"),
        ([graph(0, edge_weight=torch.ones(3))], r"edge_weight must be floats of shape \[2\]"),
        ([graph(0, x=torch.full((2, 1), NAN))], "x has NaN or infinity in it"),
    ],
)
def test_graphs_that_cannot_be_used(graphs, message):
    with pytest.raises(DatasetError, match=message):
        from_pyg(graphs)


def test_nodes_that_are_only_counted(monkeypatch):
    monkeypatch.setattr(module, "MAX_BARE", 100)
    bare = [Data(edge_index=EDGES, num_nodes=20, y=i) for i in range(6)]
    assert len(from_pyg(bare)) == 6  # not many for their edges
    bare.append(Data(edge_index=EDGES, num_nodes=200, y=0))
    with pytest.raises(DatasetError, match="320 nodes without features, but few edges"):
        from_pyg(bare)
    far = [Data(edge_index=EDGES * 200, num_nodes=None, y=0)]  # PyG counts up to the largest
    with pytest.raises(DatasetError, match="201 nodes without features"):
        from_pyg(far)
    monkeypatch.setattr(module, "MAX_NODES", 30)
    with pytest.raises(DatasetError, match="The graphs have 32 nodes, more than the 30 allowed"):
        from_pyg([graph(0)] * 16)


def test_a_label_that_is_no_plain_tensor():
    with pytest.raises(DatasetError, match="Graph 0: y must be real numbers"):
        from_pyg([graph(torch.eye(2).to_sparse())])
    with pytest.raises(DatasetError, match=r"real numbers \(got torch.complex64\)"):
        from_pyg([graph(torch.ones(1, dtype=torch.complex64))])


THINGS = st.one_of(
    st.none(),
    st.integers(-3, 10**20),
    st.floats(),
    st.text(max_size=2),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(
        [
            torch.ones(2, 1),
            torch.tensor([[1], [2]]),
            torch.tensor([0, 1]),
            torch.ones(()),
            torch.ones(0, 0),
            torch.ones(2, 2, 2),
            torch.ones(2, 2).to_sparse(),
            torch.ones(2, 1, dtype=torch.complex64),
            torch.tensor([[True], [False]]),
            EDGES,
            EDGES.int(),
        ]
    ),
)
KEYS = st.sampled_from(["x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes"])


@given(st.lists(st.dictionaries(KEYS, THINGS), min_size=1, max_size=2))
def test_any_graph_is_used_or_an_error_of_ours(changes):
    graphs = []
    for change in changes:
        values = {"x": torch.tensor([[1], [2]]), "edge_index": EDGES, "y": 0, **change}
        graphs.append(Data.from_dict(values))
    try:
        dataset = from_pyg(graphs)
    except IfmixupError:
        return
    for one in dataset:
        assert one.x.is_floating_point()
        assert one.validate()


GRAPHS = [Data(x=torch.ones(n, 1)) for n in (1, 2)]
ARRAY = np.empty(2, dtype=object)
ARRAY[:] = GRAPHS


@pytest.mark.parametrize("given", [GRAPHS, tuple(GRAPHS), ARRAY, ARRAY[[0, 1]]])
def test_the_same_graphs_in_their_order(given):
    found = as_graphs(given)
    assert type(found) is list
    assert all(one is other for one, other in zip(found, GRAPHS, strict=True))


def test_datasets_and_batches():
    mutag = load("MUTAG")
    assert [graph.num_nodes for graph in as_graphs(mutag[3:5])] == [
        mutag[3].num_nodes,
        mutag[4].num_nodes,
    ]
    assert [graph.num_nodes for graph in as_graphs(Batch.from_data_list(GRAPHS))] == [1, 2]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros((2, 3)), InputTypeError, r"array of float64 with the shape \(2, 3\)"),
        (np.zeros(2), InputTypeError, "array of float64"),
        (GRAPHS[0], InputTypeError, "got one Data"),
        ("MUTAG", InputTypeError, "got str"),
        (7, InputTypeError, "got int"),
        ([GRAPHS[0], 7], InputTypeError, "Graph 1 is a int"),
        ([], InputError, "Got no graphs"),
    ],
)
def test_what_is_no_list_of_graphs(given, error, message):
    with pytest.raises(error, match=message):
        as_graphs(given)
