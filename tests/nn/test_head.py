from __future__ import annotations

import torch
from torch.testing import assert_close

from ifmixup.nn.head import LastHead, SumHead


def test_last_head_is_dense_relu_linear():
    head, h = LastHead(4, 2, 0.5).eval(), torch.randn(3, 4)
    dense, linear = head[0], head[3]
    expected = (h @ dense.weight.t() + dense.bias).relu() @ linear.weight.t() + linear.bias
    assert_close(head(h), expected)


def test_last_head_drops_after_the_dense_layer():
    head, h = LastHead(4, 2, 1.0), torch.randn(3, 4)
    assert_close(head(h), head[3].bias.expand(3, 2))


def test_sum_head_sums_a_linear_layer_on_each_part():
    head, h = SumHead([3, 4], 2, 0.5).eval(), torch.randn(5, 7)
    first, second = head.linears
    assert_close(head(h), first(h[:, :3]) + second(h[:, 3:]))


def test_sum_head_drops_after_the_linear_layers():
    head = SumHead([3, 4], 2, 1.0)
    assert head(torch.randn(5, 7)).tolist() == [[0.0, 0.0]] * 5
