import pytest
import torch

from ifmixup.components import ClassSpec
from ifmixup.errors import CheckpointError, ComponentError, InputError
from ifmixup.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from ifmixup.training.fit import epoch_bar, train
from ifmixup.training.packed import pack
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer
from own_classes import Net, Noise
from task_graphs import with_values
from tiny import parts
from user_classes import EdgeNet, FrozenNet, LazyNet, MixedNet


def small(epochs=6, **changes):
    return parts("gcn", "ifmixup", epochs=epochs, **changes)


SMALL = small()
ALL = {"train": torch.arange(150), "test": torch.arange(150, 188)}


def state(path):
    return load_checkpoint(path).state


@pytest.mark.parametrize("stop", [1, 4])
def test_a_stopped_training_ends_with_the_same_weights(mutag, tmp_path, monkeypatch, stop):
    monkeypatch.setattr("ifmixup.training.fit.SAVE_EVERY", 0.0)
    whole, stopped = tmp_path / "whole.pt", tmp_path / "stopped.pt"
    train(*SMALL, mutag, **ALL, save=whole)

    def interrupt(training):
        if training.epoch == stop + 1:  # after a checkpoint, before the next one
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(*SMALL, mutag, **ALL, save=stopped, each_epoch=interrupt)
    assert state(stopped)["epoch"] == stop
    train(*SMALL, mutag, **ALL, save=stopped, resume=True)
    one, other = state(whole), state(stopped)
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])


def test_resuming_without_a_checkpoint_begins(mutag, tmp_path):
    training = train(*SMALL, mutag, **ALL, save=tmp_path / "new.pt", resume=True)
    assert training.epoch == 6


def test_resuming_what_is_finished_does_nothing(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*SMALL, mutag, **ALL, save=path)
    told = []
    train(*SMALL, mutag, **ALL, save=path, resume=True, each_epoch=told.append)
    assert told == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": small(7)}, "other settings: epochs was 6, is 7"),
        ({"of": small(hidden_channels=16)}, "other model: hidden_channels was 8, is 16"),
        ({"of": small(alpha=3)}, r"other method: alpha was 20\.0, is 3\.0"),
        ({"of": parts("gcn", "none", epochs=6)}, "other method: .*class was IfMixup, is Method"),
        ({"of": parts(Net, "ifmixup", epochs=6)}, "other model: class was GCN, is Net, code was"),
        ({"seed": 1}, "another training: seed was 0, is 1"),
        ({"train": torch.arange(100)}, "another training: trained_on"),
        ({"validation": torch.arange(150, 160)}, "another training: validated_on was None"),
    ],
)
def test_a_checkpoint_of_another_training_is_not_resumed(mutag, tmp_path, changes, message):
    path = tmp_path / "model.pt"
    train(*SMALL, mutag, **ALL, save=path)
    arguments = {"of": SMALL, **ALL, **changes}
    of = arguments.pop("of")
    with pytest.raises(CheckpointError, match=message):
        train(*of, mutag, **arguments, save=path, resume=True)


def test_the_checkpoint_says_what_it_is(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*SMALL, mutag, **ALL, save=path)
    about = load_checkpoint(path).about
    assert about["data"] == mutag.describe()
    assert (about["graphs"], about["versions"]["torch"]) == (150, str(torch.__version__))
    measured = about["measured"]
    assert (measured["part"], measured["graphs"], measured["epoch"]) == ("test", 38, 6)
    assert measured["metrics"]["accuracy"] == state(path)["curves"]["test_accuracy"][-1]
    settings, model, method = SMALL
    assert Settings.of(about["settings"]) == settings.with_(use_edge_attr=False)
    assert ClassSpec.of(about["model"]) == model
    assert ClassSpec.of(about["method"]) == method


def test_a_checkpoint_without_its_state_is_damaged(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*SMALL, mutag, **ALL, save=path)
    save_checkpoint(path, Checkpoint(load_checkpoint(path).about, {}))
    with pytest.raises(CheckpointError, match="damaged checkpoint"):
        train(*SMALL, mutag, **ALL, save=path, resume=True)


VALIDATED = {
    "train": torch.arange(100),
    "validation": torch.arange(100, 140),
    "test": torch.arange(140, 188),
}


def best_epoch(curves):
    accuracy, loss = curves["validation_accuracy"], curves["validation_loss"]
    return max(range(len(loss)), key=lambda epoch: (accuracy[epoch], -loss[epoch]))


def test_the_weights_are_those_of_the_best_epoch(mutag, tmp_path):
    path = tmp_path / "model.pt"
    seen = []

    def keep(training):
        seen.append({name: value.clone() for name, value in training.model.state_dict().items()})

    trained = train(*small(12), mutag, **VALIDATED, save=path, each_epoch=keep)
    best = best_epoch(trained.curves)
    assert len(seen) == trained.epoch == 12
    assert best < 11  # else this would test nothing
    for weights in (trained.model.state_dict(), state(path)["model"]):
        assert all(torch.equal(weights[name], value) for name, value in seen[best].items())
    measured = load_checkpoint(path).about["measured"]
    assert (measured["epoch"], measured["part"], measured["graphs"]) == (best + 1, "test", 48)
    assert measured["metrics"]["accuracy"] == trained.curves["test_accuracy"][best]


def test_patience(mutag):
    long = train(*small(40), mutag, **VALIDATED)
    short = train(*small(40), mutag, **VALIDATED, patience=3)
    assert short.epoch < 40
    assert short.curves["train_loss"] == long.curves["train_loss"][: short.epoch]
    assert best_epoch(short.curves) == short.epoch - 4  # three more, none of them better
    with pytest.raises(InputError, match="patience needs validation graphs"):
        train(*SMALL, mutag, **ALL, patience=3)
    with pytest.raises(InputError, match="patience must be a whole number of epochs, at least 1"):
        train(*SMALL, mutag, **VALIDATED, patience=0)


