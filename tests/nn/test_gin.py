from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch_geometric.nn import MLP, GINEConv

from ifmixup.errors import InputError
from ifmixup.nn import GIN, BatchNorm, GINConv

CLOSE = {"atol": 1e-5, "rtol": 0.0}


def mlp(*norm: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), *norm, nn.ReLU(), nn.Linear(4, 4))


def test_layer_is_the_papers_formula(graphs):
    conv = GINConv(mlp(), eps=0.3)
    out = conv(graphs.x, graphs.edge_index, graphs.edge_weight)
    assert_close(out, conv.nn(1.3 * graphs.x + graphs.dense() @ graphs.x), **CLOSE)


def test_eps_is_learnt_only_where_asked_for(graphs):
    assert "eps" not in dict(GINConv(mlp(), eps=0.3).named_parameters())
    conv = GINConv(mlp(), eps=0.3, train_eps=True)
    conv(graphs.x, graphs.edge_index, graphs.edge_weight).sum().backward()
    assert conv.eps.grad is not None
    nn.init.zeros_(conv.eps)
    conv.reset_parameters()
    assert conv.eps.item() == pytest.approx(0.3)


def test_self_loop_is_an_ordinary_edge():
    conv = GINConv(mlp(), eps=0.3)
    x, loop = torch.randn(1, 3), torch.tensor([[0], [0]])
    assert_close(conv(x, loop, torch.tensor([0.5])), conv.nn(1.3 * x + 0.5 * x))


def test_edge_attributes_with_weights_as_a_loop(graphs):
    conv = GINConv(mlp(), eps=0.3, edge_dim=2)
    total = 1.3 * graphs.x
    attributes = graphs.edge_attr @ conv.lin.weight.t() + conv.lin.bias
    edges = zip(*graphs.edge_index.tolist(), graphs.edge_weight, attributes, strict=True)
    for j, i, weight, attribute in edges:
        total[i] += weight * (graphs.x[j] + attribute).relu()
    out = conv(graphs.x, graphs.edge_index, graphs.edge_weight, edge_attr=graphs.edge_attr)
    assert_close(out, conv.nn(total), **CLOSE)


def test_edge_attributes_without_weights_are_pygs_gine(graphs):
    conv, pyg = GINConv(mlp(), edge_dim=2), GINEConv(mlp(), edge_dim=2)
    pyg.load_state_dict(conv.state_dict())
    out = conv(graphs.x, graphs.edge_index, edge_attr=graphs.edge_attr)
    assert_close(out, pyg(graphs.x, graphs.edge_index, graphs.edge_attr), **CLOSE)


def test_edge_attributes_need_an_mlp_that_tells_its_width():
    assert GINConv(MLP([3, 4, 4]), edge_dim=2).lin.out_features == 3
    with pytest.raises(InputError, match=r"Identity takes is not known.*torch\.nn\.Linear"):
        GINConv(nn.Identity(), edge_dim=2)


class Deep(nn.Module):
    """An MLP that does not know of node weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = nn.Linear(3, 4), nn.ModuleList([BatchNorm(4)])

    def forward(self, h):
        return self.rest[0](self.first(h))


@pytest.mark.parametrize("make", [lambda: mlp(BatchNorm(4)), Deep])
def test_node_weights_reach_batch_norm_inside_any_mlp(graphs, make):
    conv = GINConv(make())
    more = torch.cat([graphs.x, torch.zeros(3, 3)])
    weight = torch.tensor([1.0] * 5 + [0.0] * 3)
    edges = (graphs.edge_index, graphs.edge_weight)
    out = conv(more, *edges, node_weight=weight)
    assert_close(out[:5], conv(graphs.x, *edges), **CLOSE)
    assert (conv(more, *edges)[:5] - out[:5]).abs().max() > 0.01  # the weights are gone again


def test_norm_none_removes_every_batch_norm():
    for norm, count in (("batch", 4), ("none", 0)):  # inside the MLP of each layer and after it
        model = GIN(3, 4, 2, 2, norm=norm)
        assert sum(isinstance(module, BatchNorm) for module in model.modules()) == count


def test_there_is_no_bias_in_front_of_batch_norm():
    for norm in ("batch", "none"):
        for layer in GIN(3, 4, 2, 2, norm=norm).layers:
            for index in (0, 3):
                assert (layer.conv.nn[index].bias is None) == (norm == "batch")
