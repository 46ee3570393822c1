"""What holds for all models: gcn, gin, gine (gin with edge attributes), gat and gatv2."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from hashlib import sha256

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close
from torch_geometric import EdgeIndex

from ifmixup.components import resolve
from ifmixup.errors import InputError
from ifmixup.nn import GAT, GCN, MODELS, Neighbours
from ifmixup.nn.graph_model import Layer, SumHead
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stop", [0, 1])
def test_a_model_can_be_run_in_two_parts(make, run, graphs, weighted, stop):
    model = make(readout="mean").eval()
    node_weight = torch.tensor([1.0, 0.5, 0.25, 1.0, 0.75]) if weighted else None
    inputs = (graphs.edge_index, graphs.edge_weight, graphs.batch)
    options = {"node_weight": node_weight}
    if model.edge_dim is not None:
        options["edge_attr"] = graphs.edge_attr
    h = model.encode(graphs.x, *inputs, stop=stop, **options)
    embedding = model.embed(h, *inputs, start=stop, **options)
    assert_close(embedding, model.embed(graphs.x, *inputs, **options))
    assert_close(model.classify(embedding), run(model, graphs, node_weight=node_weight))
    last = model.encode(h, *inputs, start=stop, **options)
    assert_close(last, model.encode(graphs.x, *inputs, **options))


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_mixed_node_states_count_once_in_readout(make, graphs, readout):
    """States of two graphs, padded with zeros and mixed; no layer follows."""
    model = make(readout=readout).eval()
    lam, batch = 0.7, torch.zeros(3, dtype=torch.long)
    edges, attr = graphs.edge_index[:, :0], graphs.edge_attr[:0]
    options = {} if model.edge_dim is None else {"edge_attr": attr}
    a, b = (
        model.encode(x, edges, None, batch[: len(x)], stop=2, **options)
        for x in (graphs.x[:3], graphs.x[3:5])
    )
    b = torch.cat([b, torch.zeros(1, 4)])
    node_weight = torch.tensor([1.0, 1.0, lam])
    mixed = lam * a + (1 - lam) * b
    out = model.embed(mixed, edges, None, batch, node_weight=node_weight, start=2, **options)
    total = lam * a.sum(0) + (1 - lam) * b.sum(0)
    expected = total / (2 + lam) if readout == "mean" else total
    assert_close(out[0], expected, **CLOSE)


def test_parts_that_do_not_exist(make, graphs):
    model = make(jk="sum")
    attr = None if model.edge_dim is None else graphs.edge_attr
    inputs = (graphs.edge_index, graphs.edge_weight, graphs.batch)
    for start, stop in ((-1, 1), (2, 1), (0, 3)):
        with pytest.raises(InputError, match=rf"start={start} and stop={stop} .* <= 2"):
            model.encode(graphs.x, *inputs, start=start, stop=stop, edge_attr=attr)
    with pytest.raises(InputError, match=r"floating-point node features \[N, 4\]"):
        model.encode(graphs.x, *inputs, start=1, edge_attr=attr)
    with pytest.raises(
        InputError, match=r"readouts from layer 1 on have \d+ columns, but jk='sum' needs"
    ):
        model.embed(torch.ones(5, 4), *inputs, start=1, edge_attr=attr)


# Digests of all parameters after torch.manual_seed(7), and the next random number: stored results
# depend on the order in which parameters are drawn.
DRAWN = [
    ("gcn", {}, "337983cda35fc203", 0.2939351797103882),
    ("gcn", {"norm": "none", "jk": "sum"}, "344b53a21944810e", 0.07677286863327026),
    ("gin", {}, "bf54de621c5e65da", 0.3426400423049927),
    ("gin", {"norm": "none", "jk": "sum"}, "ea7d273f2cffaa5a", 0.39031147956848145),
    ("gin", {"edge_dim": 4}, "b55b7b69c67f7f21", 0.8649478554725647),
    ("gat", {"heads": 2}, "e3cc60aa6f1cdafe", 0.39031147956848145),
    ("gat", {"jk": "sum"}, "bad450f21caf3c9a", 0.3426400423049927),
    ("gatv2", {"heads": 2}, "71699ada162bff29", 0.25132882595062256),
    ("gatv2", {"norm": "none"}, "19e2de0ad76a949c", 0.25132882595062256),
]


@pytest.mark.parametrize(("name", "options", "digest", "following"), DRAWN)
def test_parameters_are_drawn_in_the_same_order_as_ever(name, options, digest, following):
    torch.manual_seed(7)
    model = MODELS[name](5, 8, 3, 2, **options)
    parts = sorted(sha256(p.detach().numpy().tobytes()).hexdigest() for p in model.parameters())
    assert sha256("".join(parts).encode()).hexdigest()[:16] == digest
    assert torch.rand(1).item() == following


def test_models_are_registered_with_their_defaults():
    for name, cls in MODELS.items():
        found = resolve("model", name)
        assert found.cls is cls
        options = dict(found.spec.options)
        assert (options["hidden_channels"], options["num_layers"]) == (64, 5)
        assert (options["dropout"], options["readout"]) == (0.5, "sum")
        model = found.build(in_channels=3, out_channels=2)
        assert (model.hidden_channels, len(model.layers)) == (64, 5)
    with pytest.raises(InputError, match=r"readout of gin must be 'mean', 'sum' or 'max'"):
        resolve("model", "gin").with_options(readout="men")


def test_copies_pickles_and_shows_itself(make, run, graphs):
    model = make(jk="sum").eval()
    expected = run(model, graphs)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(run(other, graphs), expected)
    assert "3, 4, 2, 2, readout='sum', jk='sum'" in repr(model)
    assert model.adds_repeated_edges
    assert model.supports_edge_weight


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", ["batch", "none"])
def test_autocast_stays_near_full_precision(make, run, graphs, dtype, norm):
    model = make(norm=norm)
    with torch.autocast("cpu", dtype):
        low = run(model, graphs)
    low.float().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert_close(low.float(), run(model, graphs), atol=0.1, rtol=0.1)


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
        ({"dropout": 1.5}, "dropout must be in .0, 1.; got 1.5"),
        ({"num_layers": 0}, "num_layers must be at least 1; got 0"),
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
    head, h = GCN(3, 4, 1, 2, dropout=0.5).head.eval(), torch.randn(3, 4)
    dense, linear = head[0], head[3]
    expected = (h @ dense.weight.t() + dense.bias).relu() @ linear.weight.t() + linear.bias
    assert_close(head(h), expected)


def test_last_head_drops_after_the_dense_layer():
    head, h = GCN(3, 4, 1, 2, dropout=1.0).head, torch.randn(3, 4)
    assert_close(head(h), head[3].bias.expand(3, 2))


def test_sum_head_sums_a_linear_layer_on_each_part():
    head, h = SumHead([3, 4], 2, 0.5).eval(), torch.randn(5, 7)
    first, second = head.linears
    assert_close(head(h), first(h[:, :3]) + second(h[:, 3:]))


def test_sum_head_drops_after_the_linear_layers():
    head = SumHead([3, 4], 2, 1.0)
    assert head(torch.randn(5, 7)).tolist() == [[0.0, 0.0]] * 5
