"""What holds for all four layers: they are PyG's, with edge weights, in any model of PyG's."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given
from torch import Tensor, nn
from torch.testing import assert_close
from torch_geometric import EdgeIndex

import ifmixup.nn as ours
from ifmixup.errors import InputError
from ifmixup.nn import Neighbours
from strategies import graphs as any_graphs

NAMES = ["GCNConv", "GINConv", "GATConv", "GATv2Conv"]


def make(library, name: str, width: int = 3) -> nn.Module:
    torch.manual_seed(0)
    if name == "GINConv":
        return library.GINConv(nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, 4)), 0.3)
    return getattr(library, name)(width, 4)


def dense(conv: nn.Module, x: Tensor, matrix: Tensor) -> Tensor:
    """The layer by its formula; ``matrix[i, j]`` is the weight of the edge from j to i."""
    if isinstance(conv, ours.GINConv):
        return conv.nn(1.3 * x + matrix @ x)
    with_self = matrix.clone().fill_diagonal_(1)
    if isinstance(conv, ours.GCNConv):
        degree = with_self.sum(1)
        return with_self / (degree[:, None] * degree).sqrt() @ x @ conv.lin.weight.T + conv.bias
    if isinstance(conv, ours.GATConv):
        h = sent = conv.lin(x)
        score = (h @ conv.att_dst.flatten())[:, None] + h @ conv.att_src.flatten()
        score = nn.functional.leaky_relu(score, 0.2)
    else:
        sent = conv.lin_l(x)
        both = nn.functional.leaky_relu(conv.lin_r(x)[:, None] + sent, 0.2)
        score = both @ conv.att.flatten()
    share = with_self * score.exp()
    return share / share.sum(1, keepdim=True) @ sent + conv.bias


@pytest.mark.parametrize("name", NAMES)
@given(graph=any_graphs(weighted=True))
def test_a_weighted_layer_is_its_dense_formula(name, graph):
    conv = make(ours, name).double()
    x, weight = graph.x.double(), graph.edge_weight.double()
    matrix = x.new_zeros(len(x), len(x))
    matrix.index_put_((graph.edge_index[1], graph.edge_index[0]), weight, accumulate=True)
    out = conv(x, graph.edge_index, edge_weight=weight)
    assert_close(out, dense(conv, x, matrix))


@pytest.mark.parametrize("name", NAMES)
@given(graph=any_graphs())
def test_on_weights_of_one_it_is_pygs_layer_with_the_same_parameters(name, graph):
    conv, theirs = make(ours, name).double(), make(pyg, name).double()
    theirs.load_state_dict(conv.state_dict())
    x, expected = graph.x.double(), theirs(graph.x.double(), graph.edge_index)
    ones = x.new_ones(graph.num_edges)
    assert_close(conv(x, graph.edge_index), expected)
    assert_close(conv(x, graph.edge_index, edge_weight=ones), expected)


@given(graph=any_graphs(weighted=True))
def test_gcn_is_pygs_on_weights_too(graph):
    # PyG keeps the weight of a self-loop; ours is 1.
    conv, theirs = make(ours, "GCNConv").double(), make(pyg, "GCNConv").double()
    theirs.load_state_dict(conv.state_dict())
    loops = graph.edge_index[0] == graph.edge_index[1]
    x, weight = graph.x.double(), graph.edge_weight.double().masked_fill(loops, 1)
    assert_close(conv(x, graph.edge_index, weight), theirs(x, graph.edge_index, weight))


@pytest.mark.parametrize("name", NAMES)
def test_edges_in_every_form_give_the_same(name, graphs):
    conv, weight = make(ours, name), graphs.edge_weight
    expected = conv(graphs.x, graphs.edge_index, edge_weight=weight)
    order = graphs.edge_index[1].argsort(stable=True)
    typed = EdgeIndex(graphs.edge_index[:, order], sparse_size=(5, 5), sort_order="col")
    assert_close(conv(graphs.x, typed, edge_weight=weight[order]), expected)
    neighbours = Neighbours.of(graphs.edge_index, 5)
    assert_close(conv(graphs.x, neighbours, edge_weight=weight), expected)
    prepared = conv.prepare(graphs.x, graphs.edge_index, weight)
    assert_close(conv(graphs.x, prepared), expected)


@pytest.mark.parametrize("name", NAMES)
def test_sequential_of_pyg(name, graphs):
    first, second = make(ours, name), make(ours, name, 4)
    if "GAT" in name:  # takes weights by keyword, which Sequential cannot
        prepare, edges = [(first.prepare, "x, edge_index, edge_weight -> edges")], "edges"
    else:
        prepare, edges = [], "edge_index, edge_weight"
    model = pyg.Sequential(
        "x, edge_index, edge_weight, batch",
        [
            *prepare,
            (first, f"x, {edges} -> x"),
            nn.ReLU(),
            (second, f"x, {edges} -> x"),
            (ours.global_mean_pool, "x, batch -> x"),
        ],
    )
    assert len(list(model.parameters())) == 2 * len(list(first.parameters()))
    h = first(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight).relu()
    h = second(h, graphs.edge_index, edge_weight=graphs.edge_weight)
    out = model(graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch)
    assert_close(out, torch.stack([h[:4].mean(0), h[4]]))


@pytest.mark.parametrize("name", NAMES)
def test_ready_made_models_of_pyg_take_the_layer(name, graphs):
    class Model(pyg.models.basic_gnn.BasicGNN):
        supports_edge_weight, supports_edge_attr = True, False

        def init_conv(self, in_channels, out_channels, **options):
            return make(ours, name, in_channels)

    model = Model(3, 4, 2, norm=ours.BatchNorm(4))
    out = model(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
    other = model(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight / 2)
    assert (out - other).abs().max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_compiles_to_one_graph(name, graphs):
    torch.compiler.reset()
    conv = make(ours, name)
    compiled = torch.compile(conv, backend="aot_eager", fullgraph=True)
    inputs = [graphs.x.requires_grad_(), graphs.edge_weight.requires_grad_(), *conv.parameters()]

    def result(conv):
        out = conv(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
        return out, torch.autograd.grad(out.square().sum(), inputs)

    assert_close(result(compiled), result(conv))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(name, graphs, dtype):
    conv = make(ours, name)
    x = graphs.x.requires_grad_()
    with torch.autocast("cpu", dtype):
        out = conv(x, graphs.edge_index, edge_weight=graphs.edge_weight)
        again = make(ours, name, 4)(out, graphs.edge_index, edge_weight=graphs.edge_weight)
    again.float().sum().backward()
    assert x.grad.isfinite().all()
    expected = conv(x, graphs.edge_index, edge_weight=graphs.edge_weight)
    assert_close(out.float(), expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_stay_as_they_are(name, graphs, dtype):
    conv = make(ours, name).to(dtype)
    out = conv(graphs.x.to(dtype), graphs.edge_index, edge_weight=graphs.edge_weight)
    assert out.dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_no_device_is_written_into_a_layer(name, graphs):
    conv = make(ours, name).to("meta")
    edges, weight = graphs.edge_index.to("meta"), graphs.edge_weight.to("meta")
    for each in (weight, None):
        out = conv(graphs.x.to("meta"), edges, edge_weight=each)
        assert out.is_meta
        assert out.shape == (5, 4)


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv"])
def test_a_width_that_is_read_off_the_first_input(name, graphs):
    conv = make(ours, name, -1)
    assert conv(graphs.x, graphs.edge_index).shape == (5, 4)
    assert conv(graphs.x, graphs.edge_index).shape == (5, 4)  # now that it is known


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles(name, graphs):
    conv = make(ours, name)
    expected = conv(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
    for other in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        out = other(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight)
        assert torch.equal(out, expected)
        assert repr(other) == repr(conv)
    assert repr(conv).startswith("GINConv(nn=Seq" if name == "GINConv" else f"{name}(3, 4")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_layer_can_do_is_told(name):
    conv = make(ours, name)
    assert conv.supports_edge_weight


@pytest.mark.parametrize("name", NAMES)
def test_bad_input(name, graphs):
    conv = make(ours, name)
    with pytest.raises(InputError, match=r"edge_weight is float32 \[6\].*each of the 7 edges"):
        conv(graphs.x, graphs.edge_index, edge_weight=graphs.edge_weight[1:])
    with pytest.raises(InputError, match="x is a tuple, but these layers take one tensor"):
        conv((graphs.x, graphs.x), graphs.edge_index)
    sparse = torch.sparse_coo_tensor(graphs.edge_index, graphs.edge_weight, (5, 5))
    with pytest.raises(InputError, match=r"instead of a sparse matrix"):
        conv(graphs.x, sparse)
