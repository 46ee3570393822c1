"""Manifold Mixup: at both ends what other methods do, in between what a loop over pairs does."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GraphConv, global_mean_pool

from ifmixup import IfMixup, mix
from ifmixup.augment import ManifoldMixup, MixupGraph
from ifmixup.augment.manifold_mixup import READOUT, ManifoldPlan, _MixStates
from ifmixup.batch import from_batch
from ifmixup.errors import InputError, ModelError
from ifmixup.graphs import select
from ifmixup.mixing import mix_nodes
from ifmixup.nn import GAT, GCN, GIN
from ifmixup.nn.inputs import GraphsModel

LAYERS = 3
models = pytest.mark.parametrize(
    "model",
    [
        lambda: GCN(3, 8, LAYERS, 2, dropout=0.0),
        lambda: GIN(3, 8, LAYERS, 2, dropout=0.0, jk="sum", norm="batch"),
        lambda: GIN(3, 8, LAYERS, 2, dropout=0.0, readout="max", jk="last"),
        lambda: GAT(3, 8, LAYERS, 2, dropout=0.0),
    ],
    ids=["gcn", "gin-sum", "gin-max", "gat"],
)


def manifold(layer: int | None = None, **options) -> ManifoldMixup:
    layers = None if layer is None else [layer]
    generator = torch.Generator().manual_seed(0)
    return ManifoldMixup(2, layers=layers, generator=generator, **options)


def seeded(model) -> nn.Module:
    torch.manual_seed(0)
    return model()


@models
@pytest.mark.parametrize("repeated", [False, True])
def test_at_layer_0_it_is_ifmixup_bit_for_bit(batch, model, repeated):
    method, mixup = manifold(0, ratio="pair"), IfMixup(2)
    method.repeated_edges = mixup.repeated_edges = repeated
    plan = method.plan(batch)
    model = seeded(model)
    other = GraphsModel(copy.deepcopy(model))  # whose batch norm has seen nothing either
    graphs = method._prepare(from_batch(batch))
    logits, y = method.mix(GraphsModel(model), graphs, plan)
    mixed = mixup.change(graphs, plan)
    assert torch.equal(logits, other(mixed))
    assert torch.equal(y, mixed.graphs["y"])


@models
def test_at_readout_it_is_mixup_graph_bit_for_bit(batch, model):
    method = manifold(READOUT, ratio="pair")
    plan = method.plan(batch)
    model = seeded(model)
    other = GraphsModel(copy.deepcopy(model))
    graphs = method._prepare(from_batch(batch))
    logits, y = method.mix(GraphsModel(model), graphs, plan)
    h, expected = MixupGraph(2).mix(other.embed(graphs), graphs.graphs["y"], plan)
    assert torch.equal(logits, other.classify(h))
    assert torch.equal(y, expected)


@models
@pytest.mark.parametrize("layer", range(LAYERS))
def test_in_between_it_is_a_loop_over_pairs(batch, model, layer):
    """Each graph alone through the first layers, then each mixture alone through the others."""
    method = manifold(layer, ratio="pair")
    plan = method.plan(batch)
    model = seeded(model).double().eval()
    batch.x = batch.x.double()
    graphs = method._prepare(from_batch(batch))
    plan = ManifoldPlan(plan.partner, plan.lam.double(), depth=plan.depth)
    logits, _ = method.mix(GraphsModel(model), graphs, plan)

    states, readouts = [], []
    for graph in batch.to_data_list():
        h, readout = model.encode_with_readouts(graph.x, graph.edge_index, stop=layer)
        graph.x = h
        states.append(graph)
        readouts.append(readout)
    for i, (j, lam) in enumerate(zip(plan.partner.tolist(), plan.lam.tolist(), strict=True)):
        both = mix(states[i], states[j], lam, num_classes=2)
        earlier = lam * readouts[i] + (1 - lam) * readouts[j]
        h = model.embed(
            both.x,
            both.edge_index,
            both.edge_weight,
            node_weight=both.node_weight,
            start=layer,
            earlier=earlier if layer else None,
        )
        torch.testing.assert_close(logits[i], model.classify(h)[0])


@models
def test_a_graph_that_is_not_mixed_has_its_own_logits_at_every_layer(batch, model):
    model = seeded(model).double().eval()
    batch.x = batch.x.double()
    expected = model(batch.x, batch.edge_index, None, batch.batch)
    for layer in (*range(LAYERS), READOUT):
        method = manifold(layer, p=0.0)
        graphs = method._prepare(from_batch(batch))
        logits, y = method.mix(GraphsModel(model), graphs, method.draw(graphs))
        torch.testing.assert_close(logits, expected)
        assert y.argmax(1).tolist() == batch.y.tolist()


@models
def test_every_layer_learns_whatever_layer_is_drawn(batch, model):
    for layer in (*range(LAYERS), READOUT):
        network = seeded(model)
        manifold(layer).loss(network, batch, F.cross_entropy).backward()
        assert all(parameter.grad is not None for parameter in network.parameters())


def test_the_layer_is_drawn_for_each_batch_all_equally_likely(batch):
    method, model = manifold(), GraphsModel(seeded(lambda: GCN(3, 8, LAYERS, 2)))
    chosen = [method._layer(model, method.plan(batch)) for _ in range(400)]
    assert {layer: 70 < chosen.count(layer) < 130 for layer in set(chosen)} == dict.fromkeys(
        (0, 1, 2, READOUT), True
    )
    plan = method.plan(batch)
    assert plan.lam.unique().numel() == 1  # one λ per batch, as in the paper


def test_the_loss_can_be_replayed(batch):
    model = seeded(lambda: GIN(3, 8, LAYERS, 2, norm="none", dropout=0.0))
    loss = manifold().loss(model, batch, F.cross_entropy)
    method = manifold()
    graphs = method._prepare(from_batch(batch))
    logits, y = method.mix(GraphsModel(model), graphs, method.draw(graphs))
    assert torch.equal(loss, F.cross_entropy(logits, y))
    assert torch.equal(manifold()(batch).x, batch.x)  # the graphs stay


@models
@pytest.mark.parametrize("repeated", [False, True])
def test_batches_planned_together_are_those_planned_one_by_one(batch, model, repeated):
    one, many = manifold(p=0.7, ratio="pair"), manifold(p=0.7, ratio="pair")
    one.repeated_edges = many.repeated_edges = repeated
    graphs = one._prepare(from_batch(batch))
    index = [torch.tensor([4, 1, 6]), torch.tensor([7]), torch.tensor([0, 2, 2, 5])]
    network = seeded(model)
    other = GraphsModel(copy.deepcopy(network))
    for planned, each in zip(many._cut(graphs, index), index, strict=True):
        loss = many.loss(GraphsModel(network), planned, F.cross_entropy)
        alone = one.loss(other, select(graphs, each), F.cross_entropy)
        assert torch.equal(loss, alone)
        torch.testing.assert_close(
            torch.autograd.grad(loss, network.parameters(), materialize_grads=True),
            torch.autograd.grad(alone, other.model.parameters(), materialize_grads=True),
        )


@pytest.mark.parametrize("partner", [[1, 2, 3, 4, 5, 6, 7, 0], [0, 0, 0, 3, 3, 7, 7, 7]])
def test_the_gradient_of_mixed_states_is_that_of_mix_nodes(batch, partner):
    method = manifold(ratio="pair")
    graphs = method._prepare(from_batch(batch))
    plan = ManifoldPlan(torch.tensor(partner), torch.linspace(0, 1, 8))
    (planned,) = method._planned(graphs, [8], [plan])
    h = torch.randn(graphs.num_nodes, 4, dtype=torch.double, requires_grad=True)
    mixed = mix_nodes(h, planned.row, planned.share)
    grad = torch.randn_like(mixed)
    (expected,) = torch.autograd.grad(mixed, h, grad)
    states = _MixStates.apply(h, planned.row, planned.share, planned.uses)
    assert torch.equal(states, mixed)
    torch.testing.assert_close(torch.autograd.grad(states, h, grad)[0], expected)


class Own(nn.Module):
    """A model of a user's with what hidden states need, and no more."""

    num_layers = 2

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([GraphConv(3, 4), GraphConv(4, 4)])
        self.head = nn.Linear(4, 2)

    def encode(self, x, edge_index, edge_weight, batch, *, start=0, stop=None):
        for conv in self.convs[start:stop]:
            x = conv(x, edge_index, edge_weight).relu()
        return x

    def embed(self, x, edge_index, edge_weight, batch, *, start=0):
        return global_mean_pool(self.encode(x, edge_index, edge_weight, batch, start=start), batch)

    def classify(self, h):
        return self.head(h)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.classify(self.embed(x, edge_index, edge_weight, batch))


