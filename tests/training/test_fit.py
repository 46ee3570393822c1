import pytest
import torch

from ifmixup.errors import CheckpointError
from ifmixup.training import Checkpoint, Settings, load_checkpoint, save_checkpoint, train

SETTINGS = Settings(epochs=6, hidden=8, layers=2, method="ifmixup", dropout=0.5)
ALL = {"train": torch.arange(150), "test": torch.arange(150, 188)}


def state(path):
    return load_checkpoint(path).state


@pytest.mark.parametrize("stop", [1, 4])
def test_a_stopped_training_ends_with_the_same_weights(mutag, tmp_path, monkeypatch, stop):
    monkeypatch.setattr("ifmixup.training.fit.SAVE_EVERY", 0.0)
    whole, stopped = tmp_path / "whole.pt", tmp_path / "stopped.pt"
    train(SETTINGS, mutag, **ALL, save=whole)

    def interrupt(training):
        if training.epoch == stop + 1:  # after a checkpoint, before the next one
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SETTINGS, mutag, **ALL, save=stopped, each_epoch=interrupt)
    assert state(stopped)["epoch"] == stop
    train(SETTINGS, mutag, **ALL, save=stopped, resume=True)
    one, other = state(whole), state(stopped)
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])


def test_resuming_without_a_checkpoint_begins(mutag, tmp_path):
    training = train(SETTINGS, mutag, **ALL, save=tmp_path / "new.pt", resume=True)
    assert training.epoch == 6


def test_resuming_what_is_finished_does_nothing(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, **ALL, save=path)
    told = []
    train(SETTINGS, mutag, **ALL, save=path, resume=True, each_epoch=told.append)
    assert told == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": SETTINGS.with_(hidden=16)}, "other settings: hidden was 8, is 16"),
        ({"seed": 1}, "another training: seed was 0, is 1"),
        ({"train": torch.arange(100)}, "another training: trained_on"),
    ],
)
def test_a_checkpoint_of_another_training_is_not_resumed(mutag, tmp_path, changes, message):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, **ALL, save=path)
    arguments = {"settings": SETTINGS, **ALL, **changes}
    settings = arguments.pop("settings")
    with pytest.raises(CheckpointError, match=message):
        train(settings, mutag, **arguments, save=path, resume=True)


def test_the_checkpoint_says_what_it_is(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, **ALL, save=path)
    about = load_checkpoint(path).about
    assert (about["dataset"], about["graphs"], about["num_features"]) == ("MUTAG", 150, 7)
    assert Settings.of(about["settings"]) == SETTINGS


def test_a_checkpoint_without_its_state_is_damaged(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(SETTINGS, mutag, **ALL, save=path)
    save_checkpoint(path, Checkpoint(load_checkpoint(path).about, {}))
    with pytest.raises(CheckpointError, match="damaged checkpoint"):
        train(SETTINGS, mutag, **ALL, save=path, resume=True)
