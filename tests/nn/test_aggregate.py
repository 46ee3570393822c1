from __future__ import annotations

import torch
from torch.testing import assert_close

from ifmixup.nn.aggregate import sum_at, weighted_sum, without_loops


def test_sum_at_adds_the_rows_of_each_target():
    values = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    out = sum_at(values, torch.tensor([2, 0, 2]), 4)
    assert out.tolist() == [[2.0, 20.0], [0.0, 0.0], [4.0, 40.0], [0.0, 0.0]]


def test_weighted_sum_is_the_dense_product(graphs):
    before = graphs.x.clone()
    out = weighted_sum(graphs.x, graphs.edge_index, graphs.edge_weight)
    assert_close(out, graphs.dense() @ graphs.x)
    assert torch.equal(graphs.x, before)


def test_weighted_sum_without_weights_counts_every_edge_once(graphs):
    graphs.edge_weight = torch.ones(7)
    out = weighted_sum(graphs.x, graphs.edge_index, None)
    assert_close(out, graphs.dense() @ graphs.x)


def test_weighted_sum_gradients(graphs64):
    # The messages are scaled in place: towards both inputs the gradient must still be right.
    inputs = (graphs64.x.requires_grad_(), graphs64.edge_weight.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, w: weighted_sum(x, graphs64.edge_index, w), inputs)


def test_without_loops_masks_every_loop_however_often_it_stands():
    edge_index = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 0]])
    weight = torch.tensor([0.5, 0.4, 0.6, 0.7], requires_grad=True)
    out = without_loops(edge_index, weight)
    out.sum().backward()
    assert_close(out.detach(), torch.tensor([0.0, 0.0, 0.0, 0.7]))
    assert weight.grad.tolist() == [0.0, 0.0, 0.0, 1.0]
