import numpy as np
import pytest
import torch
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.report.draw.colours import (
    COLOUR_MAP,
    PALETTE,
    blend,
    distinguish,
    fade,
    feature_names,
)

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_one_hot_features_have_the_colour_of_their_column():
    x = torch.eye(7)[[3, 0, 0, 1]]
    found = distinguish(x, ("C", "N", "O", "F", "I", "Cl", "Br"))
    assert (found.values, found.names, found.few) == ([0, 1, 3], ["C", "N", "F"], True)
    expected = [to_rgb(PALETTE[column]) for column in (3, 0, 0, 1)]
    assert found.colour(x) == pytest.approx(np.array(expected))
    assert distinguish(x).names == ["feature 0", "feature 1", "feature 3"]
    assert distinguish(x, "degree").names == ["degree 0", "degree 1", "degree 3"]


def test_columns_beyond_the_palette_take_its_colours_in_order():
    found = distinguish(torch.eye(40)[[36, 2, 13]])
    assert found.values == [2, 13, 36]
    assert found.colours == pytest.approx(np.array([to_rgb(c) for c in PALETTE[:3]]))


def test_many_features_are_on_a_colour_map_by_rank():
    columns = [1, 2, 3, 5, 8, 13, 21, 34, 55]
    x = torch.eye(60)[columns]
    found = distinguish(x, "degree")
    assert (found.few, found.values, found.kind) == (False, columns, "degree")
    assert found.colour(x[[0, 8, 4]]) == pytest.approx(
        np.array([colormaps[COLOUR_MAP](part)[:3] for part in (0.0, 1.0, 0.5)])
    )


def test_other_features_are_told_apart_by_their_rows():
    x = torch.tensor([[0.5, 1.0], [0.0, 2.0], [0.5, 1.0]])
    found = distinguish(x, "degree")
    assert found.names == ["features 0", "features 1"]
    assert found.kind == "distinct features, sorted"
    colours = found.colour(x)
    assert (colours[0] == colours[2]).all()
    assert (colours[0] != colours[1]).any()


def test_without_features_all_nodes_are_alike():
    found = distinguish(torch.empty(3, 0))
    assert found.names == ["features 0"]
    assert found.colour(torch.empty(2, 0)).shape == (2, 3)


def test_names_must_fit_the_columns():
    with pytest.raises(InputError, match="There are 3 feature columns, but 2 names for them"):
        distinguish(torch.eye(3), ("C", "N"))


def test_colours_blend_as_features_do():
    a = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.2, 0.4, 0.6]])
    b = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    expected = [[0.75, 0, 0.25], [0, 0, 0], [0.2, 0.4, 0.6]]
    assert blend(a, b, 0.75) == pytest.approx(np.array(expected))
    assert blend(b, a, 0.25) == pytest.approx(np.array(expected))


def test_nodes_fade_to_white():
    found = fade(np.array([[0.2, 0.4, 0.6]] * 3), torch.tensor([1.0, 0.25, 0.0]))
    assert found == pytest.approx(np.array([[0.2, 0.4, 0.6], [0.8, 0.85, 0.9], [1, 1, 1]]))


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
