from __future__ import annotations

import torch
from torch.testing import assert_close
from torch_geometric.nn import GINEConv

from ifmixup.nn import GIN
from ifmixup.nn.gin import GINConv

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
    assert_close(conv(graphs.x, graphs.edge_index, graphs.edge_weight), expected, **CLOSE)


def test_batch_norm_stands_inside_the_mlp(graphs):
    conv = make_conv(norm="batch")
    first, second = conv.mlp[0], conv.mlp[3]
    h = first(1.3 * graphs.x + graphs.dense() @ graphs.x)
    h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
    expected = second(h.relu())
    assert_close(conv(graphs.x, graphs.edge_index, graphs.edge_weight), expected, **CLOSE)


def test_norm_none_removes_every_batch_norm():
    model = GIN(3, 4, 2, 2, norm="none")
    assert not any(isinstance(module, torch.nn.BatchNorm1d) for module in model.modules())


def test_self_loop_is_an_ordinary_edge():
    conv = make_conv(norm="none")
    x, loop = torch.randn(1, 3), torch.tensor([[0], [0]])
    assert_close(conv(x, loop, torch.tensor([0.5])), conv.mlp(1.3 * x + 0.5 * x))


def test_edge_attributes_with_weights_as_a_loop(graphs):
    conv = make_conv(norm="none", edge_dim=2)
    total = 1.3 * graphs.x
    attributes = graphs.edge_attr @ conv.lin_edge.weight.t() + conv.lin_edge.bias
    edges = zip(*graphs.edge_index.tolist(), graphs.edge_weight, attributes, strict=True)
    for j, i, weight, attribute in edges:
        total[i] += weight * (graphs.x[j] + attribute).relu()
    out = conv(graphs.x, graphs.edge_index, graphs.edge_weight, graphs.edge_attr)
    assert_close(out, conv.mlp(total), **CLOSE)


def test_edge_attributes_without_weights_are_pygs_gine(graphs):
    conv = make_conv(norm="none", edge_dim=2)
    pyg = GINEConv(conv.mlp, train_eps=True, edge_dim=2)
    pyg.eps, pyg.lin = conv.eps, conv.lin_edge
    out = conv(graphs.x, graphs.edge_index, None, graphs.edge_attr)
    assert_close(out, pyg(graphs.x, graphs.edge_index, graphs.edge_attr), **CLOSE)
