from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ifmixup.nn import GCN, GCNConv, Neighbours

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def paper(adjacency: Tensor, h: Tensor, conv: GCNConv) -> Tensor:
    """The paper's sum before the non-linearity, with dense matrices (and a bias)."""
    with_self = adjacency.fill_diagonal_(0) + torch.eye(len(h))
    degree = with_self.sum(dim=1)
    normal = with_self / (degree[:, None] * degree[None, :]).sqrt()
    return normal @ h @ conv.lin.weight.t() + conv.bias


def make_conv(in_channels: int, out_channels: int) -> GCNConv:
    conv = GCNConv(in_channels, out_channels)
    torch.nn.init.normal_(conv.bias)  # zeros would hide a bias in the wrong position
    return conv


def test_degree_of_a_path_by_hand():
    # 0 -1- 1 -½- 2: the degrees with the self-loop are 2, 2½ and 1½.
    neighbours = Neighbours.of(torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]]), 3)
    weight = torch.tensor([1.0, 1.0, 0.5, 0.5])
    _, edges, nodes = GCNConv(3, 2)._prepare(neighbours, weight, None)
    a, b = 1 / (2 * 2.5) ** 0.5, 0.5 / (2.5 * 1.5) ** 0.5
    assert_close(edges, torch.tensor([a, a, b, b]))
    assert_close(nodes, torch.tensor([[1 / 2], [1 / 2.5], [1 / 1.5]]))


@pytest.mark.parametrize("out_channels", [2, 3, 8])  # narrower than the input, as wide, wider
def test_layer_is_the_papers_formula(graphs, out_channels):
    conv = make_conv(3, out_channels)
    out = conv(graphs.x, graphs.edge_index, graphs.edge_weight)
    assert_close(out, paper(graphs.dense(), graphs.x, conv), **CLOSE)


def test_weighted_self_loop_is_replaced_by_one_of_weight_one(graphs):
    model = GCN(3, 4, 2, 2).eval()
    twice = torch.tensor([[1, 1], [1, 1]])
    loops = torch.cat([graphs.edge_index, twice], dim=1)
    weight = torch.cat([graphs.edge_weight, torch.tensor([0.2, 0.3])])
    without = model(graphs.x, graphs.edge_index, graphs.edge_weight)
    assert_close(model(graphs.x, loops, weight), without)


def test_skip_goes_around_each_layer(graphs):
    model = GCN(3, 4, 2, 2, norm="none")
    first, second = model.layers
    h = paper(graphs.dense(), graphs.x, first.conv).relu() + first.skip(graphs.x)
    h = paper(graphs.dense(), h, second.conv).relu() + h
    embedding = model.embed(graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch)
    assert_close(embedding, torch.stack([h[:4].sum(0), h[4]]), **CLOSE)


@pytest.mark.parametrize("out_channels", [2, 3, 8])
def test_without_a_bias_only_the_bias_is_missing(graphs, out_channels):
    conv, bare = make_conv(3, out_channels), GCNConv(3, out_channels, bias=False)
    bare.lin.load_state_dict(conv.lin.state_dict())
    edges = (graphs.edge_index, graphs.edge_weight)
    assert_close(bare(graphs.x, *edges) + conv.bias, conv(graphs.x, *edges), **CLOSE)


def test_there_is_no_bias_in_front_of_batch_norm():
    assert all(layer.conv.bias is None for layer in GCN(3, 4, 2, 2).layers)
    assert all(layer.conv.bias is not None for layer in GCN(3, 4, 2, 2, norm="none").layers)


def test_degrees_above_256_count_in_low_precision():
    star = torch.stack([torch.arange(1, 601), torch.zeros(600, dtype=torch.long)])
    conv = GCNConv(1, 1, bias=False).bfloat16()
    out = conv(torch.ones(601, 1, dtype=torch.bfloat16), star)
    expected = (600 / 601**0.5 + 1 / 601) * conv.lin.weight.double().item()
    assert out[0].item() == pytest.approx(expected, rel=0.02)
