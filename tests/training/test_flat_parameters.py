import torch
from torch import nn

from ifmixup.training.flat_parameters import flatten_parameters, is_flat


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))


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
    flat = flatten_parameters(one)
    assert (flat.grad == 0).all()
    for network in (one, other):
        network(x).square().sum().backward()
    expected = torch.cat([value.grad.flatten() for value in other.parameters()])
    torch.testing.assert_close(flat.grad, expected)
    flat.grad.zero_()
    assert all((value.grad == 0).all() for value in one.parameters())


def test_an_optimiser_takes_the_same_steps():
    one, other = model(), model()
    flat = flatten_parameters(one)
    options = {"lr": 0.1, "weight_decay": 0.1}
    optimizers = [
        torch.optim.AdamW([flat], fused=True, **options),
        torch.optim.AdamW(other.parameters(), **options),
    ]
    for seed in range(5):
        x = torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))
        flat.grad.zero_()
        optimizers[1].zero_grad()
        for network, optimizer in zip((one, other), optimizers, strict=True):
            network(x).square().sum().backward()
            optimizer.step()
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_what_undoes_it_is_noticed():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    flat = flatten_parameters(model)
    assert is_flat(model, flat)
    model.zero_grad(set_to_none=False)
    assert is_flat(model, flat)
    model.zero_grad()
    assert not is_flat(model, flat)
    flat = flatten_parameters(model)
    model[1].weight.data = model[1].weight.data.clone()
    assert not is_flat(model, flat)
