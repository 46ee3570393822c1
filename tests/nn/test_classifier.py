from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.testing import assert_close

from ifmixup import check_model
from ifmixup.components import resolve
from ifmixup.errors import InputError
from ifmixup.nn import BatchNorm, Classifier, GINConv, global_mean_pool


class Net(Classifier):
    """What a user writes, and names in every command."""

    def __init__(self, in_channels: int, out_channels: int, hidden_channels: int = 8) -> None:
        encoder = pyg.GCN(in_channels, hidden_channels, num_layers=2)
        super().__init__(encoder, hidden_channels, out_channels, readout="mean")


def test_a_model_of_pyg_its_readout_and_a_linear_layer(graphs):
    net = Net(3, 2)
    out = net(graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch)
    h = net.encoder(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
    pooled = global_mean_pool(h, graphs.batch)
    assert_close(out, net.lin(pooled))
    edges = (graphs.edge_index, graphs.edge_weight, graphs.batch)
    assert_close(net.classify(net.embed(graphs.x, *edges)), out)


def test_it_is_a_model_of_the_library():
    found = resolve("model", Net)
    assert dict(found.spec.options) == {"hidden_channels": 8}
    assert isinstance(found.build(in_channels=3, out_channels=2), Net)


@pytest.mark.parametrize(
    ("encoder", "reads"),
    [
        (pyg.GCN(3, 8, 2), True),
        (pyg.GIN(3, 8, 2), False),
        (pyg.GraphSAGE(3, 8, 2), False),
        (pyg.PNA(3, 8, 2, aggregators=["mean"], scalers=["identity"], deg=torch.ones(4)), False),
        (pyg.GraphConv(3, 8), True),
        (GINConv(nn.Linear(3, 8)), True),
        (pyg.SAGEConv(3, 8), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_go_only_to_encoders_that_read_them(graphs, encoder, reads):
    net = Classifier(encoder, 8, 2)
    assert net.supports_edge_weight == reads
    assert f"supports_edge_weight={reads}" in repr(net)
    edges = (graphs.edge_index, graphs.edge_weight, graphs.batch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert net(graphs.x, *edges, batch_size=2).shape == (2, 2)
        net(graphs.x, graphs.edge_index)
    told = [str(each.message) for each in caught if "does not read edge weights" in str(each)]
    assert len(told) == (0 if reads else 1)  # once, not in every step


def test_sequential_of_pyg(graphs):
    encoder = pyg.Sequential(
        "x, edge_index, edge_weight",
        [(pyg.GCNConv(3, 8), "x, edge_index, edge_weight -> x"), nn.ReLU()],
    )
    net = Classifier(encoder, 8, 2, readout="sum")
    out = net(graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch)
    other = net(graphs.x, graphs.edge_index, graphs.edge_weight / 2, graphs.batch)
    assert out.shape == (2, 2)
    assert (out - other).abs().max() > 1e-4


def test_edge_attributes_reach_an_encoder_that_reads_them(graphs):
    net = Classifier(pyg.GAT(3, 8, 2, edge_dim=2), 8, 2)
    outs = [
        net(graphs.x, graphs.edge_index, None, graphs.batch, edge_attr=attr)
        for attr in (graphs.edge_attr, 2 * graphs.edge_attr)
    ]
    assert (outs[0] - outs[1]).abs().max() > 1e-4


def test_node_weights_count_in_readout_and_in_our_batch_norm_inside(graphs):
    net = Classifier(pyg.GCN(3, 8, 2, norm=BatchNorm(8)), 8, 2)
    more = torch.cat([graphs.x, torch.zeros(4, 3)])
    batch = torch.cat([graphs.batch, torch.ones(4, dtype=torch.long)])
    weight = torch.tensor([1.0] * 5 + [0.0] * 4)
    edges = (graphs.edge_index, graphs.edge_weight)
    out = net(more, *edges, batch, node_weight=weight)
    assert_close(out, net(graphs.x, *edges, graphs.batch), atol=1e-5, rtol=1e-5)
    assert (net(more, *edges, batch) - out).abs().max() > 1e-3


def test_it_copies_pickles_and_resets(graphs):
    net = Net(3, 2)
    expected = net(graphs.x, graphs.edge_index)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(other(graphs.x, graphs.edge_index), expected)
    net.reset_parameters()
    assert not torch.equal(net(graphs.x, graphs.edge_index), expected)


def test_it_is_checked_like_any_other_model(graphs):
    from torch_geometric.data import Data

    data = Data(x=graphs.x, edge_index=graphs.edge_index)
    assert check_model(Net(3, 2), data).reads_node_weight


def test_unknown_readout():
    with pytest.raises(InputError, match=r"Unknown readout 'men'\. Did you mean 'mean'"):
        Classifier(pyg.GCN(3, 8, 2), 8, 2, readout="men")


def test_the_example_of_the_docstring_runs():
    import doctest

    from ifmixup.nn import classifier, gcn

    for module in (classifier, gcn):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0
