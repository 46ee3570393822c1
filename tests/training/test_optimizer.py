import copy

import pytest
import torch
from torch import nn

from ifmixup.training.optimizer import FlatAdamW, flatten_parameters, is_flat, make_optimizer


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))


def inputs(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(5, 3, generator=generator) for _ in range(count)]


def step(optimizer, network: nn.Module, x: torch.Tensor, learning_rate: float = 0.1) -> None:
    optimizer.param_groups[0]["lr"] = learning_rate
    optimizer.zero_grad()
    network(x).square().sum().backward()
    optimizer.step()


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(map(torch.equal, one.parameters(), other.parameters()))


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_both_are_adamw(weight_decay):
    networks = [model() for _ in range(3)]
    flat, plain = (make_optimizer(networks[i], weight_decay, flat=i == 0) for i in (0, 1))
    assert (type(flat), type(plain)) == (FlatAdamW, torch.optim.AdamW)
    torchs = torch.optim.AdamW(networks[2].parameters(), weight_decay=weight_decay)
    for i, x in enumerate(inputs(20)):
        rate = 0.05 if i < 10 else 0.01
        step(flat, networks[0], x, rate)
        step(plain, networks[1], x, rate)
        torchs.param_groups[0]["lr"] = rate
        torchs.zero_grad()
        networks[2](x).square().sum().backward()
        torchs.step()
        for network in networks[:2]:
            for mine, theirs in zip(network.parameters(), networks[2].parameters(), strict=True):
                torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)


def test_the_first_step_is_as_long_as_the_learning_rate():
    network = nn.Linear(7, 1, bias=False)
    before = network.weight.detach().clone()
    optimizer = FlatAdamW(network, 0.0)
    network.weight.grad.copy_(torch.tensor([[1.0, -1.0, 5.0, -5.0, 0.1, 100.0, 0.0]]))
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    expected = -0.5 * torch.tensor([[1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 0.0]])
    torch.testing.assert_close(network.weight.detach() - before, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("flat", [True, False])
def test_it_goes_on_where_its_state_was_taken(flat):
    straight, steps = model(), inputs(6)
    optimizer = make_optimizer(straight, 0.01, flat=flat)
    for x in steps[:3]:
        step(optimizer, straight, x)
    state, there = copy.deepcopy((optimizer.state_dict(), straight.state_dict()))
    for x in steps[3:]:
        step(optimizer, straight, x)
    resumed = model()
    other = make_optimizer(resumed, 0.01, flat=flat)
    resumed.load_state_dict(there)
    other.load_state_dict(state)
    for x in steps[3:]:
        step(other, resumed, x)
    assert same(resumed, straight)


def test_weights_that_were_laid_out_anew_are_followed():
    one, other = model(), model()
    straight, moved = FlatAdamW(one, 0.01), FlatAdamW(other, 0.01)
    for i, x in enumerate(inputs(4)):
        if i == 2:
            other.double().float()
        moved.prepare()
        step(straight, one, x)
        step(moved, other, x)
    assert same(one, other)


def test_frozen_parameters_stay_and_the_others_are_trained():
    network = model()
    network[0].requires_grad_(False)
    before = copy.deepcopy(network)
    optimizer = make_optimizer(network, 0.1, flat=True)
    for x in inputs(3):
        step(optimizer, network, x)
    assert torch.equal(network[0].weight, before[0].weight)
    assert not torch.equal(network[2].weight, before[2].weight)


def test_parameters_of_two_dtypes():
    network = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2).double()])
    optimizer = make_optimizer(network, 0.0, flat=True)
    before = copy.deepcopy(network)
    loss = network[0](torch.ones(1, 2)).sum() + network[1](torch.ones(1, 2).double()).sum()
    loss.backward()
    optimizer.step()
    assert not torch.equal(network[0].weight, before[0].weight)
    assert not torch.equal(network[1].weight, before[1].weight)


def test_nothing_to_train_changes_nothing():
    network = model().requires_grad_(False)
    before = copy.deepcopy(network)
    optimizer = make_optimizer(network, 0.1, flat=True)
    optimizer.zero_grad()
    optimizer.step()
    assert same(network, before)
    make_optimizer(nn.Identity(), 0.1, flat=True).step()


def test_the_weights_stay_what_they_are_end_to_end():
    one, other = model(), model()
    flat = flatten_parameters(one)
    assert flat.shape == (3 * 4 + 4 + 4 * 2,)
    assert torch.equal(flat, torch.cat([value.flatten() for value in other.parameters()]))
    for name, value in other.state_dict().items():
        assert torch.equal(one.state_dict()[name], value)


def test_a_change_of_one_is_a_change_of_the_other():
    one = model()
    flat = flatten_parameters(one)
    with torch.no_grad():
        flat.fill_(2.0)
    assert all((value == 2).all() for value in one.parameters())
    one.load_state_dict({name: value + 1 for name, value in one.state_dict().items()})
    assert (flat == 3).all()


def test_gradients_gather_in_the_one():
    one, other, x = model(), model(), torch.randn(5, 3)
    optimizer = FlatAdamW(one, 0.0)
    flat = optimizer.weights
    assert (flat.grad == 0).all()
    for network in (one, other):
        network(x).square().sum().backward()
    expected = torch.cat([value.grad.flatten() for value in other.parameters()])
    torch.testing.assert_close(flat.grad, expected)
    gradient = flat.grad
    optimizer.zero_grad()
    assert flat.grad is gradient
    assert all((value.grad == 0).all() for value in one.parameters())


def test_what_undoes_it_is_noticed():
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    flat = flatten_parameters(network)
    assert is_flat(network, flat)
    network.zero_grad(set_to_none=False)
    assert is_flat(network, flat)
    network.zero_grad()
    assert not is_flat(network, flat)
    flat = flatten_parameters(network)
    network[1].weight.data = network[1].weight.data.clone()
    assert not is_flat(network, flat)