@pytest.mark.parametrize("stop", [2, 5])
def test_a_stopped_search_for_the_best_epoch_ends_the_same(mutag, tmp_path, monkeypatch, stop):
    monkeypatch.setattr("ifmixup.training.fit.SAVE_EVERY", 0.0)
    whole, stopped = tmp_path / "whole.pt", tmp_path / "stopped.pt"
    options = {**VALIDATED, "patience": 3}
    train(*small(40), mutag, **options, save=whole)

    def interrupt(training):
        if training.epoch == stop + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(*small(40), mutag, **options, save=stopped, each_epoch=interrupt)
    train(*small(40), mutag, **options, save=stopped, resume=True)
    one, other = state(whole), state(stopped)
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])
    measured = [load_checkpoint(path).about["measured"] for path in (whole, stopped)]
    assert measured[0] == measured[1]
    told = []
    again = train(*small(40), mutag, **options, save=stopped, resume=True, each_epoch=told.append)
    assert told == []  # the best weights are there: there is no going on
    assert torch.equal(again.model.state_dict()[key := next(iter(one["model"]))], one["model"][key])


def test_values_with_patience(tmp_path):
    path = tmp_path / "model.pt"
    data = pack(with_values())
    graphs = {"train": torch.arange(40), "validation": torch.arange(40, 60)}
    of = parts("gin", epochs=20, readout="mean")
    trained = train(*of, data, **graphs, patience=5, save=path)
    checkpoint = load_checkpoint(path)
    measured = checkpoint.about["measured"]
    assert (measured["part"], measured["graphs"]) == ("validation", 20)
    assert measured["metrics"]["mae"] == min(trained.curves["validation_mae"])
    assert checkpoint.about["data"] == data.describe()
    assert torch.equal(checkpoint.state["scaling"]["y_mean"], trained.scaling.y_mean)


def test_nothing_was_held_out(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*small(1), mutag, train=torch.arange(188), save=path)
    assert load_checkpoint(path).about["measured"] is None


def test_validation_graphs_of_which_nothing_is_known():
    graphs = with_values(12)
    for graph in graphs[8:]:
        graph.y = torch.full((1, 2), torch.nan)
    data = pack(graphs, task="values")
    kept = torch.arange(8)
    with pytest.raises(InputError, match="None of the 4 validation graphs"):
        train(*SMALL, data, train=kept, validation=torch.arange(8, 12))
    train(*small(1), data, train=kept, validation=torch.arange(7, 12))


@pytest.mark.parametrize("cls", [Net, LazyNet, FrozenNet, MixedNet, EdgeNet])
def test_a_users_classes_go_on_where_they_stopped(mutag, tmp_path, monkeypatch, cls):
    monkeypatch.setattr("ifmixup.training.fit.SAVE_EVERY", 0.0)
    whole, stopped = tmp_path / "whole.pt", tmp_path / "stopped.pt"
    of = parts(cls, Noise, epochs=4)
    train(*of, mutag, **ALL, save=whole)

    def interrupt(training):
        if training.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(*of, mutag, **ALL, save=stopped, each_epoch=interrupt)
    train(*of, mutag, **ALL, save=stopped, resume=True)
    one, other = state(whole), state(stopped)
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])


def test_a_file_says_that_its_model_reads_edge_attributes(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*parts(EdgeNet, epochs=1), mutag, **ALL, save=path)
    assert load_checkpoint(path).about["settings"]["use_edge_attr"] is True


def test_a_model_that_does_not_work_is_refused_before_training(mutag, tmp_path):
    class Wrong(Net):
        def forward(self, x, edge_index, edge_weight, batch):
            raise RuntimeError("no such layer")

    seen = []
    with pytest.raises(ComponentError, match=r"RuntimeError: no such layer \(test_fit.py, line"):
        train(*parts(Wrong), mutag, **ALL, save=tmp_path / "model.pt", each_epoch=seen.append)
    assert seen == []
    assert not (tmp_path / "model.pt").exists()


def test_the_bar_shows_epoch_loss_and_metric(mutag, capsys):
    trainer = Trainer(*small(3), mutag, **ALL)
    with epoch_bar(3) as told:
        trainer.run_epoch()
        told["each_epoch"](trainer)
    shown = capsys.readouterr().err
    assert "epoch 1/3" in shown
    loss, accuracy = trainer.curves["train_loss"][0], trainer.latest["test"]["accuracy"]
    assert f"loss {loss:.4f}  test accuracy {accuracy:.3f}" in shown


def test_the_bar_without_graphs_to_evaluate(mutag, capsys):
    trainer = Trainer(*small(3), mutag, train=ALL["train"])
    with epoch_bar(3) as told:
        trainer.run_epoch()
        told["each_epoch"](trainer)
    shown = capsys.readouterr().err
    assert f"loss {trainer.curves['train_loss'][0]:.4f}" in shown
    assert "accuracy" not in shown


def test_the_bar_shows_how_far_the_fit_is(mutag, capsys):
    with epoch_bar(3) as told:
        told["each_fit"](0.42)
    assert "fitting the method: 42 %" in capsys.readouterr().err


def test_a_fit_is_told_as_it_goes_on(mutag):
    shares = []
    train(*parts("gcn", "s_mixup", epochs=1), mutag, **ALL, each_fit=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
