from __future__ import annotations

import torch
from torch import nn
from torch.testing import assert_close

from ifmixup.nn.norm import BatchNorm, make_norm


def steps(norm: nn.Module) -> list[torch.Tensor]:
    """All that three steps of training and a look in between give and change."""
    generator = torch.Generator().manual_seed(0)
    nn.init.uniform_(norm.weight, generator=generator)
    nn.init.uniform_(norm.bias, generator=generator)
    seen = []
    for training in (True, True, False, True, False):
        norm.train(training)
        h = (3 * torch.randn(6, 2, generator=generator) + 1).requires_grad_()
        out = norm(h)
        direction = torch.randn(6, 2, generator=generator)
        grads = torch.autograd.grad(out, [h, norm.weight, norm.bias], direction)
        seen += [out.detach(), *grads, norm.running_mean.clone(), norm.running_var.clone()]
    return seen


def test_it_is_torchs_batch_norm():
    for ours, torchs in zip(steps(BatchNorm(2)), steps(nn.BatchNorm1d(2)), strict=True):
        assert torch.equal(ours, torchs)


def test_one_node_falls_back_on_the_running_statistics_and_leaves_them_alone():
    norm, h = BatchNorm(2).train(), torch.tensor([[3.0, -1.0]])
    norm.running_mean.fill_(1.0)
    norm.running_var.fill_(4.0)
    assert_close(norm(h), torch.tensor([[1.0, -1.0]]), atol=1e-5, rtol=0)
    assert norm.running_mean.tolist() == [1.0, 1.0]
    assert norm.running_var.tolist() == [4.0, 4.0]


def test_a_constant_in_front_changes_nothing():
    norm, h = BatchNorm(2), torch.randn(6, 2)
    assert_close(norm(h + torch.tensor([3.0, -2.0])), norm(h), atol=1e-5, rtol=0)


def test_reset_forgets_everything():
    norm = BatchNorm(2)
    norm(torch.randn(6, 2))
    nn.init.normal_(norm.weight)
    norm.reset_parameters()
    assert_close(norm.state_dict(), BatchNorm(2).state_dict())


def test_batch_norm_or_nothing():
    assert isinstance(make_norm("batch", 2), BatchNorm)
    assert isinstance(make_norm("none", 2), nn.Identity)
