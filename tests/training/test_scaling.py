import math
from dataclasses import replace

import pytest
import torch

from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.scaling import Scaling
from task_graphs import with_labels, with_values

TRAIN = torch.arange(40)


def test_continuous_columns_and_values_have_mean_0_and_deviation_1():
    data = pack(with_values())
    assert data.continuous == [2]
    scaling = Scaling.fit(data, TRAIN)
    graphs = scaling.graphs(data.graphs, data.task)
    x = graphs.nodes["x"][graphs.node_graph < 40]
    assert x[:, 2].mean().item() == pytest.approx(0, abs=1e-4)
    assert x[:, 2].std(correction=0).item() == pytest.approx(1, rel=1e-4)
    assert torch.equal(x[:, :2], data.graphs.nodes["x"][data.graphs.node_graph < 40][:, :2])
    y = graphs.graphs["y"][:40]
    assert y.nanmean(0).tolist() == pytest.approx([0, 0], abs=1e-3)
    assert y.square().nanmean(0).tolist() == pytest.approx([1, 1], rel=1e-3)
    assert torch.equal(y.isnan(), data.y[:40].isnan())


def test_by_hand():
    graphs = with_values(3)
    for graph, x, y in zip(graphs, (1.0, 3.0, 99.0), (10.0, 30.0, 5.0), strict=True):
        graph.x[:, 2], graph.y = x, torch.tensor([y])
        graph.x, graph.edge_index = graph.x[:4], torch.empty(2, 0, dtype=torch.long)
    scaling = Scaling.fit(pack(graphs), torch.tensor([0, 1]))
    assert (scaling.x_mean.tolist(), scaling.x_std.tolist()) == ([0, 0, 2], [1, 1, 1])
    assert (scaling.y_mean.tolist(), scaling.y_std.tolist()) == ([20], [10])
    assert scaling.targets(torch.tensor([[5.0]])).tolist() == [[-1.5]]
    assert scaling.outputs(torch.tensor([[-1.5]])).tolist() == [[5.0]]


def changed(data: PackedDataset, level: str, name: str, i: int) -> PackedDataset:
    values = getattr(data.graphs, level)
    return replace(
        data, graphs=replace(data.graphs, **{level: {**values, name: bent(values[name], i)}})
    )


def bent(values: torch.Tensor, i: int) -> torch.Tensor:
    values = values.clone()
    values[i] *= 1000
    return values


def test_only_the_training_graphs_count():
    data = pack(with_values())
    before = Scaling.fit(data, TRAIN).to_dict()
    for level, name in (("nodes", "x"), ("graphs", "y")):
        same = Scaling.fit(changed(data, level, name, -1), TRAIN).to_dict()
        assert all(torch.equal(same[key], before[key]) for key in before)
        other = Scaling.fit(changed(data, level, name, 0), TRAIN).to_dict()
        assert not all(torch.equal(other[key], before[key]) for key in before)


def test_features_of_0_and_1_and_labels_stay_as_they_are(mutag):
    scaling = Scaling.fit(mutag, TRAIN)
    graphs = scaling.graphs(mutag.graphs, mutag.task)
    assert graphs.nodes["x"] is mutag.graphs.nodes["x"]
    assert graphs.graphs["y"] is mutag.y
    assert scaling.x_std.tolist() == [1] * 7
    labels = pack(with_labels())
    graphs = Scaling.fit(labels, TRAIN).graphs(labels.graphs, labels.task)
    assert graphs.graphs["y"] is labels.y


def test_what_is_the_same_on_all_training_graphs_loses_its_mean():
    graphs = with_values()
    for i, graph in enumerate(graphs):
        graph.x[:, 2] = 0.1 if i < 40 else 7.0
        graph.y = torch.tensor([[5.0, math.nan]]) if i < 40 else torch.tensor([[1.0, 2.0]])
    scaling = Scaling.fit(pack(graphs), TRAIN)
    assert (scaling.x_mean[2].item(), scaling.x_std[2]) == (pytest.approx(0.1), 1)
    # Targets all the same are learnt at once: zero is their mean.
    assert (scaling.y_mean.tolist(), scaling.y_std.tolist()) == ([5, 0], [1, 1])


def test_saved_and_read_back():
    scaling = Scaling.fit(pack(with_values()), TRAIN)
    again = Scaling.of(scaling.to_dict())
    assert set(scaling.to_dict()) == {"x_mean", "x_std", "y_mean", "y_std"}
    assert all(torch.equal(value, again.to_dict()[key]) for key, value in scaling.to_dict().items())


def test_values_that_floats_cannot_tell_apart():
    graphs = with_values(4)
    for graph, y in zip(graphs, (0.0, 1.0, 2.0, 3.0), strict=True):
        graph.y = torch.tensor([1e9 + y], dtype=torch.double)
    data = pack(graphs)
    scaling = Scaling.fit(data, torch.arange(4))
    y = scaling.graphs(data.graphs, "values").graphs["y"]
    # mean 1e9 + 1.5, deviation √1.25
    assert y.dtype == torch.float32
    assert y.flatten().tolist() == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-4)
    assert scaling.outputs(y.double()).flatten().tolist() == pytest.approx(
        [1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3], abs=1e-3, rel=0
    )


def test_a_continuous_column_that_hardly_changes_loses_its_mean():
    graphs = with_labels(4)
    for graph in graphs:
        graph.x[:, 2] = 1000.0
    data = pack(graphs)
    scaling = Scaling.fit(data, torch.arange(4))
    assert (scaling.x_mean.tolist(), scaling.x_std.tolist()) == ([0, 0, 1000], [1, 1, 1])
    assert not scaling.features(data.graphs.nodes["x"])[:, 2].any()
