"""The loop with our models and methods; those of a user's own are in test_own_classes."""

import copy
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from ifmixup import augment
from ifmixup.components import MODELS
from ifmixup.data import load
from ifmixup.errors import InputError, TrainingError
from ifmixup.nn import GCN, BatchNorm
from ifmixup.nn.inputs import GraphsModel
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.trainer import (
    Trainer,
    nested_share,
    recompute_batch_norm,
    with_wrong_labels,
)
from task_graphs import with_labels, with_values
from tiny import parts

NAMES = MODELS.names()
OF_ANY_TASK = [name for name in augment.names() if name != "g_mixup"]  # which needs classes


def made(data, model="gcn", method="none", *, seed=0, **changes) -> Trainer:
    return Trainer(
        *parts(model, method, **changes),
        data,
        train=torch.arange(100),
        validation=torch.arange(100, 140),
        test=torch.arange(140, 188),
        seed=seed,
    )


def run(one: Trainer, epochs: int) -> Trainer:
    for _ in range(epochs):
        one.run_epoch()
    return one


def directed() -> PackedDataset:
    """Directed graphs with weights, their edges in no order: some repeated, some loops."""
    generator = torch.Generator().manual_seed(0)
    data = [
        Data(
            x=torch.randn(n, 3, generator=generator),
            edge_index=torch.randint(n, (2, 2 * n), generator=generator),
            edge_weight=torch.rand(2 * n, generator=generator),
            y=torch.tensor([n % 2]),
        )
        for n in (3, 5, 4, 1, 2, 6, 3, 4, 7, 5)
    ]
    return pack(data, "directed")


def loss_by_hand(one: Trainer) -> float:
    """The loss of an epoch of one step: the model and the method on a batch that PyG would make."""
    one.model.train()
    order = torch.randperm(one.train.numel(), generator=torch.Generator().manual_seed(0))
    batch = one.data.batch(one.train[order])
    return one.method.loss(one.model, batch, F.cross_entropy).item()


def weights(one: Trainer) -> list[torch.Tensor]:
    return [value.clone() for value in one.model.state_dict().values()]


