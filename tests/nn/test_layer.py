from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from ifmixup.nn.layer import Layer

H = torch.tensor([[1.0, -2.0], [-3.0, 4.0], [5.0, 0.0]])


class Twice(nn.Module):
    """Like every convolution it gives a tensor of its own, which the layer may overwrite."""

    def forward(self, h: Tensor) -> Tensor:
        return 2 * h


def test_layer_is_norm_then_relu():
    layer = Layer(Twice(), 2, 2, "batch", skip=False)
    h = 2 * H
    normal = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
    assert_close(layer(H), normal.relu())


def test_skip_is_the_identity_where_the_widths_agree():
    layer = Layer(Twice(), 2, 2, "none", skip=True)
    assert list(layer.parameters()) == []
    assert layer(H).tolist() == [[3.0, -2.0], [-3.0, 12.0], [15.0, 0.0]]


def test_skip_is_linear_where_the_widths_differ():
    conv = nn.Linear(2, 3)
    layer = Layer(conv, 2, 3, "none", skip=True)
    assert_close(layer(H), conv(H).relu() + H @ layer.skip.weight.t())


@pytest.mark.parametrize("norm", ["none", "batch"])
@pytest.mark.parametrize("skip", [False, True])
def test_the_input_is_not_changed(norm, skip):
    h = H.clone()
    Layer(Twice(), 2, 2, norm, skip=skip)(h)
    assert torch.equal(h, H)
