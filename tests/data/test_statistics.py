import sys

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from ifmixup.data import feature_set, from_pyg, load, statistics
from ifmixup.data.dataset import Skipped
from ifmixup.data.edge_attr_to_nodes import EdgeAttrToNodes
from ifmixup.data.statistics import (
    Statistics,
    continuous,
    describe,
    linearly_independent,
)
from ifmixup.errors import InputError


class Own(InMemoryDataset):
    """A user's dataset, without a name."""

    def __init__(self, graphs):
        super().__init__()
        self.data, self.slices = self.collate(graphs)


def own(*features):
    edges = torch.tensor([[0, 1], [1, 0]])
    return Own(
        [
            Data(x=torch.tensor(x), edge_index=edges, y=torch.tensor([i]))
            for i, x in enumerate(features)
        ]
    )


def test_mutag():
    assert statistics(load("MUTAG")) == Statistics(
        name="MUTAG",
        graphs=188,
        mean_nodes=3371 / 188,
        mean_edges=7442 / 188,
        features=7,
        classes=2,
        independent_features=True,
    )


def test_a_users_dataset():
    dataset = own([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    assert statistics(dataset) == Statistics("Own", 2, 2.5, 2.0, 2, 2, False)
    assert statistics(dataset[:1]) == Statistics("Own", 1, 2.0, 2.0, 2, 2, True)


def test_the_feature_set_is_the_distinct_rows_of_the_whole_dataset():
    dataset = own([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [-0.0, 1.0], [0.5, 0.0]])
    assert feature_set(dataset).tolist() == [[0, 1], [0.5, 0], [1, 0]]


@pytest.mark.parametrize("rows", [3, 2**16])  # that are sorted at once
def test_the_feature_set_of_mutag(rows, monkeypatch):
    monkeypatch.setattr(sys.modules[feature_set.__module__], "_ROWS", rows)
    assert torch.equal(feature_set(load("MUTAG")), torch.eye(7).flip(0))


def test_the_transform_counts():
    mutag = load("MUTAG")
    mutag.transform = EdgeAttrToNodes()
    assert statistics(mutag).features == 11
    # An atom and its bonds: many more kinds than 11 columns can keep independent.
    assert not statistics(mutag).independent_features


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], True),
        ([[1.0, 0.0], [1.0, 1e-6]], True),
        ([[0.0, 1.0, 0.0]], True),
        ([[0.0, 0.0]], False),
        ([[1.0, 2.0], [2.0, 4.0]], False),
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], False),
        ([[1.0], [2.0]], False),
    ],
)
def test_linearly_independent(rows, expected):
    assert linearly_independent(torch.tensor(rows)) is expected


def test_without_features_or_graphs():
    bare = Own([Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)] * 2)
    with pytest.raises(InputError, match="there is no x"):
        feature_set(bare)
    with pytest.raises(InputError, match="without graphs"):
        statistics(load("MUTAG")[:0])


# The paper's table, with 344 for its 334 and the edges of IMDB counted in both directions. The
# two large ones stand in the test of the command.
PAPER = {
    "PTC_MR": ("344", "14.3", "29.4", 18, 2),
    "ENZYMES": ("600", "32.6", "124.3", 3, 6),
    "PROTEINS": ("1113", "39.1", "145.6", 3, 2),
    "IMDB-MULTI": ("1500", "13.0", "131.9", 89, 3),
    "IMDB-BINARY": ("1000", "19.8", "193.1", 136, 2),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_table(tu_source, name):
    row = statistics(load(name, tu_source(name).parent))
    shown = (str(row.graphs), f"{row.mean_nodes:.1f}", f"{row.mean_edges:.1f}")
    assert (*shown, row.features, row.classes) == PAPER[name]
    assert row.independent_features


EDGES = torch.tensor([[0, 1], [1, 0]])


def test_a_description_of_mutag():
    assert describe(load("MUTAG")) == [
        ("graphs", "188"),
        ("nodes", "17.9 in a graph (10 to 28)"),
        ("edges", "39.6 in a graph (20 to 66), each direction counted"),
        ("node features", "7: node label (0 1 2 3 4 5 6)"),
        ("edge features", "4: edge label (0 1 2 3)"),
        ("task", "classes, evaluated by accuracy"),
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
    assert found["task"] == "labels, evaluated by roc_auc"
    assert found["targets"] == (
        "3: y[0] (1 of 2 yes), y[1] (1 of 1 yes), y[2] (all missing); 3 missing"
    )
    assert lines([0.25, -3.5])["targets"] == "1: y (-3.5 to 0.25)"
    assert lines([0, 1], labelled=False)["targets"] == "none"


def test_continuous_features_are_named():
    found = lines([0, 1])
    assert found["continuous"] == "1 column: lossless mixing is not guaranteed"
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
