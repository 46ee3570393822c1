"""Nodes that exist in part: what holds for every model, readout, norm and jk."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ifmixup.errors import InputError
from ifmixup.nn import GIN
from ifmixup.nn.readout import READOUTS

every_readout = pytest.mark.parametrize("readout", READOUTS)
every_jk = pytest.mark.parametrize("jk", ["last", "sum"])
every_norm = pytest.mark.parametrize("norm", ["batch", "none"])


def with_null_nodes(graphs):
    """The graphs with three nodes more in the first and one in the second: zeros without edges."""
    index = torch.tensor([0, 1, 2, 3, 8])  # where the old nodes go
    x = graphs.x.new_zeros(9, 3).index_copy(0, index, graphs.x)
    weight = graphs.x.new_zeros(9).index_fill(0, index, 1.0)
    batch = torch.tensor([0, 0, 0, 0, 0, 0, 0, 1, 1])
    return replace(graphs, x=x, edge_index=index[graphs.edge_index], batch=batch), weight


@pytest.mark.parametrize("training", [True, False])
@every_readout
@every_jk
@every_norm
def test_null_nodes_change_nothing(make, run, graphs64, training, readout, jk, norm):
    model = make(readout=readout, jk=jk, norm=norm).double().train(training)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)  # biases make something of zeros
    other = copy.deepcopy(model)
    more, weight = with_null_nodes(graphs64)
    logits = run(other, more, node_weight=weight)
    assert_close(logits, run(model, graphs64), atol=1e-6, rtol=0)
    assert_close(other.state_dict(), model.state_dict(), atol=1e-6, rtol=0)
    if training and (norm == "batch" or readout == "mean"):  # the test can fail
        assert (run(other, more) - logits).abs().max() > 1e-3


def mixed(a: Tensor, b: Tensor, lam: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A path with features ``a`` and a shorter one with ``b``, by Algorithm 1."""
    n, m = len(a), len(b)
    weight = a.new_full((n,), lam)
    weight[:m] = 1
    x = lam * a
    x[:m] += (1 - lam) * b
    i = torch.arange(n - 1)
    edge_index = torch.cat([torch.stack([i, i + 1]), torch.stack([i + 1, i])], 1)
    edge_weight = a.new_full((n - 1,), lam)
    edge_weight[: m - 1] = 1
    return x, edge_index, edge_weight.repeat(2), weight


@every_readout
@every_jk
@every_norm
def test_towards_one_of_the_graphs_the_difference_falls_tenfold(make, readout, jk, norm):
    model = make(readout=readout, jk=jk, norm=norm).double()
    a, b = (torch.randn(n, 3, dtype=torch.float64) for n in (6, 4))
    x, edge_index, _, _ = mixed(a, b, 1.0)
    short = (edge_index < 4).all(0)
    attr = torch.randn(10, 2, dtype=torch.float64)  # the same in both graphs
    whole, part = ({"edge_attr": t} if model.edge_dim else {} for t in (attr, attr[short]))
    ends = {1: model(x, edge_index, **whole), 0: model(b, edge_index[:, short], **part)}
    for end, logits in ends.items():
        distances = []
        for step in (1e-4, 1e-5):
            x, edges, edge_weight, weight = mixed(a, b, abs(end - step))
            out = model(x, edges, edge_weight, node_weight=weight, **whole)
            distances.append(float((out - logits).abs().max()))
        assert distances[1] == pytest.approx(distances[0] / 10, rel=0.05)


@every_readout
@every_jk
def test_graphs_of_equal_size_are_read_alike_to_the_last_bit(make, run, graphs, readout, jk):
    model = make(readout=readout, jk=jk)
    expected = run(copy.deepcopy(model), graphs)
    lam = torch.tensor([0.3, 0.3, 0.3, 0.3, 0.7])
    assert torch.equal(run(model, graphs, node_weight=lam + (1 - lam)), expected)


@every_readout
def test_gradients(make, graphs64, readout):
    model = make(readout=readout, jk="sum").double()
    attr = None if model.edge_dim is None else graphs64.edge_attr
    weight = torch.tensor([0.9, 0.3, 0.6, 0.2, 0.7], dtype=torch.float64)

    def logits(x, weight):
        edges = (graphs64.edge_index, graphs64.edge_weight)
        return model(x, *edges, graphs64.batch, edge_attr=attr, node_weight=weight)

    x, options = graphs64.x.requires_grad_(), {"check_undefined_grad": False, "fast_mode": True}
    assert torch.autograd.gradcheck(lambda x: logits(x, weight), x, **options)
    assert torch.autograd.gradcheck(logits, (x, weight.requires_grad_()), **options)


def test_edges_and_self_loops_do_not_read_node_weights(make, graphs):
    model = make().eval()
    attr = None if model.edge_dim is None else graphs.edge_attr
    edges = (graphs.edge_index, graphs.edge_weight)
    states = [
        model.encode(graphs.x, *edges, edge_attr=attr, node_weight=weight)
        for weight in (None, torch.rand(5))
    ]
    assert torch.equal(*states)


def test_no_host_sync_and_no_device_with_node_weights(make, run, graphs):
    meta = replace(graphs, **{name: getattr(graphs, name).to("meta") for name in vars(graphs)})
    weight = torch.rand(5).to("meta")
    for readout in READOUTS:
        model = make(jk="sum", readout=readout).to("meta")
        assert run(model, meta, batch_size=2, node_weight=weight).is_meta


def test_compiles_to_one_graph_with_node_weights(make, run, graphs):
    torch.compiler.reset()
    model = make(readout="max", jk="sum")
    other = copy.deepcopy(model)
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
    weight = torch.tensor([0.9, 0.3, 0.6, 0.2, 0.7])
    out = run(compiled, graphs, batch_size=2, node_weight=weight)
    expected = run(other, graphs, batch_size=2, node_weight=weight)
    assert_close(out, expected, atol=1e-5, rtol=1e-5)
    assert_close(model.state_dict(), other.state_dict(), atol=1e-5, rtol=1e-5)
    (out**2).sum().backward()
    (expected**2).sum().backward()
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert_close(one.grad, two.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@every_readout
def test_autocast_with_node_weights(make, run, graphs, dtype, readout):
    model = make(readout=readout, jk="sum")
    weight = torch.tensor([0.9, 0.3, 0.6, 0.2, 0.7])
    with torch.autocast("cpu", dtype):
        low = run(model, graphs, node_weight=weight)
    low.float().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert_close(low.float(), run(model, graphs, node_weight=weight), atol=0.15, rtol=0.1)


def test_bad_node_weights():
    model, x, edges = GIN(3, 4, 2, 2), torch.ones(3, 3), torch.tensor([[0], [1]])
    with pytest.raises(InputError, match=r"node_weight is float32 \[2\].*each of the 3 nodes"):
        model(x, edges, node_weight=torch.rand(2))
    with pytest.raises(InputError, match=r"node_weight is int64 \[3\].*floating-point weight"):
        model(x, edges, node_weight=torch.tensor([0, 1, 0]))
