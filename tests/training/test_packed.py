import copy
import math

import pytest
import torch
import torch_geometric.transforms as T
from torch_geometric.data import Batch, Data

from ifmixup.data import GraphDataset, load
from ifmixup.errors import InputError
from ifmixup.training.packed import PackedDataset, pack
from task_graphs import with_labels, with_values


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
    again = PackedDataset.of(mutag.to_dict())
    assert again.fingerprint == mutag.fingerprint
    assert torch.equal(again.batch(torch.tensor([3])).x, mutag.batch(torch.tensor([3])).x)


def test_it_can_be_saved_without_pickles(tmp_path):
    own = GraphDataset.of("own", with_labels(), split={"train": torch.arange(3)}, task="labels")
    packed = pack(own)
    torch.save(packed.to_dict(), tmp_path / "data.pt")
    again = PackedDataset.of(torch.load(tmp_path / "data.pt", weights_only=True, mmap=True))
    assert again.describe() == packed.describe()
    assert torch.equal(again.y.nan_to_num(9), packed.y.nan_to_num(9))


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
        ({"y": torch.tensor([1, 0])}, "Graph 1 has no single class number"),
        ({"y": torch.tensor([-1])}, "Class numbers start at 0; graph 1 has -1"),
        ({"y": torch.tensor([0.5, 1])}, r"rows of y have the shapes \[1\] and \[2\]"),
        ({"x": torch.tensor([[0.5], [torch.nan]])}, "x of graph 1 are not all finite"),
        ({"x": torch.ones(2, 1).long()}, "Graph 1 has features x of torch.int64.*One-hot"),
        (
            {"x": torch.ones(2, 3)},
            r"Graphs 0 and 1 differ: rows of x have the shapes \[1\] and \[3\]",
        ),
        ({"edge_attr": torch.ones(1, 2)}, "Graphs 0 and 1 differ: only one of them has edge_attr"),
        ({"x": torch.ones(2)}, r"Graph 1 has features x of shape \[2\]; one row per node"),
        ({"x": torch.ones(0, 1), "edge_index": torch.zeros(2, 0).long()}, "Graph 1 has no nodes"),
        ({"edge_index": torch.tensor([[0], [2]])}, "Graph 1: edge_index names nodes from 0 to 2"),
        ({"edge_index": torch.ones(2, 1)}, "Graph 1: edge_index must be integers"),
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


def test_the_task_is_inferred_or_the_datasets_own():
    assert [(d.task, d.metric, d.num_outputs, d.num_classes) for d in (
        pack(graphs()), pack(with_labels()), pack(with_values())
    )] == [
        ("classes", "accuracy", 3, 3), ("labels", "roc_auc", 2, None), ("values", "mae", 2, None)
    ]  # fmt: skip
    assert pack(with_labels(), metric="average_precision").metric == "average_precision"
    as_values = pack(graphs(), task="values")
    assert (as_values.task, as_values.y.tolist()) == ("values", [[0.0], [2.0]])
    own = GraphDataset.of("own", with_labels(), task="values")
    assert (pack(own).task, pack(own).metric) == ("values", "mae")
    with pytest.raises(InputError, match=r"'mae' does not fit the task 'classes'"):
        pack(graphs(), metric="mae")


def test_what_a_dataset_says_of_itself_is_kept():
    split = {"train": torch.arange(40), "validation": torch.arange(40, 50), "test": [50, 51]}
    own = GraphDataset.of("own", with_labels(), class_names=["kind", "number"], task="labels")
    own._split = split
    packed = pack(own)
    assert packed.class_names == ["kind", "number"]
    assert packed.split["test"].tolist() == [50, 51]
    assert pack(own[:20]).split is None  # the indices are those of the whole
    again = PackedDataset.of(packed.to_dict())
    assert again.describe() == packed.describe()
    assert again.split["train"].tolist() == list(range(40))


def test_what_a_model_must_know(mutag):
    known = {key: value for key, value in mutag.describe().items() if key != "encoder"}
    assert known == {
        "name": "MUTAG",
        "graphs": 188,
        "num_features": 7,
        "num_outputs": 2,
        "edge_dim": 4,
        "task": "classes",
        "metric": "accuracy",
        "class_names": mutag.class_names,
        "continuous": [],
    }
    assert pack(with_values()).describe()["continuous"] == [2]


def test_a_class_may_have_a_name_and_no_graph():
    own = GraphDataset.of("own", graphs(), class_names=["a", "b", "c", "d"])
    assert pack(own).num_outputs == 4
    own = GraphDataset.of("own", graphs(), class_names=["a"])
    with pytest.raises(InputError, match="There are 3 classes, but 1 class_names"):
        pack(own)


def test_runs_of_stored_studies_stay_valid(mutag):
    assert mutag.fingerprint == "5f18cbe2755ee0b83d264b20"


def test_another_metric_is_the_same_data(mutag):
    other = pack(load("MUTAG"), metric="roc_auc")
    assert other.fingerprint == mutag.fingerprint
    ranks = [pack(with_labels(), metric=m).fingerprint for m in ("roc_auc", "average_precision")]
    assert ranks[0] == ranks[1]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_edge_attributes_are_finite(value):
    graphs = with_values(3)
    for graph in graphs:
        graph.edge_attr = torch.rand(graph.num_edges, 2)
    assert pack(graphs).edge_dim == 2
    graphs[1].edge_attr[3, 1] = value
    with pytest.raises(InputError, match="edge_attr of graph 1 are not all finite"):
        pack(graphs)


def test_values_stay_on_the_cpu():
    # where there are doubles; the device meta stands for another one
    moved = pack(with_values(3)).to(torch.device("meta"))
    assert (moved.y.device.type, moved.y.dtype) == ("cpu", torch.double)
    assert moved.graphs.nodes["x"].is_meta
    assert pack(with_labels(3)).to(torch.device("meta")).y.is_meta


def test_however_graphs_are_given_they_are_the_same():
    dataset = load("MUTAG")
    for one in (dataset, dataset[30:60], dataset[torch.tensor([5, 3, 5])]):
        as_list, changed = list(one), copy.copy(one)
        changed.transform = lambda graph: graph
        assert pack(one).fingerprint == pack(as_list).fingerprint == pack(changed).fingerprint
        assert torch.equal(pack(one).y, torch.cat([graph.y for graph in as_list]))


def test_a_transform_is_applied():
    dataset = copy.copy(load("MUTAG")[:5])
    dataset.transform = T.ToUndirected()
    assert pack(dataset).fingerprint == pack(list(dataset)).fingerprint
    dataset.transform = T.Constant()
    assert pack(dataset).num_features == 8


def test_a_wrong_edge_of_a_collated_dataset_is_named():
    several = graphs()
    several[1].edge_index = torch.tensor([[0], [2]])
    with pytest.raises(InputError, match=r"Graph 1: edge_index names nodes from 0 to 2, but .* 2"):
        pack(GraphDataset.of("wrong", several))


@pytest.mark.parametrize("key", ["edge_attr", "edge_weight"])
def test_one_row_per_edge(key):
    several = graphs()
    several[0][key], several[1][key] = torch.ones(1), torch.ones(2)
    with pytest.raises(InputError, match=f"Graph 1 has 2 rows of {key} for 1 edges"):
        pack(several)
