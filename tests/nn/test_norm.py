from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from ifmixup.nn import BatchNorm, weigh_nodes
from ifmixup.nn.norm import make_norm

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
WEIGHT = torch.tensor([1.0, 0.25, 1.0, 0.0, 0.75, 1.0])


def steps(norm: nn.Module, *given: Tensor) -> list[Tensor]:
    """All that three steps of training and a look in between give and change."""
    generator = torch.Generator().manual_seed(0)
    nn.init.uniform_(norm.weight, generator=generator)
    nn.init.uniform_(norm.bias, generator=generator)
    seen = []
    for training in (True, True, False, True, False):
        norm.train(training)
        h = (3 * torch.randn(6, 2, generator=generator) + 1).requires_grad_()
        out = norm(h, *given)
        direction = torch.randn(6, 2, generator=generator)
        grads = torch.autograd.grad(out, [h, norm.weight, norm.bias], direction)
        seen += [out.detach(), *grads, norm.running_mean.clone(), norm.running_var.clone()]
    return seen


@pytest.mark.parametrize("options", [{}, {"momentum": 0.3, "eps": 0.1}, {"momentum": None}])
def test_it_is_torchs_batch_norm(options):
    expected = steps(nn.BatchNorm1d(2, **options))
    for ours, torchs in zip(steps(BatchNorm(2, **options)), expected, strict=True):
        assert torch.equal(ours, torchs)
    assert_close(steps(BatchNorm(2, **options), torch.ones(6)), expected, **CLOSE)


def test_it_loads_what_torchs_has_saved_and_what_has_no_counter():
    torchs, ours = nn.BatchNorm1d(2), BatchNorm(2)
    torchs(torch.randn(6, 2))
    ours.load_state_dict(torchs.state_dict())
    assert torch.equal(ours.running_var, torchs.running_var)
    state = {k: v for k, v in torchs.state_dict().items() if k != "num_batches_tracked"}
    ours.load_state_dict(state)


def test_a_weight_is_how_often_a_node_counts():
    counts = torch.tensor([1, 3, 2])
    h = torch.randn(3, 2, dtype=torch.float64)
    often, rare = BatchNorm(2).double(), BatchNorm(2).double()
    out = often(h.repeat_interleave(counts, 0))
    assert_close(rare(h, counts.double()).repeat_interleave(counts, 0), out)
    assert_close(rare.state_dict(), often.state_dict())


def test_weighted_statistics_by_hand():
    norm = BatchNorm(1, eps=0.0, momentum=0.5)
    out = norm(torch.tensor([[0.0], [2.0], [9.0]]), torch.tensor([1.5, 0.5, 0.0]))
    # The mean is ½, the variance ¾; the running variance has ¾ · 2 / (2 − 1).
    assert_close(out, (torch.tensor([[0.0], [2.0], [9.0]]) - 0.5) / 0.75**0.5)
    assert norm.running_mean.item() == pytest.approx(0.5 * 0.5)
    assert norm.running_var.item() == pytest.approx(0.5 * 1 + 0.5 * 1.5)


def test_gradients_with_weights():
    norm = BatchNorm(2).double()
    weight = WEIGHT.double().requires_grad_()
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    nn.init.uniform_(norm.weight)
    for given in (weight, weight.detach()):  # by torch's derivatives and by ours

        def function(h, gamma, beta, given=given):
            parameters = {"weight": gamma, "bias": beta}
            return torch.func.functional_call(norm, parameters, (h, given))

        inputs = (h, norm.weight, norm.bias)
        assert torch.autograd.gradcheck(function, inputs, check_undefined_grad=False)
    assert torch.autograd.gradcheck(lambda w: norm(h.detach(), w), weight)


