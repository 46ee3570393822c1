import pytest

from ifmixup.data import load
from ifmixup.training import Packed, pack


@pytest.fixture(scope="session")
def mutag() -> Packed:
    return pack(load("MUTAG"))
