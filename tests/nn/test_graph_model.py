"""What holds for all models: gcn, gin, gine (gin with edge attributes), gat and gatv2."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close
from torch_geometric import EdgeIndex

from ifmixup.errors import InputError
from ifmixup.nn import GAT, MODELS, Neighbours
from ifmixup.nn.graph_model import LastHead, Layer, SumHead
from ifmixup.nn.readout import READOUTS
from strategies import graphs as any_graphs

CLOSE = {"atol": 1e-5, "rtol": 1e-5}

# 0 – 1 twice, 0 – 3, 1 – 2 and a loop at 1, sorted by source; below, the number of each edge.
UNDIRECTED = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2, 3], [1, 1, 3, 0, 0, 1, 2, 1, 0]])
NUMBER = torch.tensor([0, 1, 2, 0, 1, 3, 4, 4, 2])


def keep_edges(graphs, edges):
    """The graphs with the given edges only (repeats allowed)."""
    return replace(
        graphs,
        edge_index=graphs.edge_index[:, edges],
        edge_weight=graphs.edge_weight[edges],
        edge_attr=graphs.edge_attr[edges],
    )


def test_gradients(make, graphs64):
    # In train mode, so through the batch statistics; one of the edge weights is 0.
    model = make().double().train()
    attr = None if model.edge_dim is None else graphs64.edge_attr
    names, parameters = zip(*model.named_parameters(), strict=True)

    def logits(x, weight, attr, *parameters):
        return functional_call(
            model,
            dict(zip(names, parameters, strict=True)),
            (x, graphs64.edge_index, weight, graphs64.batch),
            {"edge_attr": attr},
        )

    inputs = [graphs64.x, graphs64.edge_weight, attr]
    inputs = [value if value is None else value.requires_grad_() for value in inputs]
    assert torch.autograd.gradcheck(logits, (*inputs, *parameters))


def test_edge_that_stands_twice_counts_with_the_sum_of_its_weights(make, run, graphs):
    model = make()
    twice = keep_edges(graphs, [0, 0, 1, 2, 3, 4, 4, 5, 6])
    twice.edge_weight[[0, 1, 5, 6]] = torch.tensor([0.4, 0.6, 0.9, 0.1])
    assert_close(run(model, twice), run(model, graphs), **CLOSE)


def test_edge_of_weight_zero_is_no_edge(make, run, graphs):
    model = make()
    graphs.edge_weight[[1, 4, 6]] = 0.0
    graphs.edge_weight.requires_grad_()
    absent = keep_edges(graphs, [0, 2, 3, 5])
    absent.edge_weight = absent.edge_weight.detach().requires_grad_()
    with_zeros, without = run(model, graphs), run(model, absent)
    assert_close(with_zeros, without, **CLOSE)

    direction = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    with_zeros.backward(direction)
    without.backward(direction)
    assert graphs.edge_weight.grad.isfinite().all()
    assert_close(graphs.edge_weight.grad[[0, 2, 3, 5]], absent.edge_weight.grad, **CLOSE)


def test_graphs_without_edges_are_their_nodes(make, run, graphs):
    model = make().eval()
    empty = keep_edges(graphs, [])
    zero = replace(graphs, edge_weight=torch.zeros(7))
    assert_close(run(model, empty), run(model, zero), **CLOSE)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("jk", ["last", "sum"])
def test_graph_has_the_same_logits_alone_and_in_a_batch(make, graphs, readout, jk):
    model = make(readout=readout, jk=jk).eval()
    attr = None if model.edge_dim is None else graphs.edge_attr
    edges = (graphs.edge_index, graphs.edge_weight)
    together = model(graphs.x, *edges, graphs.batch, edge_attr=attr)
    first = model(graphs.x[:4], *edges, edge_attr=attr)
    second = model(
        graphs.x[4:], edges[0][:, :0], edges[1][:0], edge_attr=None if attr is None else attr[:0]
    )
    assert_close(together, torch.cat([first, second]), **CLOSE)


def test_one_graph_of_one_node_trains_on_the_running_statistics(make, graphs):
    model = make()
    attr = None if model.edge_dim is None else graphs.edge_attr[:0]
    inputs = (graphs.x[:1], graphs.edge_index[:, :0], None, torch.tensor([0]))
    trained = model.train()(*inputs, edge_attr=attr)
    assert_close(trained, model.eval()(*inputs, edge_attr=attr))
    assert trained.isfinite().all()


def test_missing_weights_are_ones(make, run, graphs):
    model = make()
    ones = replace(graphs, edge_weight=torch.ones(7))
    assert_close(run(model, replace(graphs, edge_weight=None)), run(model, ones), **CLOSE)


def test_edge_index_class_gives_the_same_logits(make, run, graphs):
    model = make()
    order = graphs.edge_index[1].argsort(stable=True)
    by_target = keep_edges(graphs, order)
    typed = EdgeIndex(by_target.edge_index, sparse_size=(5, 5), sort_order="col")
    assert_close(run(model, replace(by_target, edge_index=typed)), run(model, graphs), **CLOSE)


@pytest.mark.parametrize("weighted", [True, False])
def test_edges_in_every_form_give_the_same_logits_and_gradients(make, graphs64, weighted):
    model = make().double()
    x, attr = graphs64.x.requires_grad_(), graphs64.edge_attr[:5].requires_grad_()
    weight = graphs64.edge_weight[:5].requires_grad_()
    inputs = [x, *([weight] if weighted else []), *([] if model.edge_dim is None else [attr])]
    direction = torch.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=torch.float64)

    def logits_and_gradients(edge_index):
        # Both directions of an edge carry the same.
        logits = model(
            x,
            edge_index,
            weight[NUMBER] if weighted else None,
            graphs64.batch,
            edge_attr=None if model.edge_dim is None else attr[NUMBER],
        )
        return logits, torch.autograd.grad(logits, [*inputs, *model.parameters()], direction)

    expected = logits_and_gradients(UNDIRECTED)
    for edges in (
        EdgeIndex(UNDIRECTED, sparse_size=(5, 5)),
        EdgeIndex(UNDIRECTED, sparse_size=(5, 5), sort_order="row"),
        EdgeIndex(UNDIRECTED.flip(0), sparse_size=(5, 5), sort_order="col"),
        Neighbours.of(UNDIRECTED, 5),
        Neighbours.mirrored(UNDIRECTED, 5),
    ):
        assert_close(logits_and_gradients(edges), expected)


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in MODELS), ("gin", {"edge_dim": 2})]
)
@given(graph=any_graphs(weighted=True, edge_attr=True), random=st.randoms(use_true_random=False))
def test_the_order_of_the_edges_changes_nothing(name, options, graph, random):
    torch.manual_seed(0)
    model = MODELS[name](3, 4, 2, 2, **options).double().eval()
    order = list(range(graph.num_edges))
    random.shuffle(order)
    order = torch.tensor(order, dtype=torch.long)

    def logits_and_gradients(order):
        x = graph.x.double().requires_grad_()
        weight = graph.edge_weight.double().requires_grad_()
        attr = graph.edge_attr.double()[order] if options else None
        logits = model(x, graph.edge_index[:, order], weight[order], edge_attr=attr)
        inputs = [x, weight, *model.parameters()]
        return logits, torch.autograd.grad(logits[0, 0] - logits[0, 1], inputs)

    as_given = torch.arange(graph.num_edges)
    assert_close(logits_and_gradients(order), logits_and_gradients(as_given), **CLOSE)


def test_jumping_knowledge_reads_the_input_and_every_layer(make, run, graphs):
    model = make(jk="sum", norm="none")
    attr = None if model.edge_dim is None else graphs.edge_attr
    edges = model.layers[0].conv.prepare(graphs.x, graphs.edge_index, graphs.edge_weight, attr)
    states = [graphs.x]
    for layer in model.layers:
        states.append(layer(states[-1], edges))
    readouts = [torch.stack([h[:4].sum(0), h[4]]) for h in states]
    embedding = model.embed(
        graphs.x, graphs.edge_index, graphs.edge_weight, graphs.batch, edge_attr=attr
    )
    assert_close(embedding, torch.cat(readouts, dim=1), **CLOSE)
    expected = sum(lin(r) for lin, r in zip(model.head.linears, readouts, strict=True))
    assert_close(model.classify(embedding), expected, **CLOSE)
    assert_close(run(model, graphs), expected, **CLOSE)


def test_known_batch_size_needs_no_look_at_the_values(make, run, graphs):
    # Tensors on the meta device have no values: a device sync would be an error.
    meta = replace(graphs, **{f.name: getattr(graphs, f.name).to("meta") for f in fields(graphs)})
    for jk in ("last", "sum"):
        logits = run(make(jk=jk, readout="max").to("meta"), meta, batch_size=2)
        assert logits.shape == (2, 2)
        assert logits.is_meta


def test_compiles_to_one_graph(make, run, graphs):
    model = make()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    inputs = [graphs.x.requires_grad_(), graphs.edge_weight.requires_grad_(), *model.parameters()]

    def logits_and_gradients(model):
        logits = run(model, graphs, batch_size=2)
        return logits, torch.autograd.grad(logits, inputs, torch.tensor([[1.0, -2], [3, 0.5]]))

    assert_close(logits_and_gradients(compiled), logits_and_gradients(model), **CLOSE)


def test_compiles_for_every_size_at_once(make, run, graphs):
    torch.compiler.reset()  # what was compiled for other tests counts towards a limit
    model = make().train()
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
    assert_close(run(compiled, graphs, batch_size=2), run(model, graphs, batch_size=2), **CLOSE)


def test_weights_of_another_precision_follow_the_features(make, run, graphs):
    model = make()
    double = replace(graphs, edge_weight=graphs.edge_weight.double())
    assert_close(run(model, double), run(model, graphs))


def test_autocast_stays_near_full_precision(make, run, graphs):
    model = make(norm="none")
    with torch.autocast("cpu", torch.bfloat16):
        low = run(model, graphs)
    assert_close(low.float(), run(model, graphs), atol=0.05, rtol=0.05)


def test_reset_parameters_forgets_everything(make):
    model = make(jk="sum")

    def fresh():
        torch.manual_seed(3)
        model.reset_parameters()
        return {name: value.clone() for name, value in model.state_dict().items()}

    before = fresh()
    for value in model.state_dict().values():
        value.add_(1)
    assert_close(fresh(), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"readout": "men"}, "Unknown readout 'men'. Did you mean 'mean'.* Known: mean, sum, max"),
        ({"norm": "layer"}, "Unknown norm 'layer'.* Known: none, batch"),
        ({"jk": "cat"}, "Unknown jk 'cat'.* Known: last, sum"),
        ({"dropout": 1.5}, "dropout is 1.5, but .* from 0 to 1"),
        ({"num_layers": 0}, "num_layers is 0, but .* at least 1"),
    ],
)
def test_bad_options(name, options, text):
    with pytest.raises(InputError, match=text):
        MODELS[name](3, 4, **{"num_layers": 2, "out_channels": 2, **options})


@pytest.mark.parametrize("heads", [0, 3])
def test_heads_must_divide_the_width(heads):
    with pytest.raises(InputError, match=f"hidden_channels=4 .* heads={heads}. Choose heads"):
        GAT(3, 4, 2, 2, heads=heads)


def test_edge_attr_for_a_model_that_does_not_read_it(graphs):
    for model in (cls(3, 4, 2, 2) for cls in MODELS.values()):
        with pytest.raises(InputError, match="does not read it"):
            model(graphs.x, graphs.edge_index, edge_attr=graphs.edge_attr)


def test_bad_nodes_are_caught_at_the_door(make, graphs):
    with pytest.raises(InputError, match=r"x is float32 \[5, 2\]"):
        make()(graphs.x[:, :2], graphs.edge_index)


H = torch.tensor([[1.0, -2.0], [-3.0, 4.0], [5.0, 0.0]])


class Twice(nn.Module):
    """Like every convolution it gives a tensor of its own, which the layer may overwrite."""

    def forward(self, h: Tensor, edges: None) -> Tensor:
        return 2 * h


class NoEdges(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, h: Tensor, edges: None) -> Tensor:
        return self.inner(h)


def test_layer_is_norm_then_relu():
    layer = Layer(Twice(), 2, 2, "batch", skip=False)
    h = 2 * H
    normal = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
    assert_close(layer(H, None), normal.relu())


def test_skip_is_the_identity_where_the_widths_agree():
    layer = Layer(Twice(), 2, 2, "none", skip=True)
    assert list(layer.parameters()) == []
    assert layer(H, None).tolist() == [[3.0, -2.0], [-3.0, 12.0], [15.0, 0.0]]


def test_skip_is_linear_where_the_widths_differ():
    linear = nn.Linear(2, 3)
    layer = Layer(NoEdges(linear), 2, 3, "none", skip=True)
    assert_close(layer(H, None), linear(H).relu() + H @ layer.skip.weight.t())


@pytest.mark.parametrize("norm", ["none", "batch"])
@pytest.mark.parametrize("skip", [False, True])
def test_the_input_is_not_changed(norm, skip):
    h = H.clone()
    Layer(Twice(), 2, 2, norm, skip=skip)(h, None)
    assert torch.equal(h, H)


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
