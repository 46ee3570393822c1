import pickle

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.loader import DataLoader

from ifmixup.data.dataset import GraphDataset, Skipped, Skips, summary
from ifmixup.data.raw import LoadOptions
from ifmixup.data.text_files import TextFile
from ifmixup.data.tu import parse
from ifmixup.errors import DatasetError, InputError


@pytest.fixture
def dataset(tiny):
    files = {part: TextFile(part, text.encode()) for part, text in tiny.items()}
    found = parse(files, "here", "TINY", LoadOptions())
    return GraphDataset("TINY", found._data, found.slices)


def test_what_pyg_asks_of_it(dataset):
    assert isinstance(dataset, InMemoryDataset)
    assert (len(dataset), dataset.name, repr(dataset)) == (2, "TINY", "TINY(2)")
    assert (dataset.num_classes, dataset.num_features, dataset.num_edge_features) == (2, 3, 3)


def test_a_graph(dataset):
    graph = dataset[1]
    assert graph.num_nodes == 4
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.x.argmax(dim=1).tolist() == [1, 1, 0, 2]
    assert graph.edge_attr.argmax(dim=1).tolist() == [2, 2, 0, 0]
    assert graph.y.tolist() == [1]
    assert graph.validate()


def test_parts(dataset):
    for part in (dataset[1:], dataset[torch.tensor([False, True])], dataset[[1]]):
        assert repr(part) == "TINY(1)"
        assert part.num_classes == 2
        assert torch.equal(part[0].x, dataset[1].x)
    assert [graph.num_nodes for graph in dataset.copy([1, 0])] == [4, 3]


def test_a_batch(dataset):
    (batch,) = DataLoader(dataset, batch_size=2)
    assert batch.batch.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert batch.y.tolist() == [0, 1]
    assert batch.edge_index[:, 6:].tolist() == [[3, 4, 4, 5], [4, 3, 5, 4]]


def test_pickle(dataset):
    again = pickle.loads(pickle.dumps(dataset))
    assert repr(again) == "TINY(2)"
    for key, value in dataset[1]:
        assert torch.equal(again[1][key], value)


def test_one_graph_only():
    texts = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n", "graph_labels": "1\n"}
    files = {part: TextFile(part, text.encode()) for part, text in texts.items()}
    found = parse(files, "here", "ONE", LoadOptions())
    dataset = GraphDataset("ONE", found._data, found.slices)
    assert len(dataset) == 1
    assert dataset[0].x.tolist() == [[0, 1], [0, 1]]


def graphs(*y):
    edges = torch.tensor([[0, 1], [1, 0]])
    return [Data(x=torch.ones(2, 1), edge_index=edges, y=value) for value in y]


def test_what_a_user_needs_to_know(dataset):
    assert (dataset.ids, dataset.task, dataset.metric) == (["0", "1"], "classes", "accuracy")
    assert (dataset.class_names, dataset.encoder, dataset.split) == (None, None, None)
    assert dataset.skipped == []


def test_ids_and_split_follow_the_graphs():
    split = {"train": torch.tensor([0, 2]), "test": torch.tensor([1])}
    three = graphs(*torch.tensor([[0], [1], [1]]))
    dataset = GraphDataset.of("own", three, ids=["a", "b", "c"], split=split)
    assert dataset.ids == ["a", "b", "c"]
    assert dataset.split["train"].tolist() == [0, 2]
    assert dataset[[2, 0]].ids == ["c", "a"]
    assert dataset[1:].split is None
    copied = dataset.copy([2, 1])
    assert (copied.ids, copied.split, len(copied)) == (["c", "b"], None, 2)
    assert copied[:1].ids == ["c"]
    assert dataset.copy().ids == ["a", "b", "c"]
    assert dataset.copy().split is not None
    assert dataset[[2, 0]].copy().ids == ["c", "a"]


def test_columns_of_labels_and_values():
    rows = torch.tensor([[[1.0, float("nan")]], [[0.0, 1.0]]])
    labels = GraphDataset.of("own", graphs(*rows), task="labels", class_names=["a", "b"])
    assert (labels.metric, labels.num_classes) == ("roc_auc", 2)
    assert labels[0].y.shape == (1, 2)
    values = GraphDataset.of("own", graphs(*torch.tensor([[[0.5]], [[2.0]]])), task="values")
    assert (values.metric, values.num_classes) == ("mae", 1)


def test_classes_that_no_graph_has_count():
    one = GraphDataset.of("own", graphs(*torch.tensor([[0], [0]])), class_names=["no", "yes"])
    assert one.num_classes == 2


def test_one_graph_and_none():
    one = GraphDataset.of("one", graphs(torch.tensor([1])))
    assert (len(one), one.ids) == (1, ["0"])
    with pytest.raises(InputError, match="own has no graphs"):
        GraphDataset.of("own", [])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"task": "class"}, "Unknown task 'class'. Did you mean 'classes'"),
        ({"metric": "auc"}, "Unknown metric 'auc'"),
        (
            {"metric": "mae"},
            "'mae' does not fit the task 'classes'. Use accuracy, balanced_accuracy",
        ),
        (
            {"task": "values", "metric": "accuracy"},
            "does not fit the task 'values'. Use mae, rmse, r2 or spearman",
        ),
        ({"ids": ["a"]}, "1 identifiers were given for 2 graphs"),
    ],
)
def test_what_does_not_fit(known, message):
    with pytest.raises(InputError, match=message):
        GraphDataset.of("own", graphs(*torch.tensor([[0], [1]])), **known)


def test_a_metric_that_fits():
    dataset = GraphDataset.of("own", graphs(*torch.tensor([[0], [1]])), metric="roc_auc")
    assert dataset.metric == "roc_auc"


def test_lines_are_collected_and_shortened():
    skips = Skips("m.csv")
    skips.add(4, "X" * 70, "not SMILES")
    skips.add(2, "CC", "no label", "ethane")
    assert skips.lines == [
        Skipped(4, "X" * 57 + "...", "not SMILES"),
        Skipped(2, "CC", "no label", "ethane"),
    ]


def test_strict_stops_at_the_first():
    with pytest.raises(DatasetError, match=r"m\.csv, line 4: 'XX': not SMILES\. .*--strict"):
        Skips("m.csv", strict=True).add(4, "XX", "not SMILES")


def test_ten_lines_in_the_order_of_the_file_then_a_number():
    skipped = [Skipped(line, "X", "why") for line in range(12, 0, -1)]
    shown = summary(skipped)
    assert shown[0] == "line 1: 'X': why"
    assert len(shown) == 11
    assert shown[-1] == "and 2 more"
    assert summary(skipped[:10])[-1] == "line 12: 'X': why"
    assert summary([]) == []
