from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu
from torch.testing import assert_close
from torch_geometric.nn import GATConv as PyGConv

from ifmixup.nn import Neighbours
from ifmixup.nn.attention import unit_loops
from ifmixup.nn.gat import GATConv

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def dense(adjacency: Tensor, h: Tensor, conv: GATConv) -> Tensor:
    """e(i,j)·exp(LeakyReLU(a_t·Wh_i + a_s·Wh_j)), normalised over j, with dense matrices."""
    weight = adjacency + torch.eye(len(h))
    out = []
    for head in range(conv.heads):
        rows = slice(4 * head, 4 * head + 4)
        wh = h @ conv.lin.weight[rows].t()
        at_target, at_source = wh @ conv.att_dst[0, head], wh @ conv.att_src[0, head]
        share = weight * leaky_relu(at_target[:, None] + at_source[None, :], 0.2).exp()
        out.append(share / share.sum(dim=1, keepdim=True) @ wh)
    return torch.cat(out, dim=1) + conv.bias


def make_conv() -> GATConv:
    conv = GATConv(3, 8, heads=2)
    torch.nn.init.normal_(conv.bias)
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
