import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data.dataset import Skipped, Skips
from ifmixup.data.encoder import Column, FeatureEncoder
from ifmixup.data.raw import LoadOptions, RawGraphs, assemble
from ifmixup.data.targets import Targets
from ifmixup.errors import DatasetError

EDGES = torch.tensor([[0, 1], [1, 0]])


def raw(*classes, strict=False, **more):
    graphs = [Data(x=torch.tensor([[i], [7]]), edge_index=EDGES) for i in range(len(classes))]
    targets = Targets("classes", torch.tensor(classes), ["no", "yes"])
    skips = Skips("here", strict)
    return RawGraphs("own", graphs, skips, targets, **more)


def test_graphs_without_a_class_go_and_the_rest_follows():
    split = {"train": torch.tensor([2, 0]), "test": torch.tensor([1, 3])}
    given = raw(1, -1, 0, 1, ids=list("abcd"), lines=[2, 5, 6, 7], texts=list("wxyz"), split=split)
    dataset = assemble(given, LoadOptions())
    assert dataset.ids == ["a", "c", "d"]
    assert dataset.y.tolist() == [1, 0, 1]
    assert dataset.skipped == [Skipped(5, "x", "no label", "b")]
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [1, 0],
        "test": [2],
    }
    # What was only in a graph that went is no category.
    assert dataset.encoder.nodes == (Column("x[0]", (0, 2, 3, 7)),)


def test_what_is_in_a_graph_in_the_end():
    dataset = assemble(raw(0, 1), LoadOptions())
    assert set(dataset[0].keys()) == {"x", "edge_index", "y"}
    assert dataset[0].y.shape == (1,)


def test_nothing_is_left():
    with pytest.raises(DatasetError, match="here has no graph that can be used; 1 were skipped, t"):
        assemble(raw(-1), LoadOptions())
    with pytest.raises(DatasetError, match=r"here, line 1: '0': no label"):
        assemble(raw(-1, strict=True), LoadOptions())


def test_the_encoder_of_other_graphs():
    encoder = FeatureEncoder((Column("x[0]", (7, 8)),))
    with pytest.warns(UserWarning, match=r"x\[0\] 0 \(1x\)"):
        dataset = assemble(raw(1), LoadOptions(encoder=encoder))
    assert dataset[0].x.tolist() == [[0, 0], [1, 0]]
    assert dataset.encoder is encoder


def weighted(*weights):
    found = raw(*[0] * len(weights), ids=[f"g{i}" for i in range(len(weights))])
    for graph, weight in zip(found.graphs, weights, strict=True):
        if weight is not None:
            graph.edge_weight = torch.tensor(weight)
    return found


def test_whole_weights_become_floats():
    dataset = assemble(weighted([1, 2], [3, 4], [True, False]), LoadOptions())
    assert [graph.edge_weight.tolist() for graph in dataset] == [[1, 2], [3, 4], [1, 0]]
    assert all(graph.edge_weight.dtype == torch.float32 for graph in dataset)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (([1.0, 1.0], None, None), "here, graph g1 has no edge_weight, but other graphs do"),
        ((None, [1.0, 1.0]), "here, graph g0 has no edge_weight, but other graphs do"),
        (
            ([1.0, 1.0], [1.0, -1.0]),
            "here, graph g1: edge_weight must be .* not negative; edge 1 has -1",
        ),
        (([1, -1],), "here, graph g0: edge_weight must be .* not negative; edge 1 has -1"),
        (([1.0, float("inf")],), "here, graph g0: edge_weight must be finite .* edge 1 has inf"),
        (
            ([1.0, 1.0, 1.0],),
            r"graph g0: edge_weight must be .* \[2\].*got float32 \[3\]",
        ),
    ],
)
def test_weights_that_cannot_be_used(weights, message):
    with pytest.raises(DatasetError, match=message):
        assemble(weighted(*weights), LoadOptions())


def test_a_graph_without_edges_needs_no_weights():
    found = weighted([1.0, 2.0], None)
    found.graphs[1].edge_index = EDGES[:, :0]
    assert assemble(found, LoadOptions())[1].edge_weight.shape == (0,)
