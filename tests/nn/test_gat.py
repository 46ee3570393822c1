from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu
from torch.testing import assert_close

from ifmixup.nn import GATConv, GATv2Conv
from ifmixup.nn.gat import weighted_softmax

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def scores(conv: GATConv | GATv2Conv, h: Tensor, head: int) -> tuple[Tensor, Tensor]:
    """The scores ``[i, j]`` of the edges from j to i, and what the nodes send, of one head."""
    rows = slice(4 * head, 4 * head + 4)
    if isinstance(conv, GATConv):
        wh = h @ conv.lin.weight[rows].t()
        at_target, at_source = wh @ conv.att_dst[0, head], wh @ conv.att_src[0, head]
        return leaky_relu(at_target[:, None] + at_source[None, :], 0.2), wh
    at_source = h @ conv.lin_l.weight[rows].t() + conv.lin_l.bias[rows]
    at_target = h @ conv.lin_r.weight[rows].t() + conv.lin_r.bias[rows]
    both = leaky_relu(at_target[:, None, :] + at_source[None, :, :], 0.2)
    return both @ conv.att[0, head], at_source


def dense(adjacency: Tensor, h: Tensor, conv: GATConv | GATv2Conv) -> list[Tensor]:
    """e(i,j)·exp(s(i,j)), normalised over j, with dense matrices: one result per head."""
    weight = adjacency + torch.eye(len(h))
    out = []
    for head in range(conv.heads):
        score, sent = scores(conv, h, head)
        share = weight * score.exp()
        out.append(share / share.sum(dim=1, keepdim=True) @ sent)
    return out


@pytest.mark.parametrize("kind", [GATConv, GATv2Conv])
@pytest.mark.parametrize("concat", [True, False])
def test_layer_is_the_formula(graphs, kind, concat):
    conv = kind(3, 4, heads=2, concat=concat)
    for name, parameter in conv.named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter)  # zeros would hide a bias in the wrong position
    heads = dense(graphs.dense(), graphs.x, conv)
    expected = torch.cat(heads, dim=1) if concat else torch.stack(heads).mean(0)
    out = conv(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
    assert_close(out, expected + conv.bias, **CLOSE)


@pytest.mark.parametrize("kind", [GATConv, GATv2Conv])
def test_own_self_loops_are_replaced_by_one_of_weight_one(graphs, kind):
    conv = kind(3, 4)
    loops = torch.cat([graphs.edge_index, torch.tensor([[1, 1, 4], [1, 1, 4]])], dim=1)
    weight = torch.cat([graphs.edge_weight, torch.tensor([0.2, 3.0, 0.0])])
    assert_close(
        conv(graphs.x, loops, edge_weight=weight),
        conv(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight),
        **CLOSE,
    )


@pytest.mark.parametrize("kind", [GATConv, GATv2Conv])
def test_dropout_drops_coefficients_while_training(graphs, kind):
    conv = kind(3, 4, dropout=1.0)
    assert conv(graphs.x, graphs.edge_index).abs().max() == 0
    assert conv.eval()(graphs.x, graphs.edge_index).abs().max() > 0


@pytest.mark.parametrize("kind", [GATConv, GATv2Conv])
def test_weights_go_in_by_keyword_only(graphs, kind):
    with pytest.raises(TypeError, match="positional argument"):
        kind(3, 4)(graphs.x, graphs.edge_index, graphs.edge_weight)


def test_softmax_counts_each_edge_by_its_weight():
    # Node 1: e·exp(s) is 1·2 and 0.5·4, so half each. Node 0 has one edge.
    score = torch.tensor([[2.0], [4.0], [8.0]]).log()
    alpha = weighted_softmax(score, torch.tensor([1.0, 0.5, 0.1]), torch.tensor([1, 1, 0]), 2)
    assert_close(alpha, torch.tensor([[0.5], [0.5], [1.0]]))


def test_softmax_treats_heads_apart():
    score = torch.tensor([[0.0, 3.0], [0.0, 1.0]])
    alpha = weighted_softmax(score, torch.ones(2), torch.tensor([0, 0]), 1)
    assert_close(alpha, score.softmax(dim=0))


def test_softmax_is_stable_for_extreme_scores():
    score = torch.tensor([[1000.0], [1000.0], [-1000.0], [-1001.0]])
    target = torch.tensor([0, 0, 1, 1])
    alpha = weighted_softmax(score, torch.tensor([0.25, 0.75, 1.0, 1.0]), target, 2)
    expected = torch.tensor([0.25, 0.75, *torch.tensor([1.0, 0.0]).softmax(0)]).unsqueeze(-1)
    assert_close(alpha, expected)


def test_edge_of_weight_zero_is_no_edge_even_with_the_largest_score():
    score = torch.tensor([[1000.0], [0.0], [0.0]], requires_grad=True)
    weight = torch.tensor([0.0, 0.4, 0.4], requires_grad=True)
    alpha = weighted_softmax(score, weight, torch.zeros(3, dtype=torch.long), 1)
    assert_close(alpha.detach(), torch.tensor([[0.0], [0.5], [0.5]]))
    (grad_score, grad_weight) = torch.autograd.grad(alpha[1].sum(), (score, weight))
    assert_close(grad_score, torch.tensor([[0.0], [0.25], [-0.25]]))
    assert grad_weight.isfinite().all()


def test_gradient_towards_a_weight_of_zero_is_exact():
    # The zero edge has the largest score; near 0 its share is w·e² / (e⁰ + e¹).
    score = torch.tensor([[2.0], [0.0], [1.0]], dtype=torch.float64)
    weight = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
    alpha = weighted_softmax(score, weight, torch.zeros(3, dtype=torch.long), 1)
    (grad,) = torch.autograd.grad(alpha[0].sum(), weight)
    e = score.exp().squeeze()
    assert_close(grad, torch.stack([e[0] / (e[1] + e[2]), e[0] * 0, e[0] * 0]))
