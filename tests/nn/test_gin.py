from __future__ import annotations

import torch
from torch.testing import assert_close
from torch_geometric.nn import GINConv as PyGConv
from torch_geometric.nn import GINEConv

from ifmixup.nn import GIN, Neighbours
from ifmixup.nn.gin import GINConv
from ifmixup.nn.norm import BatchNorm

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def make_conv(**options) -> GINConv:
    conv = GINConv(3, 4, **options)
    torch.nn.init.constant_(conv.eps, 0.3)
    return conv


def test_layer_is_the_papers_formula(graphs):
    conv = make_conv(norm="none")
    first, second = conv.mlp[0], conv.mlp[3]
    h = 1.3 * graphs.x + graphs.dense() @ graphs.x
    expected = (h @ first.weight.t() + first.bias).relu() @ second.weight.t() + second.bias
    neighbours, weight, _ = graphs.by_target()
    assert_close(conv(graphs.x, neighbours, weight), expected, **CLOSE)


def test_batch_norm_stands_inside_the_mlp(graphs):
    conv = make_conv(norm="batch")
    first, second = conv.mlp[0], conv.mlp[3]
    h = first(1.3 * graphs.x + graphs.dense() @ graphs.x)
    h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
    expected = second(h.relu())
    neighbours, weight, _ = graphs.by_target()
    assert_close(conv(graphs.x, neighbours, weight), expected, **CLOSE)


def test_without_weights_the_layer_is_pygs(graphs):
    conv = make_conv(norm="none")
    pyg = PyGConv(conv.mlp, train_eps=True)
    pyg.eps = conv.eps
    neighbours, _, _ = graphs.by_target()
    out = conv(graphs.x, neighbours, None)
    assert_close(out, pyg(graphs.x, graphs.edge_index), **CLOSE)


def test_norm_none_removes_every_batch_norm():
    for norm, count in (("batch", 4), ("none", 0)):  # inside the MLP of each layer and after it
        model = GIN(3, 4, 2, 2, norm=norm)
        assert sum(isinstance(module, BatchNorm) for module in model.modules()) == count


def test_there_is_no_bias_in_front_of_batch_norm():
    for norm in ("batch", "none"):
        for layer in GIN(3, 4, 2, 2, norm=norm).layers:
            for place in (0, 3):
                assert (layer.conv.mlp[place].bias is None) == (norm == "batch")


def test_self_loop_is_an_ordinary_edge():
    conv = make_conv(norm="none")
    x, loop = torch.randn(1, 3), torch.tensor([[0], [0]])
    out = conv(x, Neighbours.of(loop, 1), torch.tensor([0.5]))
    assert_close(out, conv.mlp(1.3 * x + 0.5 * x))


def test_edge_attributes_with_weights_as_a_loop(graphs):
    conv = make_conv(norm="none", edge_dim=2)
    total = 1.3 * graphs.x
    attributes = graphs.edge_attr @ conv.lin_edge.weight.t() + conv.lin_edge.bias
    edges = zip(*graphs.edge_index.tolist(), graphs.edge_weight, attributes, strict=True)
    for j, i, weight, attribute in edges:
        total[i] += weight * (graphs.x[j] + attribute).relu()
    out = conv(graphs.x, *graphs.by_target())
    assert_close(out, conv.mlp(total), **CLOSE)


def test_edge_attributes_without_weights_are_pygs_gine(graphs):
    conv = make_conv(norm="none", edge_dim=2)
    pyg = GINEConv(conv.mlp, train_eps=True, edge_dim=2)
    pyg.eps, pyg.lin = conv.eps, conv.lin_edge
    neighbours, _, attr = graphs.by_target()
    out = conv(graphs.x, neighbours, None, attr)
    assert_close(out, pyg(graphs.x, graphs.edge_index, graphs.edge_attr), **CLOSE)
