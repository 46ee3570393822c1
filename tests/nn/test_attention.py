from __future__ import annotations

import torch
from torch.testing import assert_close

from ifmixup.nn import Neighbours
from ifmixup.nn.attention import unit_loops, weighted_softmax


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


def test_unit_loops_replace_those_of_the_input():
    neighbours = Neighbours.of(torch.tensor([[1, 0, 1, 1], [0, 1, 1, 1]]), 3)
    loops, weight = unit_loops(neighbours, torch.tensor([0.2, 0.5, 0.3, 0.7]))
    assert loops.tolist() == [[1, 0, 1, 1, 0, 1, 2], [0, 1, 1, 1, 0, 1, 2]]
    assert_close(weight, torch.tensor([0.2, 0.5, 0.0, 0.0, 1.0, 1.0, 1.0]))
