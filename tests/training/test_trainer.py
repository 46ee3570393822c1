import copy

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from ifmixup import augment
from ifmixup.batch import from_batch
from ifmixup.data import load
from ifmixup.errors import InputError, TrainingError
from ifmixup.nn import MODELS
from ifmixup.training import PackedDataset, Settings, Trainer, pack
from ifmixup.training.trainer import model_inputs
from task_graphs import with_labels, with_values

TINY = {"epochs": 3, "hidden": 8, "layers": 2}


def training(data, seed=0, **settings) -> Trainer:
    return Trainer(
        Settings(**{**TINY, **settings}),
        data,
        train=torch.arange(100),
        validation=torch.arange(100, 140),
        test=torch.arange(140, 188),
        seed=seed,
    )


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
    """The loss of the first step: the model and the method on a batch that PyG would make."""
    one.model.train()
    batch = one.data.batch(next(one._indices()))
    logits, y = one.method.step(one.model, batch)
    return F.cross_entropy(logits, y).item()


def weights(one: Trainer) -> list[torch.Tensor]:
    return [value.clone() for value in one.model.state_dict().values()]


@pytest.mark.parametrize("method", augment.names())
def test_the_same_seed_gives_the_same_numbers(mutag, method):
    states = []
    for junk in range(2):
        torch.rand(junk)  # what was drawn before does not matter
        one = training(mutag, method=method)
        for _ in range(2):
            one.run_epoch()
        states.append((weights(one), one.curves))
    assert states[0][1] == states[1][1]
    assert all(torch.equal(a, b) for a, b in zip(states[0][0], states[1][0], strict=True))
    other = training(mutag, method=method, seed=1)
    other.run_epoch()
    assert other.curves["train_loss"][0] != states[0][1]["train_loss"][0]


