from __future__ import annotations

import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.nn.readout import READOUTS, num_graphs


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean", [[2.0, 3.0], [-5.0, -6.0]]),
        ("sum", [[4.0, 6.0], [-5.0, -6.0]]),
        ("max", [[3.0, 4.0], [-5.0, -6.0]]),
    ],
)
def test_readouts(name, expected):
    h = torch.tensor([[1.0, 4.0], [3.0, 2.0], [-5.0, -6.0]])
    assert READOUTS[name](h, torch.tensor([0, 0, 1]), 2).tolist() == expected
    assert READOUTS[name](h[:2], None, 1).tolist() == expected[:1]


def test_num_graphs():
    batch = torch.tensor([0, 0, 1, 2])
    assert num_graphs(batch, None) == 3
    assert num_graphs(batch, 5) == 5  # graphs without nodes at the end
    assert num_graphs(batch[:0], None) == 0
    assert num_graphs(None, None) == num_graphs(None, 1) == 1


def test_num_graphs_without_batch_is_one():
    with pytest.raises(InputError, match=r"batch_size=2 but no batch vector.*Give batch"):
        num_graphs(None, 2)
