import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data.columns import Column
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.raw import RawGraphs, assemble
from ifmixup.data.skipped import Skipped, Skips
from ifmixup.data.targets import Targets
from ifmixup.errors import DatasetError

EDGES = torch.tensor([[0, 1], [1, 0]])


def raw(*classes, strict=False, **more):
    graphs = [Data(x=torch.tensor([[i], [7]]), edge_index=EDGES) for i in range(len(classes))]
    targets = Targets("classes", torch.tensor(classes), ["no", "yes"])
    skips = Skips("here", strict)
    return RawGraphs("own", "here", graphs, skips, targets, **more)


def test_graphs_without_a_class_go_and_the_rest_follows():
    split = {"train": torch.tensor([2, 0]), "test": torch.tensor([1, 3])}
    dataset = assemble(
        raw(1, -1, 0, 1, ids=list("abcd"), lines=[2, 5, 6, 7], texts=list("wxyz"), split=split)
    )
    assert dataset.ids == ["a", "c", "d"]
    assert dataset.y.tolist() == [1, 0, 1]
    assert dataset.skipped == [Skipped(5, "x", "no label")]
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [1, 0],
        "test": [2],
    }
    # What was only in a graph that went is no category.
    assert dataset.encoder.nodes == (Column("x[0]", (0, 2, 3, 7)),)


def test_what_is_in_a_graph_in_the_end():
    dataset = assemble(raw(0, 1))
    assert set(dataset[0].keys()) == {"x", "edge_index", "y"}
    assert dataset[0].y.shape == (1,)


def test_nothing_is_left():
    with pytest.raises(DatasetError, match="here has no graph that can be used; 1 were skipped, t"):
        assemble(raw(-1))
    with pytest.raises(DatasetError, match=r"here, line 1: '0': no label"):
        assemble(raw(-1, strict=True))


def test_the_encoder_of_other_graphs():
    encoder = FeatureEncoder((Column("x[0]", (7, 8)),))
    with pytest.warns(UserWarning, match=r"x\[0\] 0 \(1x\)"):
        dataset = assemble(raw(1), encoder=encoder)
    assert dataset[0].x.tolist() == [[0, 0], [1, 0]]
    assert dataset.encoder is encoder
