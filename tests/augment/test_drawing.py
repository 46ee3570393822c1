import pytest
import torch

from ifmixup.augment.drawing import check_fraction, draw_seed, hash_integers, hash_uniform
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