@pytest.fixture
def doubles():
    """Everything in double: a step of Adam makes much of the last bit of a float."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("method", augment.names())
def test_the_same_seed_gives_the_same_numbers(mutag, method):
    states = []
    for junk in range(2):
        torch.rand(junk)  # what was drawn before does not matter
        one = run(made(mutag, method=method), 2)
        states.append((weights(one), one.curves))
    assert states[0][1] == states[1][1]
    assert all(torch.equal(a, b) for a, b in zip(states[0][0], states[1][0], strict=True))
    other = run(made(mutag, method=method, seed=1), 1)
    assert other.curves["train_loss"][0] != states[0][1]["train_loss"][0]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("none", {}),
        ("ifmixup", {"shuffle_every": 2}),
        ("mixup_graph", {}),
        ("drop_node", {}),
        ("ifmixup", {"recompute_bn": True}),
    ],
)
def test_a_training_goes_on_where_its_state_was_taken(mutag, method, options):
    options |= {"epochs": 6, "halve_every": 2}
    straight = run(made(mutag, method=method, **options), 3)
    state = copy.deepcopy(straight.state_dict())
    run(straight, 3)
    torch.manual_seed(99)
    resumed = made(mutag, method=method, **options)
    resumed.load_state_dict(state)
    run(resumed, 3)
    assert resumed.curves == straight.curves
    assert all(torch.equal(a, b) for a, b in zip(weights(resumed), weights(straight), strict=True))


@pytest.mark.parametrize("model", NAMES)
def test_eight_graphs_are_learnt_by_heart(mutag, model):
    chosen = torch.cat([(mutag.y == k).nonzero().view(-1)[:4] for k in (0, 1)])
    # Two of them may be the same graph with two labels; those of MUTAG chosen here are not.
    options = {"hidden_channels": 32, "num_layers": 3, "dropout": 0.0, "weight_decay": 0.0}
    settings = parts(model, epochs=400, batch_size=8, halve_every=1000, **options)
    one = Trainer(*settings, mutag, train=chosen, test=chosen)
    for _ in range(400):
        one.run_epoch()
        if one.curves["test_loss"][-1] < 1e-3:
            break
    losses = one.curves["train_loss"]
    assert losses[-1] < 0.01
    assert losses[0] > 0.3
    assert one.curves["test_accuracy"][-1] == 1.0


def test_the_curves_are_what_the_model_says(mutag):
    one = run(made(mutag), 1)
    one.model.eval()
    batch = mutag.batch(torch.arange(140, 188))
    with torch.no_grad():
        out = one.model(batch.x, batch.edge_index, None, batch.batch)
    assert one.curves["test_accuracy"] == [(out.argmax(1) == batch.y).double().mean().item()]
    assert one.curves["test_loss"][0] == pytest.approx(
        F.cross_entropy(out, batch.y).item(), rel=1e-5
    )
    assert len(one.curves["validation_accuracy"]) == len(one.curves["train_loss"]) == 1


def test_evaluating_does_not_change_the_training(mutag):
    curves = []
    for times in (0, 3):
        one = run(made(mutag), 1)
        for _ in range(times):
            one.evaluate("test")
        curves.append(run(one, 1).curves)
    assert curves[0] == curves[1]


def test_the_learning_rate_is_halved(mutag):
    one, rates = made(mutag, halve_every=2, learning_rate=0.01, steps_per_epoch=1), []
    for _ in range(5):
        run(one, 1)
        rates.append(one.optimizer.param_groups[0]["lr"])
    assert rates == [0.01, 0.01, 0.005, 0.005, 0.0025]


def test_a_loss_that_is_not_finite_is_an_error(mutag):
    one = made(mutag, learning_rate=1e30, norm="none")
    with pytest.raises(TrainingError, match=r"loss is .* in epoch \d.*smaller learning rate"):
        run(one, 3)


def test_edge_attributes_reach_gin_when_asked_for(mutag):
    asked, usual = (run(made(mutag, "gin", use_edge_attr=on), 1) for on in (True, None))
    assert asked.model.edge_dim == 4
    assert usual.model.edge_dim is None
    assert (asked.settings.use_edge_attr, usual.settings.use_edge_attr) == (True, False)
    assert asked.curves["train_loss"] != usual.curves["train_loss"]
    with pytest.raises(InputError, match="no edge attributes to use"):
        made(mutag.without_edge_attr(), "gin", use_edge_attr=True)


@pytest.mark.parametrize("model", NAMES)
@pytest.mark.parametrize("method", augment.names())
def test_directed_graphs_are_trained_on_as_the_model_reads_their_batch(model, method):
    def new() -> Trainer:
        settings = parts(model, method, batch_size=7, epochs=1)
        return Trainer(*settings, directed(), train=torch.arange(7), test=torch.arange(7, 10))

    one = run(new(), 1)
    assert not one.training_model.undirected
    assert one.curves["train_loss"][0] == pytest.approx(loss_by_hand(new()), rel=1e-5)

    batch = one.data.batch(torch.arange(7, 10))
    with torch.no_grad():
        out = one.model.eval()(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
    loss = F.cross_entropy(out, batch.y).item()
    assert one.curves["test_loss"][0] == pytest.approx(loss, rel=1e-5)


def learn(data: PackedDataset, method: str, **settings) -> Trainer:
    options = {"epochs": 20, "hidden_channels": 16, "readout": "mean", "dropout": 0.0}
    options |= {"batch_size": 10, "weight_decay": 0.0, **settings}
    one = Trainer(
        *parts("gin", method, **options), data, train=torch.arange(40), test=torch.arange(40, 60)
    )
    return run(one, one.settings.epochs)


@pytest.mark.parametrize("method", OF_ANY_TASK)
def test_values_are_learnt_in_their_own_units(method):
    data = pack(with_values())
    one = learn(data, method)
    guess = data.y[:40].nanmean(0)
    naive = (data.y[40:] - guess).abs().nanmean(0).mean().item()
    assert naive > 5
    errors = one.curves["test_mae"]
    assert min(errors) < naive / 2
    times = 2 if method == "graph_transplant" else 1  # the sum of two losses
    assert one.curves["train_loss"][-1] < 0.6 * times < one.curves["train_loss"][0]
    # The curve is what a user would get.
    batch = one.data.batch(torch.arange(40, 60))
    with torch.no_grad():
        out = one.model.eval()(batch.x, batch.edge_index, None, batch.batch)
    by_hand = (one.scaling.outputs(out) - data.y[40:]).abs().nanmean(0).mean().item()
    assert errors[-1] == pytest.approx(by_hand, rel=1e-4)
    assert 290 < one.scaling.outputs(out)[:, 0].mean() < 360


@pytest.mark.parametrize("method", OF_ANY_TASK)
def test_labels_are_learnt(method):
    one = learn(pack(with_labels()), method)
    assert max(one.curves["test_roc_auc"]) > 0.85
    times = 2 if method == "graph_transplant" else 1  # the sum of two losses
    assert one.curves["train_loss"][-1] < 0.55 * times < one.curves["train_loss"][0]
    assert set(one.latest["test"]) == {"roc_auc", "accuracy", "nll"}


def test_g_mixup_needs_classes():
    with pytest.raises(InputError, match="not one class per graph"):
        learn(pack(with_values()), "g_mixup")


def test_nothing_is_learnt_of_the_test_graphs():
    losses = []
    for bend in (False, True):
        graphs = with_values()
        if bend:
            graphs[50].x[:, 2] *= 1000
            graphs[50].y = graphs[50].y * 1000
        losses.append(learn(pack(graphs), "ifmixup", epochs=2).curves["train_loss"])
    assert losses[0] == losses[1]


def test_batches_without_a_known_target():
    graphs = with_values()
    for graph in graphs[1::2]:
        graph.y = torch.full((1, 2), torch.nan)
    one = learn(pack(graphs), "none", epochs=2, batch_size=1)
    assert all(0 < loss < 100 for loss in one.curves["train_loss"])
    assert all(torch.isfinite(value).all() for value in one.model.parameters())


def test_there_must_be_something_to_learn():
    graphs = with_values()
    for graph in graphs[:40]:
        graph.y = torch.full((1, 2), torch.nan)
    with pytest.raises(InputError, match=r"None of the 40 graphs .* all are missing"):
        learn(pack(graphs), "none")


def test_classes_by_another_metric(mutag):
    one, usual = run(made(pack(load("MUTAG"), metric="roc_auc")), 1), run(made(mutag), 1)
    assert one.curves["train_loss"] == usual.curves["train_loss"]
    assert one.latest["test"]["accuracy"] == usual.curves["test_accuracy"][0]
    assert one.curves["test_roc_auc"] == [one.latest["test"]["roc_auc"]]


def test_label_smoothing_changes_the_loss_that_is_minimised_and_no_other(mutag):
    one = run(made(mutag, label_smoothing=0.1, batch_size=100), 1)
    usual = made(mutag, batch_size=100)
    usual.model.train()
    order = torch.randperm(100, generator=torch.Generator().manual_seed(0))
    batch = usual.data.batch(order)
    out = usual.model(batch.x, batch.edge_index, None, batch.batch)
    smooth = 0.9 * F.one_hot(batch.y, 2) + 0.1 / 2
    by_hand = -(smooth * out.log_softmax(1)).sum(1).mean().item()
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)
    assert one.curves["test_loss"] == [one.latest["test"]["nll"]]


def test_the_state_has_what_a_prediction_needs(mutag):
    assert made(mutag).state_dict()["scaling"]["x_mean"].tolist() == [0] * 7
    state = learn(pack(with_values()), "none", epochs=1).state_dict()
    assert state["scaling"]["y_mean"][0] > 290


@pytest.mark.parametrize("method", augment.names())
def test_undirected_graphs_are_trained_on_as_the_model_reads_their_batch(mutag, method):
    one = run(made(mutag, method=method, batch_size=100), 1)
    assert one.training_model.undirected
    by_hand = loss_by_hand(made(mutag, method=method, batch_size=100))
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        *({"method": method} for method in augment.names()),
        *({"method": "ifmixup", "model": model} for model in NAMES if model != "gcn"),
        {"method": "ifmixup", "shuffle_every": 1},
        {"model": "gin", "method": "ifmixup", "use_edge_attr": True},
    ],
    ids=str,
)
def test_knowing_that_edges_are_undirected_changes_no_loss(doubles, settings):
    losses = []
    for undirected in (True, False):
        one = made(pack(load("MUTAG")), **settings)
        assert one.training_model.undirected
        one.training_model.undirected = undirected
        losses.append(run(one, 2).curves["train_loss"])
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)


@pytest.mark.parametrize("method", ["none", "ifmixup", "mixup_graph"])
def test_how_many_batches_are_prepared_together_makes_no_difference(mutag, method):
    together = made(mutag, method=method)
    assert together.batches_at_once > 1
    run(together, 1)
    alone = made(mutag, method=method)
    alone.batches_at_once = 1
    assert run(alone, 1).curves == together.curves


def clear(one: Trainer) -> None:
    one.model.zero_grad()  # which sets gradients to None


def convert(one: Trainer) -> None:
    one.model.double().float()


def assign(one: Trainer) -> None:
    state = {name: value.clone() for name, value in one.model.state_dict().items()}
    one.model.load_state_dict(state, assign=True)


@pytest.mark.parametrize("touch", [clear, convert, assign])
def test_touching_the_model_between_epochs_does_not_change_the_training(mutag, touch):
    straight = run(made(mutag), 3)
    touched = made(mutag)
    for _ in range(3):
        touched.run_epoch()
        touch(touched)
    assert touched.curves == straight.curves


def test_a_copy_goes_on_by_itself(mutag):
    one = run(made(mutag, method="ifmixup"), 1)
    other, state = copy.deepcopy(one), torch.get_rng_state()
    one.run_epoch()
    torch.set_rng_state(state)
    other.run_epoch()
    assert other.curves == one.curves
    assert all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


def norms(model):
    return [module for module in model.modules() if isinstance(module, BatchNorm)]


def few(mutag, seed=0):
    """Eight graphs as a trainer would cut them."""
    generator = torch.Generator().manual_seed(seed)
    one = Trainer(*parts(), mutag, train=torch.randperm(188, generator=generator)[:8])
    return one.graphs


def test_batch_norm_is_measured_as_the_mean_over_the_batches(mutag):
    torch.manual_seed(0)
    model = GCN(7, 4, 1, 2).eval()
    (norm,) = norms(model)
    before, momentum = [], norm.momentum  # what the only batch norm gets
    values = {name: value.clone() for name, value in model.named_parameters()}
    hook = norm.register_forward_pre_hook(lambda _, args: before.append(args[0]))
    recompute_batch_norm(GraphsModel(model), iter([few(mutag, seed) for seed in range(3)]))
    hook.remove()
    assert len(before) == 3
    mean, var = (torch.stack([f(h) for h in before]).mean(0) for f in (mean_of, var_of))
    torch.testing.assert_close(norm.running_mean, mean)
    torch.testing.assert_close(norm.running_var, var)
    assert norm.momentum == momentum
    assert not model.training
    assert all(torch.equal(values[name], value) for name, value in model.named_parameters())


def mean_of(h):
    return h.mean(0)


def var_of(h):
    return h.var(0)


def test_what_batch_norm_had_before_is_forgotten(mutag):
    torch.manual_seed(0)
    model = GCN(7, 4, 2, 2)
    recompute_batch_norm(GraphsModel(model), iter([few(mutag)]))
    once = [norm.running_var.clone() for norm in norms(model)]
    for norm in norms(model):
        norm.running_var.fill_(99.0)
    recompute_batch_norm(GraphsModel(model), iter([few(mutag)]))
    assert all(torch.equal(a, norm.running_var) for a, norm in zip(once, norms(model), strict=True))


def test_a_model_without_batch_norm_is_left_alone(mutag):
    model = GCN(7, 4, 2, 2, norm="none")
    state = {name: value.clone() for name, value in model.state_dict().items()}
    recompute_batch_norm(GraphsModel(model), iter([few(mutag)]))
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())


def test_measured_statistics_change_the_evaluation_and_not_the_first_epoch(mutag):
    running, exact = (run(made(mutag, recompute_bn=on), 1) for on in (False, True))
    assert running.curves["train_loss"] == exact.curves["train_loss"]
    assert running.curves["test_loss"] != exact.curves["test_loss"]


def test_shares_of_the_training_graphs_are_nested_and_stratified(mutag):
    train = torch.arange(20, 188)
    found = [nested_share(mutag, train, share, seed=3) for share in (0.05, 0.1, 0.5, 1.0)]
    for smaller, larger in pairwise(found):
        assert set(smaller.tolist()) < set(larger.tolist())
    assert found[-1].equal(train)
    counts = mutag.y[train].bincount()
    for share, index in zip((0.05, 0.1, 0.5), found, strict=False):
        expected = [round(share * int(count)) for count in counts]
        assert mutag.y[index].bincount().tolist() == expected
        assert index.equal(index.sort().values)
    assert not nested_share(mutag, train, 0.1, seed=4).equal(found[1])


def test_a_share_has_each_class_and_the_method_sees_nothing_else(mutag):
    index = nested_share(mutag, torch.arange(100), 1e-6, seed=0)
    assert sorted(mutag.y[index].tolist()) == [0, 1]
    one = made(mutag, train_share=0.1)
    assert one.train.equal(nested_share(mutag, torch.arange(100), 0.1, seed=0))
    assert one.graphs.num_graphs == len(one.train)


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_wrong_labels_are_those_of_training_and_validation_graphs_only(mutag, share):
    changed = with_wrong_labels(mutag, torch.arange(140), share, seed=5)
    wrong = changed.y != mutag.y
    assert not wrong[140:].any()
    assert 0.6 * share < wrong[:140].double().mean() < 1.4 * share
    more = with_wrong_labels(mutag, torch.arange(140), share + 0.1, seed=5).y != mutag.y
    assert (more | ~wrong).all()  # a larger share keeps the wrong ones
    one = made(mutag, label_noise=share, seed=5)
    assert one.predicted("test")[1].equal(mutag.y[140:188])
    assert one.predicted("validation")[1].equal(changed.y[100:140])
    assert one.data.y[:100].equal(changed.y[:100])
    assert mutag.y.equal(pack(load("MUTAG")).y)  # the input is untouched


def test_wrong_labels_are_of_any_other_class():
    graphs = [
        Data(
            x=torch.ones(1, 1),
            edge_index=torch.empty(2, 0, dtype=torch.long),
            y=torch.tensor([i % 3]),
        )
        for i in range(3000)
    ]
    data = pack(graphs, "three")
    changed = with_wrong_labels(data, torch.arange(3000), 0.5, seed=0).y
    moved = (changed - data.y)[changed != data.y] % 3
    assert 0.45 < (moved == 1).double().mean() < 0.55
    with pytest.raises(InputError, match="label_noise is for classes; these targets are values"):
        with_wrong_labels(pack(with_values()), torch.arange(3), 0.5, seed=0)
