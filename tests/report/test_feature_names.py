import torch
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.report.feature_names import feature_names

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_the_atoms_of_mutag():
    dataset = load("MUTAG")
    names = feature_names("MUTAG", dataset[0])
    assert list(names) == ["C", "N", "O", "F", "I", "Cl", "Br"]
    assert len(names) == dataset.num_features


def test_degrees_are_recognised():
    degrees = Data(x=torch.eye(4)[[1, 2, 1]], edge_index=PATH)
    others = Data(x=torch.eye(4)[[1, 2, 3]], edge_index=PATH)
    dense = Data(x=torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]]), edge_index=PATH)
    assert feature_names("IMDB-BINARY", degrees, degrees) == "degree"
    assert feature_names("NCI1", degrees, others) == "feature"
    assert feature_names("NCI1", dense) == "feature"
