import torch

from ifmixup.training import Settings, Trainer
from ifmixup.training.epoch_bar import epoch_bar, figures

SETTINGS = Settings(hidden=4, layers=1, epochs=3)


def test_it_shows_epoch_loss_and_metric(mutag, capsys):
    training = Trainer(SETTINGS, mutag, train=torch.arange(90), test=torch.arange(90, 188))
    with epoch_bar(3) as show:
        training.run_epoch()
        show(training)
    assert "epoch 1/3" in capsys.readouterr().err
    loss, accuracy = training.curves["train_loss"][0], training.latest["test"]["accuracy"]
    assert figures(training) == f"loss {loss:.4f}  test accuracy {accuracy:.3f}"


def test_without_parts_to_look_at(mutag):
    training = Trainer(SETTINGS, mutag, train=torch.arange(90))
    training.run_epoch()
    assert figures(training) == f"loss {training.curves['train_loss'][0]:.4f}"