def test_second_derivatives_with_weights_are_refused():
    h = torch.randn(6, 2, requires_grad=True)
    out = BatchNorm(2)(h, WEIGHT)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        torch.autograd.grad(out.square().sum(), h, create_graph=True)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize(
    ("h", "weight"),
    [
        (torch.tensor([[3.0, -1.0]]), None),
        (torch.tensor([[3.0, -1.0]]), torch.tensor([0.5])),
        (torch.tensor([[3.0, -1.0], [3.0, -1.0]]), torch.tensor([0.5, 0.5])),
        (torch.tensor([[3.0, -1.0], [3.0, -1.0]]), torch.tensor([0.0, 0.0])),
    ],
)
@pytest.mark.parametrize("learns", [False, True])
def test_up_to_one_node_the_running_statistics_are_used_and_stay(h, weight, momentum, learns):
    norm = BatchNorm(2, momentum=momentum).train()
    norm.running_mean.fill_(1.0)
    norm.running_var.fill_(4.0)
    if weight is not None:
        weight = weight.clone().requires_grad_(learns)  # which takes the way of other devices
    expected = torch.tensor([1.0, -1.0]).expand_as(h)
    assert_close(norm(h, weight), expected, atol=1e-5, rtol=0)
    assert norm.running_mean.tolist() == [1.0, 1.0]
    assert norm.running_var.tolist() == [4.0, 4.0]
    assert norm.num_batches_tracked == 0


def test_in_eval_mode_weights_have_no_effect():
    norm, h = BatchNorm(2).eval(), torch.randn(6, 2)
    assert torch.equal(norm(h, WEIGHT), norm(h))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("cast", [False, True])
def test_low_precision(dtype, cast):
    norm, low = BatchNorm(2), BatchNorm(2)
    if cast:
        low = low.to(dtype)
    h = 3 + torch.randn(6, 2)
    with torch.autocast("cpu", dtype):
        out = low(h.to(dtype).requires_grad_(), WEIGHT)
    assert out.dtype == dtype
    out.sum().backward()
    assert_close(out.float(), norm(h, WEIGHT), atol=0.05, rtol=0.05)
    assert_close(low.running_mean.float(), norm.running_mean, atol=0.05, rtol=0.05)


def test_a_constant_in_front_changes_nothing():
    norm, h = BatchNorm(2), torch.randn(6, 2)
    for weight in (None, WEIGHT):
        moved = norm(h + torch.tensor([3.0, -2.0]), weight)
        assert_close(moved, norm(h, weight), atol=1e-5, rtol=0)


def test_weigh_nodes_reaches_every_batch_norm_inside_and_only_in_the_block():
    inner = nn.ModuleDict({"deep": nn.Sequential(nn.Identity(), BatchNorm(2))})
    h = torch.randn(6, 2)
    without, expected = inner["deep"](h), BatchNorm(2)(h, WEIGHT)
    with weigh_nodes(inner, WEIGHT):
        assert_close(inner["deep"](h), expected)
    assert torch.equal(inner["deep"](h), without)
    with pytest.raises(ValueError, match="stop"), weigh_nodes(inner, WEIGHT):
        raise ValueError("stop")
    assert torch.equal(inner["deep"](h), without)
    with weigh_nodes(inner, None), weigh_nodes(inner, torch.ones(6)):
        assert torch.equal(inner["deep"](h), without)


def test_compiles_with_weights():
    torch.compiler.reset()
    norm = BatchNorm(2)
    compiled = torch.compile(copy.deepcopy(norm), backend="aot_eager", fullgraph=True)
    h = torch.randn(6, 2, requires_grad=True)

    def result(norm):
        out = norm(h, WEIGHT)
        return out, torch.autograd.grad(out.square().sum(), h)

    assert_close(result(compiled), result(norm), **CLOSE)
    assert_close(compiled._orig_mod.running_var, norm.running_var)


def test_no_device_is_written_into_it():
    out = BatchNorm(2).to("meta")(torch.randn(6, 2, device="meta"), WEIGHT.to("meta"))
    assert out.is_meta


def test_reset_copy_and_pickle():
    norm = BatchNorm(2)
    norm(torch.randn(6, 2))
    for other in (copy.deepcopy(norm), pickle.loads(pickle.dumps(norm))):
        assert_close(other.state_dict(), norm.state_dict())
    nn.init.normal_(norm.weight)
    norm.reset_parameters()
    assert_close(norm.state_dict(), BatchNorm(2).state_dict())


def test_batch_norm_or_nothing():
    assert isinstance(make_norm("batch", 2), BatchNorm)
    assert isinstance(make_norm("none", 2), nn.Identity)
