import os
import sys

import pytest
import torch
from hypothesis import settings

# No test reads what an earlier one has fitted, or writes to the user's cache, unless it says so.
os.environ["IFMIXUP_CACHE"] = "off"

# One thread a worker: tensors here are tiny, and tests run beside each other.
torch.set_num_threads(1)
settings.register_profile("ifmixup", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("ifmixup")


@pytest.fixture(autouse=True)
def _small_forests(monkeypatch):
    """Comparisons measure a random forest too, which need not be a good one."""
    if "ifmixup.study.graph_free" in sys.modules:
        monkeypatch.setattr("ifmixup.study.graph_free.TREES", 3)
