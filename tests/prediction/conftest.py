import pytest

from ifmixup.data import load
from ifmixup.training.packed import PackedDataset, pack


@pytest.fixture(scope="session")
def mutag() -> PackedDataset:
    return pack(load("MUTAG"))
