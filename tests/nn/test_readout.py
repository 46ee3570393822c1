from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ifmixup.errors import InputError
from ifmixup.nn import global_add_pool, global_max_pool, global_mean_pool
from ifmixup.nn.readout import READOUTS, num_graphs

POOLS = [global_mean_pool, global_add_pool, global_max_pool]
pools = pytest.mark.parametrize("pool", POOLS, ids=lambda pool: pool.__name__)


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


@pools
def test_without_weights_and_with_weights_of_one_they_are_pygs(pool):
    theirs = getattr(pyg, pool.__name__)
    h = torch.randn(6, 3)
    batch = torch.tensor([0, 0, 2, 2, 2, 3])  # graphs 1 and 4 have no nodes
    for weight in (None, torch.ones(6)):
        out = pool(h, batch, 5, node_weight=weight)
        assert_close(out, theirs(h, batch, 5))
        assert out[[1, 4]].tolist() == [[0.0] * 3] * 2
        assert_close(pool(h, None, node_weight=weight), theirs(h, None))
        assert_close(pool(h, batch, node_weight=weight), theirs(h, batch))


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (global_add_pool, -3 + 2 * 0.5),
        (global_mean_pool, (-3 + 2 * 0.5) / 1.5),
        (global_max_pool, 0.5 * 2 + 0.5 * -3),  # up to t = ½ there are two nodes, then one
    ],
)
def test_weights_by_hand(pool, expected):
    h, weight = torch.tensor([[-3.0], [2.0], [9.0]]), torch.tensor([1.0, 0.5, 0.0])
    assert pool(h, None, node_weight=weight).item() == pytest.approx(expected)


def integral(h: Tensor, weight: Tensor) -> Tensor:
    """∫₀¹ max{h_i : w_i ≥ t} dt of one graph and one feature, step by step."""
    levels = [0.0, *sorted(set(weight.tolist()))]
    return sum((b - a) * h[weight >= b].max() for a, b in pairwise(levels) if b > a) + 0 * h.sum()


@st.composite
def weighted_nodes(draw) -> tuple[Tensor, Tensor, Tensor]:
    n = draw(st.integers(1, 12))
    batch = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))  # in any order
    number = st.floats(-4, 4, width=16)
    h = draw(st.lists(st.tuples(number, number), min_size=n, max_size=n))
    weight = draw(st.lists(st.sampled_from([0.0, 0.25, 0.7, 1.0]), min_size=n, max_size=n))
    return torch.tensor(h), torch.tensor(batch), torch.tensor(weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(nodes=weighted_nodes())
def test_weighted_maximum_is_the_integral(dtype, nodes):
    h, batch, weight = nodes[0].to(dtype), nodes[1], nodes[2].to(dtype)
    out = global_max_pool(h, batch, 3, node_weight=weight)
    for graph in range(3):
        own = batch == graph
        for feature in range(2):
            expected = integral(h[own, feature], weight[own]) if own.any() else torch.tensor(0.0)
            assert_close(out[graph, feature], expected.to(dtype))


@pools
def test_of_a_mixed_graph_sum_and_maximum_are_those_of_its_parts(pool):
    # Node 0 is in both graphs, nodes 1 and 2 only in A.
    h, lam = torch.randn(3, 4), 0.7
    weight = torch.tensor([1.0, lam, lam])
    out = pool(h, None, node_weight=weight)
    a, b = pool(h, None), pool(h[:1], None)
    if pool is global_mean_pool:
        assert_close(out, (lam * 3 * a + (1 - lam) * b) / (lam * 3 + 1 - lam))
    else:
        assert_close(out, lam * a + (1 - lam) * b)


@pools
def test_rows_that_are_scaled_already_are_not_scaled_again(pool):
    h, weight = torch.randn(5, 3), torch.tensor([1.0, 0.5, 0.25, 1.0, 0.75])
    batch = torch.tensor([0, 0, 0, 1, 1])
    scaled = h * weight.unsqueeze(-1)
    out = pool(scaled, batch, 2, node_weight=weight, scaled=True)
    if pool is global_max_pool:
        assert_close(out, pool(scaled, batch, 2, node_weight=weight))
    else:
        assert_close(out, pool(h, batch, 2, node_weight=weight))


@pools
def test_gradients_with_weights(pool):
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([0.9, 0.5, 0.25, 0.8, 0.75, 0.1], dtype=torch.float64, requires_grad=True)
    batch = torch.tensor([0, 0, 0, 2, 2, 2])
    assert torch.autograd.gradcheck(lambda h, w: pool(h, batch, 3, node_weight=w), (h, weight))


@pools
def test_graph_of_absent_nodes_is_zero(pool):
    out = pool(torch.ones(3, 2), torch.tensor([0, 0, 1]), 2, node_weight=torch.tensor([0, 0, 1.0]))
    assert out.tolist() == [[0.0, 0.0], [1.0, 1.0]]


@pools
def test_no_nodes_at_all(pool):
    nothing = torch.empty(0, dtype=torch.long)
    out = pool(torch.empty(0, 2), nothing, 2, node_weight=torch.empty(0))
    assert out.tolist() == [[0.0, 0.0]] * 2


@pools
def test_no_device_is_written_into_a_readout(pool):
    h, batch = torch.randn(4, 2, device="meta"), torch.zeros(4, dtype=torch.long, device="meta")
    for weight in (None, torch.ones(4, device="meta")):
        assert pool(h, batch, 2, node_weight=weight).is_meta
        assert pool(h, None, node_weight=weight).is_meta


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_graphs_have_the_right_mean_in_low_precision(dtype, weighted):
    h, batch = torch.ones(6000, 1, dtype=dtype), torch.arange(6000) // 5000
    weight = torch.ones(6000, dtype=dtype) / 2 if weighted else None
    out = global_mean_pool(h, batch, 2, node_weight=weight)
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
