import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from ifmixup import augment
from ifmixup.augment.draws import (
    MixPlan,
    PairMethod,
    check_fraction,
    draw_seed,
    hash_integers,
    hash_uniform,
)
from ifmixup.batch import from_batch
from ifmixup.errors import InputError


def test_splitmix64_from_its_definition():
    def splitmix(seed: int, key: int) -> int:
        value = (key * 0x9E3779B97F4A7C15 + seed * 0xD1342543DE82EF95 + 1) % 2**64
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)

    for seed in (0, 1, 2**61 + 12345):
        keys = [0, 1, 2, 77, 2**40 + 3]
        expected = [splitmix(seed, key) for key in keys]
        assert [v % 2**64 for v in hash_integers(seed, torch.tensor(keys)).tolist()] == expected


def test_hashed_numbers_are_uniform_and_uncorrelated():
    draws = torch.stack([hash_uniform(seed, torch.arange(20_000)) for seed in range(20)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert (draws.mean(1) - 0.5).abs().max() < 0.01
    histogram = torch.histc(draws, 10, 0, 1) / draws.numel()
    assert (histogram - 0.1).abs().max() < 0.003
    assert torch.corrcoef(draws).fill_diagonal_(0).abs().max() < 0.03
    assert torch.corrcoef(torch.stack([draws[0, 1:], draws[0, :-1]]))[0, 1].abs() < 0.03


def test_seeds_come_from_the_generator():
    one, other = (torch.Generator().manual_seed(5) for _ in range(2))
    assert draw_seed(one) == draw_seed(other)
    assert draw_seed(one) != draw_seed(torch.Generator().manual_seed(5))


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_fractions(value):
    with pytest.raises(InputError, match=r"drop_ratio must be in \[0, 1\]; got"):
        check_fraction("drop_ratio", value)


def draw(count=2000, dtype=torch.float32, **options) -> MixPlan:
    rng = np.random.default_rng(0)
    method = PairMethod(2, **options)
    return method.draw_ratios(rng, rng.permutation(count), torch.zeros(1, dtype=dtype))


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


def test_one_ratio_per_batch():
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
        ({"alpha": 0.0}, r"alpha > 0 and beta > 0; got \(0.0, 1.0\)"),
        ({"beta": float("inf")}, "alpha > 0 and beta > 0"),
        ({"beta": float("nan")}, "alpha > 0 and beta > 0"),
        ({"p": 1.5}, r"p must be in \[0, 1\]; got 1.5"),
        ({"ratio": "pairs"}, "Unknown ratio 'pairs'. Did you mean 'pair'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        PairMethod(2, **options)


class TestStoredRuns:
    """Numbers that stored runs were trained with: a method must go on drawing them."""

    @pytest.fixture
    def graphs(self, batch):
        return from_batch(batch_of(batch, [0, 1, 2, 3]))

    def method(self, name, **options):
        return augment.create(name, 2, generator=torch.Generator().manual_seed(7), **options)

    @pytest.mark.parametrize(
        ("options", "partner", "lam"),
        [
            ({}, [2, 3, 1, 0], [0.989, 0.941977, 0.97993, 0.978385]),
            ({"p": 0.5}, [0, 1, 2, 0], [1.0, 1.0, 1.0, 0.978385]),
            (
                {"pairing": "same-size", "alpha": 1.0},
                [0, 3, 0, 1],
                [0.314724, 0.8698, 0.600606, 0.024279],
            ),
            ({"ratio": "batch"}, [2, 3, 1, 0], [0.989] * 4),
            ({"shuffle_every": 2}, [0, 3, 2, 1], [0.934079, 0.943139, 0.95835, 0.837836]),
        ],
        ids=str,
    )
    def test_ifmixup(self, graphs, options, partner, lam):
        plan = self.method("ifmixup", **options).draw(graphs)
        assert plan.partner.tolist() == partner
        torch.testing.assert_close(plan.lam, torch.tensor(lam), atol=1e-6, rtol=0)

    def test_node_orders(self, graphs):
        order = self.method("ifmixup", shuffle_every=2).draw(graphs).node_order
        assert order.tolist() == [1, 2, 0, 4, 7, 3, 6, 5, 11, 8, 9, 10, 13, 16, 12, 15, 14]

    def test_ifmixup_takes_one_draw_per_batch(self, graphs):
        method = self.method("ifmixup")
        batches = [torch.tensor([2, 0, 1]), torch.tensor([3, 1])]
        y = [part.graphs["y"][:, 0] for part in method.take(method._prepare(graphs), batches)]
        torch.testing.assert_close(y[0], torch.tensor([0.983751, 0.0, 0.004613]), atol=1e-6, rtol=0)
        assert y[1].tolist() == [0.0, 0.0]

    def test_mixup_graph_draws_as_ifmixup(self, graphs):
        method = self.method("mixup_graph")
        plans = [method.draw(graphs) for _ in range(2)]
        assert [plan.partner.tolist() for plan in plans] == [[2, 3, 1, 0], [0, 3, 2, 1]]
        lam = torch.tensor([0.934079, 0.943139, 0.95835, 0.837836])
        torch.testing.assert_close(plans[1].lam, lam, atol=1e-6, rtol=0)

    def test_drop_edge(self, graphs):
        keep = self.method("drop_edge", drop_ratio=0.4).draw(graphs)
        assert "".join(map(str, keep.int().tolist())) == "1011011111111111" + "011001101001010010"

    def test_drop_node(self, graphs):
        keep = self.method("drop_node", drop_ratio=0.4).draw(graphs)
        assert "".join(map(str, keep.int().tolist())) == "11101111110011111"


def batch_of(batch: Batch, index: list[int]) -> Batch:
    return Batch.from_data_list([batch[i] for i in index])