@pytest.mark.parametrize("method", ["none", "ifmixup", "mixup_graph", "drop_node"])
def test_a_training_goes_on_where_its_state_was_taken(mutag, method):
    options = {"method": method, "epochs": 6, "shuffle_every": 2, "halve_every": 2}
    straight = training(mutag, **options)
    for _ in range(3):
        straight.run_epoch()
    state = copy.deepcopy(straight.state_dict())
    for _ in range(3):
        straight.run_epoch()
    torch.manual_seed(99)
    resumed = training(mutag, **options)
    resumed.load_state_dict(state)
    for _ in range(3):
        resumed.run_epoch()
    assert resumed.curves == straight.curves
    assert all(torch.equal(a, b) for a, b in zip(weights(resumed), weights(straight), strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_eight_graphs_are_learnt_by_heart(mutag, model):
    chosen = torch.cat([(mutag.y == k).nonzero().view(-1)[:4] for k in (0, 1)])
    # Two of them may be the same graph with two labels; those of MUTAG chosen here are not.
    settings = Settings(
        model=model, epochs=400, batch_size=8, hidden=32, layers=3, dropout=0.0, halve_every=1000
    )
    one = Trainer(settings, mutag, train=chosen, test=chosen)
    for _ in range(400):
        one.run_epoch()
        if one.curves["test_loss"][-1] < 1e-3:
            break
    losses = one.curves["train_loss"]
    assert losses[-1] < 0.01
    assert losses[0] > 0.3
    assert one.curves["test_accuracy"][-1] == 1.0


def test_the_curves_are_what_the_model_says(mutag):
    one = training(mutag)
    one.run_epoch()
    one.model.eval()
    batch = mutag.batch(torch.arange(140, 188))
    with torch.no_grad():
        out = one.model(batch.x, batch.edge_index, None, batch.batch)
    assert one.curves["test_accuracy"] == [(out.argmax(1) == batch.y).double().mean().item()]
    assert one.curves["test_loss"][0] == pytest.approx(
        F.cross_entropy(out, batch.y).item(), rel=1e-5
    )
    assert len(one.curves["validation_accuracy"]) == len(one.curves["train_loss"]) == 1


def test_looking_does_not_change_the_training(mutag):
    curves = []
    for looks in (0, 3):
        one = training(mutag)
        one.run_epoch()
        for _ in range(looks):
            one.evaluate("test")
        one.run_epoch()
        curves.append(one.curves)
    assert curves[0] == curves[1]


def test_the_learning_rate_is_halved(mutag):
    one = training(mutag, halve_every=2, learning_rate=0.01)
    rates = []
    for _ in range(5):
        one.run_epoch()
        rates.append(one.optimizer.learning_rate)
    assert rates == [0.01, 0.01, 0.005, 0.005, 0.0025]


def test_an_epoch_is_a_pass_over_the_data_or_a_number_of_batches(mutag):
    one = training(mutag, batch_size=32)
    steps = [index.tolist() for index in one._indices()]
    assert [len(step) for step in steps] == [32, 32, 32, 4]
    assert sorted(place for step in steps for place in step) == list(range(100))
    assert steps != [index.tolist() for index in one._indices()]
    some = list(training(mutag, batch_size=32, steps_per_epoch=50)._indices())
    assert [step.numel() for step in some] == [32] * 50
    assert all(step.unique().numel() == 32 for step in some)


def test_a_loss_that_is_not_finite_is_an_error(mutag):
    one = training(mutag, learning_rate=1e30, norm="none")

    def three_epochs():
        for _ in range(3):
            one.run_epoch()

    with pytest.raises(TrainingError, match=r"loss is .* in epoch \d.*smaller learning rate"):
        three_epochs()


def test_edge_attributes_reach_gin(mutag):
    one = training(mutag, model="gin", use_edge_attr=True)
    one.run_epoch()
    assert one.model.layers[0].conv.lin_edge.weight.shape[1] == 4
    with pytest.raises(InputError, match="no edge attributes to use"):
        training(mutag.without_edge_attr(), model="gin", use_edge_attr=True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", augment.names())
def test_directed_graphs_are_trained_on_as_the_model_reads_their_batch(model, method):
    def make() -> Trainer:
        settings = Settings(model=model, method=method, hidden=8, layers=2, batch_size=7, epochs=1)
        data = directed()
        return Trainer(settings, data, train=torch.arange(7), test=torch.arange(7, 10))

    one = make()
    assert not one.mirrored
    one.run_epoch()
    assert one.curves["train_loss"][0] == pytest.approx(loss_by_hand(make()), rel=1e-5)

    batch = one.data.batch(torch.arange(7, 10))
    with torch.no_grad():
        out = one.model.eval()(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
    loss = F.cross_entropy(out, batch.y).item()
    assert one.curves["test_loss"][0] == pytest.approx(loss, rel=1e-5)


def learn(data: PackedDataset, method: str, **settings) -> Trainer:
    options = {"epochs": 20, "hidden": 16, "layers": 2, "readout": "mean", "dropout": 0.0}
    one = Trainer(
        Settings(model="gin", method=method, **{**options, "batch_size": 10, **settings}),
        data,
        train=torch.arange(40),
        test=torch.arange(40, 60),
    )
    while one.epoch < one.settings.epochs:
        one.run_epoch()
    return one


@pytest.mark.parametrize("method", augment.names())
def test_values_are_learnt_in_their_own_units(method):
    data = pack(with_values())
    one = learn(data, method)
    guess = data.y[:40].nanmean(0)
    naive = (data.y[40:] - guess).abs().nanmean(0).mean().item()
    assert naive > 5
    errors = one.curves["test_mae"]
    assert min(errors) < naive / 2
    assert one.curves["train_loss"][-1] < 0.6 < one.curves["train_loss"][0]
    # The curve is what a user would get.
    batch = one.data.batch(torch.arange(40, 60))
    with torch.no_grad():
        out = one.model.eval()(batch.x, batch.edge_index, None, batch.batch)
    by_hand = (one.scaling.outputs(out) - data.y[40:]).abs().nanmean(0).mean().item()
    assert errors[-1] == pytest.approx(by_hand, rel=1e-4)
    assert 290 < one.scaling.outputs(out)[:, 0].mean() < 360


@pytest.mark.parametrize("method", augment.names())
def test_labels_are_learnt(method):
    one = learn(pack(with_labels()), method)
    assert max(one.curves["test_roc_auc"]) > 0.85
    assert one.curves["train_loss"][-1] < 0.55 < one.curves["train_loss"][0]
    assert set(one.latest["test"]) == {"roc_auc", "accuracy", "nll"}


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
    for place, graph in enumerate(graphs):
        if place % 2:
            graph.y = torch.full((1, 2), torch.nan)
    one = learn(pack(graphs), "none", epochs=2, batch_size=1)
    assert all(0 < loss < 100 for loss in one.curves["train_loss"])
    assert torch.isfinite(one.optimizer.weights).all()


def test_there_must_be_something_to_learn():
    graphs = with_values()
    for graph in graphs[:40]:
        graph.y = torch.full((1, 2), torch.nan)
    with pytest.raises(InputError, match=r"None of the 40 graphs .* all are missing"):
        learn(pack(graphs), "none")


def test_classes_by_another_metric(mutag):
    one = training(pack(load("MUTAG"), metric="roc_auc"))
    one.run_epoch()
    usual = training(mutag)
    usual.run_epoch()
    assert one.curves["train_loss"] == usual.curves["train_loss"]
    assert one.latest["test"]["accuracy"] == usual.curves["test_accuracy"][0]
    assert one.curves["test_roc_auc"] == [one.latest["test"]["roc_auc"]]


def test_the_state_has_what_a_prediction_needs(mutag):
    assert training(mutag).state_dict()["scaling"]["x_mean"].tolist() == [0] * 7
    state = learn(pack(with_values()), "none", epochs=1).state_dict()
    assert state["scaling"]["y_mean"][0] > 290


@pytest.mark.parametrize("method", augment.names())
def test_mirrored_graphs_are_trained_on_as_the_model_reads_their_batch(mutag, method):
    one = training(mutag, method=method, batch_size=100)
    assert one.mirrored
    one.run_epoch()
    by_hand = loss_by_hand(training(mutag, method=method, batch_size=100))
    assert one.curves["train_loss"][0] == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        *({"method": method} for method in augment.names()),
        *({"method": "ifmixup", "model": model} for model in MODELS if model != "gcn"),
        {"method": "ifmixup", "shuffle_every": 1},
        {"model": "gin", "method": "ifmixup", "use_edge_attr": True},
    ],
    ids=str,
)
def test_knowing_that_edges_are_mirrored_changes_no_loss(mutag, settings):
    losses = []
    for mirrored in (True, False):
        one = training(mutag, **settings)
        assert one.mirrored
        one.mirrored = mirrored
        for _ in range(2):
            one.run_epoch()
        losses.append(one.curves["train_loss"])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.parametrize("mirrored", [True, False])
def test_what_the_model_takes(mirrored):
    x, edges = torch.ones(4, 1), torch.tensor([[0, 0, 1, 2, 3], [0, 1, 0, 3, 2]])
    graphs = from_batch(Data(x=x, edge_index=edges, edge_weight=torch.rand(5), y=torch.tensor(0)))
    inputs = model_inputs(graphs, mirrored)
    neighbours = inputs["edge_index"]
    if mirrored:
        assert neighbours.is_undirected
        neighbours = torch.stack([neighbours.target, neighbours.source])
    assert torch.equal(neighbours, edges)
    assert inputs["edge_weight"] is graphs.edges["edge_weight"]
    assert inputs["edge_attr"] is None
    assert inputs["batch"].tolist() == [0, 0, 0, 0]
    assert inputs["batch_size"] == 1


@pytest.mark.parametrize("method", ["none", "ifmixup", "mixup_graph"])
def test_how_many_batches_are_prepared_together_makes_no_difference(mutag, method):
    together = training(mutag, method=method)
    assert together.batches_at_once > 1
    together.run_epoch()
    alone = training(mutag, method=method)
    alone.batches_at_once = 1
    alone.run_epoch()
    assert together.curves == alone.curves


def clear(one: Trainer) -> None:
    one.model.zero_grad()  # which sets gradients to None


def convert(one: Trainer) -> None:
    one.model.double().float()


def assign(one: Trainer) -> None:
    state = {name: value.clone() for name, value in one.model.state_dict().items()}
    one.model.load_state_dict(state, assign=True)


@pytest.mark.parametrize("touch", [clear, convert, assign])
def test_touching_the_model_between_epochs_does_not_change_the_training(mutag, touch):
    straight = training(mutag)
    for _ in range(3):
        straight.run_epoch()
    touched = training(mutag)
    for _ in range(3):
        touched.run_epoch()
        touch(touched)
    assert touched.curves == straight.curves


def test_a_copy_goes_on_by_itself(mutag):
    one = training(mutag)
    one.run_epoch()
    other, state = copy.deepcopy(one), torch.get_rng_state()
    one.run_epoch()
    torch.set_rng_state(state)
    other.run_epoch()
    assert other.curves == one.curves
    assert all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


def test_a_frozen_parameter_is_said(mutag):
    one = training(mutag)
    one.model.layers[0].requires_grad_(False)
    with pytest.raises(TrainingError, match="frozen"):
        one.run_epoch()
