import pickle

import pytest
import torch
from torch_geometric.data import InMemoryDataset
from torch_geometric.loader import DataLoader

from ifmixup.data.dataset import TUGraphs
from ifmixup.data.files import TextFile
from ifmixup.data.tu import parse


@pytest.fixture
def dataset(tiny):
    files = {part: TextFile(part, text.encode()) for part, text in tiny.items()}
    return TUGraphs("TINY", *parse(files, "here", "TINY"))


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
    dataset = TUGraphs("ONE", *parse(files, "here", "ONE"))
    assert len(dataset) == 1
    assert dataset[0].x.tolist() == [[0, 1], [0, 1]]
