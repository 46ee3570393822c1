from __future__ import annotations

import torch
from torch import nn
from torch.testing import assert_close

from ifmixup.nn.layer import Layer, make_norm

H = torch.tensor([[1.0, -2.0], [-3.0, 4.0], [5.0, 0.0]])


def test_layer_is_norm_then_relu():
    layer = Layer(nn.Identity(), 2, 2, "batch", skip=False)
    normal = (H - H.mean(0)) / (H.var(0, unbiased=False) + 1e-5).sqrt()
    assert_close(layer(H), normal.relu())


def test_skip_is_the_identity_where_the_widths_agree():
    layer = Layer(nn.Identity(), 2, 2, "none", skip=True)
    assert list(layer.parameters()) == []
    assert_close(layer(H), H.relu() + H)


def test_skip_is_linear_where_the_widths_differ():
    conv = nn.Linear(2, 3)
    layer = Layer(conv, 2, 3, "none", skip=True)
    assert_close(layer(H), conv(H).relu() + H @ layer.skip.weight.t())


def test_batch_norm_of_one_node_uses_the_running_statistics():
    norm = make_norm("batch", 2)
    norm.module.running_mean.fill_(1.0)
    norm.module.running_var.fill_(4.0)
    assert_close(norm(H[:1]), (H[:1] - 1) / 2, atol=1e-5, rtol=0)
    assert norm.module.num_batches_tracked == 0
