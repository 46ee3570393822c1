from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu
from torch.testing import assert_close
from torch_geometric.nn import GATv2Conv as PyGConv

from ifmixup.nn import Neighbours
from ifmixup.nn.attention import unit_loops
from ifmixup.nn.gatv2 import GATv2Conv

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def dense(adjacency: Tensor, h: Tensor, conv: GATv2Conv) -> Tensor:
    """e(i,j)·exp(a·LeakyReLU(W_t h_i + W_s h_j)), normalised over j, with dense matrices."""
    weight = adjacency + torch.eye(len(h))
    out = []
    for head in range(conv.heads):
        rows = slice(4 * head, 4 * head + 4)
        at_source = h @ conv.lin_l.weight[rows].t() + conv.lin_l.bias[rows]
        at_target = h @ conv.lin_r.weight[rows].t() + conv.lin_r.bias[rows]
        both = leaky_relu(at_target[:, None, :] + at_source[None, :, :], 0.2)
        share = weight * (both @ conv.att[0, head]).exp()
        out.append(share / share.sum(dim=1, keepdim=True) @ at_source)
    return torch.cat(out, dim=1) + conv.bias


def make_conv() -> GATv2Conv:
    conv = GATv2Conv(3, 8, heads=2)
    for bias in (conv.bias, conv.lin_l.bias, conv.lin_r.bias):
        torch.nn.init.normal_(bias)
    return conv


def test_layer_is_the_formula(graphs):
    conv = make_conv()
    neighbours, weight, _ = graphs.by_target()
    out = conv(graphs.x, *unit_loops(neighbours, weight))
    assert_close(out, dense(graphs.dense(), graphs.x, conv), **CLOSE)


def test_weight_one_is_pygs_layer(graphs):
    # With two self-loops of the graph's own, which both replace by one.
    edge_index = torch.cat([graphs.edge_index, torch.tensor([[1, 4], [1, 4]])], dim=1)
    conv, pyg = make_conv(), PyGConv(3, 4, heads=2)
    pyg.load_state_dict(conv.state_dict())
    out = conv(graphs.x, *unit_loops(Neighbours.of(edge_index, 5), torch.ones(9)))
    assert_close(out, pyg(graphs.x, edge_index), **CLOSE)
