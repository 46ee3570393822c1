"""The loop with models and methods of a user's own."""

import copy
from dataclasses import replace
from itertools import chain
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import BatchNorm as PyGBatchNorm
from torch_geometric.nn import GraphConv, global_mean_pool

import ifmixup.nn
from ifmixup.augment import IfMixup, Method
from ifmixup.components import with_options
from ifmixup.errors import ComponentError
from ifmixup.graphs import concatenate
from ifmixup.nn.inputs import GraphsModel
from ifmixup.training.trainer import Trainer, recompute_batch_norm
from own_classes import Net, Noise
from tiny import parts

TRAIN = torch.tensor([5, 3, 100, 7, 20, 41, 2, 77, 150, 11])
TEST = torch.arange(160, 188)


def made(data, model=Net, method="none", **changes) -> Trainer:
    return Trainer(
        *parts(model, method, **changes),
        data,
        train=TRAIN,
        validation=torch.arange(120, 130),
        test=TEST,
    )


def run(one: Trainer, epochs: int = 1) -> Trainer:
    for _ in range(epochs):
        one.run_epoch()
    return one


@pytest.mark.parametrize("method", ["none", Noise, "ifmixup", "drop_edge"])
def test_a_users_model_is_trained_as_in_a_loop_of_pygs(mutag, method):
    one, again, start = (made(mutag, Net, method, batch_size=10) for _ in range(3))
    run(one)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    batch = start.data.batch(TRAIN[order])
    by_hand = start.method.loss(start.model, batch, F.cross_entropy)
    assert one.curves["train_loss"][0] == pytest.approx(by_hand.item(), rel=1e-5)
    assert run(again).curves == one.curves
    # and the step is AdamW's
    by_hand.backward()
    torch.optim.AdamW(start.model.parameters(), lr=0.01, weight_decay=0.01).step()
    for mine, theirs in zip(one.model.parameters(), start.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
    tested = one.data.batch(TEST)
    out = one.model.eval()(tested.x, tested.edge_index, None, tested.batch)
    assert one.curves["test_loss"][0] == pytest.approx(F.cross_entropy(out, tested.y).item())


def test_options_reach_model_and_method(mutag):
    one = made(mutag, Net, Noise, width=3, depth=2, std=0.5)
    assert one.model.head.in_features == 3
    assert len(one.model.convs) == 2
    assert (one.method.std, one.method.num_classes) == (0.5, 2)


class Drift(Method):
    """Has a state of its own: a sum over all that it has drawn."""

    def __init__(self, num_classes=None, *, generator=None):
        super().__init__(num_classes, generator=generator)
        self.register_buffer("total", torch.zeros(()))

    def draw(self, graphs):
        self.total += torch.rand((), generator=self.generator)
        return self.total.clone()

    def change(self, graphs, plan):
        return replace(graphs, nodes={**graphs.nodes, "x": graphs.nodes["x"] * (1 + plan)})


class Frozen(Net):
    def __init__(self, in_channels, out_channels, width: int = 8):
        super().__init__(in_channels, out_channels, width)
        self.convs.requires_grad_(False)


@pytest.mark.parametrize("model", [Net, Frozen])
def test_a_training_goes_on_where_its_state_was_taken(mutag, model):
    straight = run(made(mutag, model, Drift), 2)
    state = copy.deepcopy(straight.state_dict())
    run(straight, 2)
    torch.manual_seed(99)
    resumed = made(mutag, model, Drift)
    resumed.load_state_dict(state)
    run(resumed, 2)
    assert resumed.curves == straight.curves
    assert resumed.method.total == straight.method.total
    assert all(map(torch.equal, resumed.model.parameters(), straight.model.parameters()))


def test_frozen_parameters_stay(mutag):
    one = made(mutag, Frozen)
    before = copy.deepcopy(one.model)
    run(one, 2)
    assert torch.equal(one.model.convs[0].lin_rel.weight, before.convs[0].lin_rel.weight)
    assert not torch.equal(one.model.head.weight, before.head.weight)


class Constant(nn.Module):
    """A baseline that has nothing to learn."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.register_buffer("logits", torch.arange(float(out_channels)))

    def forward(self, x, edge_index, edge_weight, batch):
        return self.logits.expand(int(batch.max()) + 1, -1)


def test_a_model_without_parameters(mutag):
    one = run(made(mutag, Constant), 2)
    assert one.curves["test_accuracy"] == [one.data.y[TEST].double().mean().item()] * 2


class Lazy(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = GraphConv(-1, 8)
        self.head = nn.LazyLinear(out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index, edge_weight), batch))


def test_lazy_parameters_are_trained_from_the_first_step(mutag):
    one, again = made(mutag, Lazy), made(mutag, Lazy)
    before = one.model.head.weight.detach().clone()
    run(one)
    assert one.model.head.weight.shape == (2, 8)
    assert not torch.equal(one.model.head.weight, before)
    assert run(again).curves == one.curves


class Mixed(Net):
    """Its head is in double precision."""

    def __init__(self, in_channels, out_channels):
        super().__init__(in_channels, out_channels)
        self.head.double()

    def forward(self, x, edge_index, edge_weight, batch):
        x = self.convs[0](x, edge_index, edge_weight)
        return self.head(global_mean_pool(x, batch).double())


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_parameters_of_two_dtypes(mutag, label_smoothing):
    one = made(mutag, Mixed, "ifmixup", label_smoothing=label_smoothing)
    before = copy.deepcopy(one.model)
    run(one, 2)
    assert one.model.head.weight.dtype == torch.double
    assert not torch.equal(one.model.head.weight, before.head.weight)
    assert not torch.equal(one.model.convs[0].lin_rel.weight, before.convs[0].lin_rel.weight)


class Given(Net):
    """Writes down what it is given by keyword."""

    got: ClassVar[list] = []

    def forward(self, x, edge_index, edge_weight, batch, edge_attr=None, node_weight=None):
        self.got.append((edge_weight, edge_attr, node_weight))
        return super().forward(x, edge_index, edge_weight, batch)


@pytest.mark.parametrize("use_edge_attr", [None, False])
@pytest.mark.parametrize("node_weight", [True, False])
def test_edge_attr_and_node_weight_go_to_a_model_that_names_them(mutag, use_edge_attr, node_weight):
    Given.got.clear()
    options = {"use_edge_attr": use_edge_attr, "node_weight": node_weight}
    one = run(made(mutag, Given, "ifmixup", batch_size=10, **options))
    assert one.settings.use_edge_attr == (use_edge_attr is None)
    (training, *evaluations) = Given.got
    assert (training[1] is not None) == (use_edge_attr is None)
    if use_edge_attr is None:
        assert training[1].shape == (training[0].numel(), 4)
    assert (training[2] is not None) == node_weight
    if node_weight:
        assert 0 < training[2].min() < training[2].max() == 1
    assert all(weight is None for weight, _, _ in evaluations)  # the graphs have none
    assert all((attr is not None) == (use_edge_attr is None) for _, attr, _ in evaluations)


def test_a_method_that_weights_no_edges_gives_a_users_model_none(mutag):
    Given.got.clear()
    run(made(mutag, Given, "none"))
    assert {(weight, node_weight) for weight, _, node_weight in Given.got} == {(None, None)}


class Peeping(Method):
    """Looks at whatever it is given."""

    seen: ClassVar[dict] = {}

    def note(self, where, graphs):
        assert graphs.index is not None
        self.seen.setdefault(where, []).append(graphs.index.tolist())

    def fit(self, graphs, *, seed):
        self.note("fit", graphs)
        self.seen["x"] = graphs.nodes["x"].sum()

    def draw(self, graphs):
        self.note("draw", graphs)

    def change(self, graphs, plan):
        self.note("change", graphs)
        return graphs

    def take(self, graphs, batches):
        self.note("take", graphs)
        return super().take(graphs, batches)

    def start_epoch(self, epoch):
        self.seen.setdefault("epochs", []).append(epoch)


def test_a_method_sees_the_training_graphs_and_nothing_else(mutag):
    Peeping.seen.clear()
    one = run(made(mutag, Net, Peeping, batch_size=4), 2)
    seen = Peeping.seen
    assert seen["fit"] == [TRAIN.tolist()]
    assert seen["x"] == mutag.batch(TRAIN).x.sum()
    assert seen["take"] == [TRAIN.tolist()] * 2
    for where in ("draw", "change"):
        assert [len(batch) for batch in seen[where]] == [4, 4, 2] * 2
        epochs = [list(chain(*seen[where][:3])), list(chain(*seen[where][3:]))]
        assert [sorted(epoch) for epoch in epochs] == [sorted(TRAIN.tolist())] * 2
        assert epochs[0] != epochs[1]
    assert seen["epochs"] == [0, 1]
    # what it gets are the graphs that it is told
    index = torch.tensor(seen["draw"][0])
    assert torch.equal(one.data.y[index], mutag.y[index])


def test_an_epoch_may_be_a_number_of_random_batches(mutag):
    Peeping.seen.clear()
    run(made(mutag, Net, Peeping, batch_size=4, steps_per_epoch=6))
    drawn = Peeping.seen["draw"]
    assert [len(batch) for batch in drawn] == [4] * 6
    assert all(len(set(batch)) == 4 and set(batch) <= set(TRAIN.tolist()) for batch in drawn)


class Peek(IfMixup):
    """A method of ours that a user has made to look."""

    seen: ClassVar[list] = []

    def draw(self, graphs):
        self.seen.extend(graphs.index.tolist())
        return super().draw(graphs)


def test_a_method_derived_from_ours_is_called(mutag):
    Peek.seen.clear()
    one, usual = run(made(mutag, Net, Peek)), run(made(mutag, Net, "ifmixup"))
    assert sorted(Peek.seen) == sorted(TRAIN.tolist())
    assert one.curves["train_loss"] == pytest.approx(usual.curves["train_loss"], rel=1e-5)


class OwnLoss(Method):
    """Twice the criterion of graphs whose features are doubled."""

    def loss(self, model, graphs, criterion):
        assert isinstance(model, GraphsModel)
        doubled = replace(graphs, nodes={**graphs.nodes, "x": 2 * graphs.nodes["x"]})
        return 2 * criterion(model(doubled), doubled.graphs["y"])


@pytest.mark.parametrize("model", [Net, with_options("gcn", dropout=0.0)])
def test_a_method_with_a_loss_of_its_own(mutag, model):
    one, start = (made(mutag, model, OwnLoss, batch_size=10) for _ in range(2))
    run(one)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    batch = start.data.batch(TRAIN[order])
    out = start.model.train()(2 * batch.x, batch.edge_index, None, batch.batch)
    by_hand = 2 * F.cross_entropy(out, batch.y).item()
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)


class Halves(Method):
    """Half of the edges go; our models must not take what is left for undirected."""

    def loss(self, model, graphs, criterion):
        weight = (graphs.edge_index[0] < graphs.edge_index[1]).float()
        less = replace(graphs, edges={**graphs.edges, "edge_weight": weight})
        return criterion(model(less), less.graphs["y"])


def test_a_loss_of_ones_own_may_change_edges(mutag):
    one, start = (made(mutag, "gin", Halves, batch_size=10, dropout=0.0) for _ in range(2))
    run(one)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    batch = start.data.batch(TRAIN[order])
    weight = (batch.edge_index[0] < batch.edge_index[1]).float()
    out = start.model.train()(batch.x, batch.edge_index, weight, batch.batch)
    by_hand = F.cross_entropy(out, batch.y).item()
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)


class Double(Method):
    """Every graph and a louder copy of it."""

    def change(self, graphs, plan):
        louder = replace(graphs, nodes={**graphs.nodes, "x": 3 * graphs.nodes["x"]})
        return concatenate(graphs, louder)


def test_a_method_may_give_more_graphs_than_it_got(mutag):
    one, start = (made(mutag, Net, Double, batch_size=10) for _ in range(2))
    run(one)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    batch = start.data.batch(TRAIN[order])
    out = [start.model(k * batch.x, batch.edge_index, None, batch.batch) for k in (1, 3)]
    by_hand = F.cross_entropy(torch.cat(out), batch.y.repeat(2)).item()
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)


class Normed(nn.Module):
    def __init__(self, in_channels, out_channels, kind: str = "torch"):
        super().__init__()
        norms = {"torch": nn.BatchNorm1d, "pyg": PyGBatchNorm, "ours": ifmixup.nn.BatchNorm}
        self.conv = GraphConv(in_channels, 4)
        self.norm = norms[kind](4)
        self.embed = nn.Linear(4, 4)  # a name that our own models have, for something else
        self.head = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, out_channels))

    def forward(self, x, edge_index, edge_weight, batch):
        h = self.norm(self.conv(x, edge_index, edge_weight)).relu()
        return self.head(global_mean_pool(self.embed(h), batch))


@pytest.mark.parametrize("kind", ["torch", "pyg", "ours"])
def test_batch_norm_of_any_kind_is_measured_anew(mutag, kind):
    one = run(made(mutag, Normed, kind=kind, recompute_bn=True, batch_size=10), 2)
    norm = one.model.norm.module if kind == "pyg" else one.model.norm
    batch = one.data.batch(TRAIN)
    with torch.no_grad():
        h = one.model.conv(batch.x, batch.edge_index)
    torch.testing.assert_close(norm.running_mean, h.mean(0))
    torch.testing.assert_close(norm.running_var, h.var(0))
    # several batches, in the head too
    seen = []
    last = one.model.head[0]
    hook = last.register_forward_pre_hook(lambda _, args: seen.append(args[0].mean(0)))
    graphs = [made(mutag, Normed, kind=kind).graphs, one.graphs]
    recompute_batch_norm(GraphsModel(one.model), iter(graphs))
    hook.remove()
    torch.testing.assert_close(last.running_mean, torch.stack(seen).mean(0))


class BadForward(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return x.no_such_thing  # this line


class BadInit(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        raise ValueError("I do not want to be made")  # that line


class BadFit(Method):
    def fit(self, graphs, *, seed):
        return graphs.nodes["colour"]  # no such feature


class BadChange(Method):
    def change(self, graphs, plan):
        return 1 / 0  # not a number


@pytest.mark.parametrize(
    ("model", "method", "error", "line"),
    [
        (BadForward, "none", "no_such_thing", "return x.no_such_thing  # this line"),
        (BadInit, "none", "ValueError: I do not want to be made", "raise ValueError"),
        (Net, BadFit, "KeyError: 'colour'", "# no such feature"),
        ("gcn", BadChange, "ZeroDivisionError", "return 1 / 0  # not a number"),
    ],
)
def test_an_error_names_the_users_own_line(mutag, model, method, error, line):
    with pytest.raises(ComponentError) as raised:
        run(made(mutag, model, method))
    text = str(raised.value)
    assert error in text
    assert line in text
    assert "(test_own_classes.py, line " in text
    assert "trainer.py" not in text
