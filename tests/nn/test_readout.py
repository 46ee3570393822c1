from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

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


@pytest.mark.parametrize(
    ("name", "pool"),
    [("mean", global_mean_pool), ("sum", global_add_pool), ("max", global_max_pool)],
)
def test_readouts_are_those_of_pyg(name, pool):
    h = torch.randn(6, 3)
    batch = torch.tensor([0, 0, 2, 2, 2, 3])  # graphs 1 and 4 have no nodes
    assert_close(READOUTS[name](h, batch, 5), pool(h, batch, 5))
    assert READOUTS[name](h, batch, 5)[[1, 4]].tolist() == [[0.0] * 3] * 2
    assert_close(READOUTS[name](h, None, 1), pool(h, None))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_large_graphs_have_the_right_mean_in_low_precision(dtype):
    h, batch = torch.ones(6000, 1, dtype=dtype), torch.arange(6000) // 5000
    out = READOUTS["mean"](h, batch, 2)
    assert out.dtype == dtype
    assert_close(out, torch.ones(2, 1, dtype=dtype))


def test_num_graphs():
    batch = torch.tensor([0, 0, 1, 2])
    assert num_graphs(batch, None) == 3
    assert num_graphs(batch, 5) == 5  # graphs without nodes at the end
    assert num_graphs(batch[:0], None) == 0
    assert num_graphs(None, None) == num_graphs(None, 1) == 1


def test_num_graphs_without_batch_is_one():
    with pytest.raises(InputError, match=r"batch_size=2 but no batch vector.*Give batch"):
        num_graphs(None, 2)
