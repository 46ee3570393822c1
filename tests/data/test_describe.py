import torch
from torch_geometric.data import Data

from ifmixup.data import from_pyg, load
from ifmixup.data.describe import continuous, describe
from ifmixup.data.skipped import Skipped

EDGES = torch.tensor([[0, 1], [1, 0]])


def test_mutag():
    assert describe(load("MUTAG")) == [
        ("graphs", "188"),
        ("nodes", "17.9 in a graph (10 to 28)"),
        ("edges", "39.6 in a graph (20 to 66), each direction counted"),
        ("node features", "7: node label (0 1 2 3 4 5 6)"),
        ("edge features", "4: edge label (0 1 2 3)"),
        ("task", "classes, judged by accuracy"),
        ("classes", "2: -1 (63), 1 (125)"),
        ("independent", "yes, 7 different feature rows"),
        ("skipped", "0"),
    ]


def lines(ys, **options):
    graphs = [Data(x=torch.tensor([[0.5], [1.0]]), edge_index=EDGES, y=y) for y in ys]
    return dict(describe(from_pyg(graphs, **options)))


def test_labels_values_and_none():
    nan = float("nan")
    found = lines([torch.tensor([[1.0, nan, nan]]), torch.tensor([[0.0, 1.0, nan]])])
    assert found["task"] == "labels, judged by roc_auc"
    assert found["targets"] == (
        "3: y[0] (1 of 2 yes), y[1] (1 of 1 yes), y[2] (nothing known); 3 not known"
    )
    assert lines([0.25, -3.5])["targets"] == "1: y (-3.5 to 0.25)"
    assert lines([0, 1], labelled=False)["targets"] == "none"


def test_continuous_features_are_named():
    found = lines([0, 1])
    assert found["continuous"] == "1 columns: lossless mixing is not guaranteed"
    assert found["node features"] == "1: x[0]"
    assert continuous(torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]])) == [2]
    assert "continuous" not in dict(describe(load("MUTAG")))


def test_many_of_everything():
    graphs = [Data(x=torch.arange(20).view(-1, 1), edge_index=EDGES, y=i) for i in range(15)]
    dataset = from_pyg(graphs)
    dataset.skipped = [Skipped(line, "X", "why") for line in range(1, 13)]
    found = describe(dataset)
    assert dict(found)["node features"].endswith("9 10 11 and 8 more)")
    assert dict(found)["classes"].endswith("11 (1) and 3 more")
    assert found[-12] == ("skipped", "12")
    assert found[-11:][0] == ("", "line 1: 'X': why")
    assert found[-1] == ("", "and 2 more")


def test_the_own_split():
    dataset = from_pyg([Data(x=torch.ones(1, 1), edge_index=EDGES[:, :0], y=i) for i in (0, 1)])
    dataset._split = {"train": torch.tensor([0]), "test": torch.tensor([1])}
    assert dict(describe(dataset))["own split"] == "train 1, test 1"