def test_a_model_of_the_users(batch):
    model = seeded(Own)
    out = model(batch.x, batch.edge_index, None, batch.batch)
    expected = F.cross_entropy(out, batch.y)
    for layer in (0, 1, READOUT):
        loss = manifold(layer, p=0.0).loss(model, batch, F.cross_entropy)
        torch.testing.assert_close(loss, expected)
        assert manifold(layer).loss(model, batch, F.cross_entropy).isfinite()


def test_a_model_without_encode(batch):
    other = nn.Linear(3, 2)
    with pytest.raises(ModelError, match=r"Linear has no encode. Use a model of ifmixup.nn"):
        manifold().loss(other, batch, F.cross_entropy)


@pytest.mark.parametrize(
    ("layers", "message"),
    [([], r"layers must be numbers from 0"), ([-2], r"-1 for READOUT"), ([0, 7], "has 2 layers")],
)
def test_layers_that_the_model_does_not_have(batch, layers, message):
    with pytest.raises(InputError, match=message):
        ManifoldMixup(2, layers=layers).loss(seeded(Own), batch, F.cross_entropy)


def test_edge_attributes_are_mixed_as_ifmixup_mixes_them(batch):
    batch.edge_attr = torch.rand(batch.num_edges, 2)
    model = seeded(lambda: GIN(3, 8, LAYERS, 2, edge_dim=2, norm="none", dropout=0.0))
    for layer in (0, 1, READOUT):
        assert manifold(layer).loss(model, batch, F.cross_entropy).isfinite()
