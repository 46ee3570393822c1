import copy

import pytest
import torch
from torch import nn

from ifmixup.training.flat_adamw import FlatAdamW


def weights() -> nn.Parameter:
    flat = nn.Parameter(torch.linspace(-1, 1, 7))
    flat.grad = torch.zeros_like(flat)
    return flat


def gradients(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(7, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_is_adamw(weight_decay):
    flat, other = weights(), weights()
    mine = FlatAdamW(flat, 0.05, weight_decay)
    theirs = torch.optim.AdamW([other], lr=0.05, weight_decay=weight_decay)
    for place, gradient in enumerate(gradients(20)):
        if place == 10:
            mine.learning_rate = theirs.param_groups[0]["lr"] = 0.01
        flat.grad.copy_(gradient)
        other.grad.copy_(gradient)
        mine.step()
        theirs.step()
        torch.testing.assert_close(flat, other, rtol=1e-6, atol=1e-7)


def test_the_first_step_is_as_long_as_the_learning_rate():
    flat = weights()
    flat.grad.copy_(torch.tensor([1.0, -1.0, 5.0, -5.0, 0.1, 100.0, 0.0]))
    FlatAdamW(flat, 0.5, 0.0).step()
    moved = flat.detach() - torch.linspace(-1, 1, 7)
    expected = -0.5 * torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 0.0])
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-6)


def test_it_goes_on_where_its_state_was_taken():
    flat = weights()
    straight = FlatAdamW(flat, 0.1, 0.01)
    steps = gradients(6)
    for gradient in steps[:3]:
        flat.grad.copy_(gradient)
        straight.step()
    state, there = copy.deepcopy(straight.state_dict()), flat.detach().clone()
    for gradient in steps[3:]:
        flat.grad.copy_(gradient)
        straight.step()
    again = weights()
    again.data.copy_(there)
    resumed = FlatAdamW(again, 0.1, 0.01)
    resumed.load_state_dict(state)
    for gradient in steps[3:]:
        again.grad.copy_(gradient)
        resumed.step()
    assert torch.equal(again, flat)


def test_the_gradient_is_set_to_zero_in_place():
    flat = weights()
    gradient = flat.grad
    gradient.fill_(3)
    FlatAdamW(flat, 0.1, 0.0).zero_grad()
    assert flat.grad is gradient
    assert not gradient.any()


def test_it_follows_weights_that_were_laid_out_anew():
    flat, again = weights(), weights()
    one, other = FlatAdamW(flat, 0.1, 0.0), FlatAdamW(again, 0.1, 0.0)
    for place, gradient in enumerate(gradients(4)):
        if place == 2:
            moved = nn.Parameter(again.detach().clone())
            moved.grad = torch.zeros_like(moved)
            other.follow(moved)
            again = moved
        flat.grad.copy_(gradient)
        again.grad.copy_(gradient)
        one.step()
        other.step()
    assert torch.equal(flat, again)
