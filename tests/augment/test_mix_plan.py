import numpy as np
import pytest
import torch

from ifmixup.augment.mix_plan import MixPlan, check_ratio_options, draw_plan
from ifmixup.errors import InputError


def draw(count=2000, dtype=torch.float32, **options) -> MixPlan:
    options = {"alpha": 20.0, "beta": 1.0, "p": 1.0, "ratio": "pair"} | options
    rng = np.random.default_rng(0)
    return draw_plan(rng, rng.permutation(count), like=torch.zeros(1, dtype=dtype), **options)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (2.0, 2.0), (20.0, 1.0)])
def test_the_ratio_follows_beta(alpha, beta):
    lam = draw(20_000, alpha=alpha, beta=beta).lam.double()
    mean = alpha / (alpha + beta)
    variance = mean * (1 - mean) / (alpha + beta + 1)
    assert lam.mean().item() == pytest.approx(mean, abs=0.005)
    assert lam.var().item() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(("alpha", "beta"), [(1e-3, 1e-3), (1e6, 1e-3), (1e-3, 1e6)])
def test_the_ratio_stays_inside_in_its_dtype(dtype, alpha, beta):
    lam = draw(dtype=dtype, alpha=alpha, beta=beta).lam
    assert lam.dtype == dtype
    for part in (lam, 1 - lam):
        assert (part > 0).all()
        assert (part < 1).all()


def test_a_ratio_a_batch():
    assert draw(ratio="batch").lam.unique().numel() == 1
    assert draw().lam.unique().numel() > 1900


def test_some_graphs_pass_as_they_are():
    plan = draw(p=0.3)
    alone = plan.partner == torch.arange(2000)
    assert torch.equal(plan.lam == 1, alone)
    assert (~alone).float().mean().item() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((0.0, 1.0, 1.0, "pair"), r"alpha > 0 and beta > 0; got \(0.0, 1.0\)"),
        ((1.0, float("inf"), 1.0, "pair"), "alpha > 0 and beta > 0"),
        ((1.0, float("nan"), 1.0, "pair"), "alpha > 0 and beta > 0"),
        ((1.0, 1.0, 1.5, "pair"), r"p must be in \[0, 1\]; got 1.5"),
        ((1.0, 1.0, 1.0, "pairs"), "Unknown ratio 'pairs'. Did you mean 'pair'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        check_ratio_options(*options)
