import copy

import torch

from ifmixup.training.early_stopping import BestWeights
from ifmixup.training.trainer import Trainer
from tiny import parts


def made(mutag) -> Trainer:
    graphs = {"train": torch.arange(60), "validation": torch.arange(60, 90)}
    return Trainer(*parts(epochs=9), mutag, **graphs)


def after(training: Trainer, accuracy: float, mark: float) -> None:
    """As if an epoch had been trained: so good, with all weights the same number."""
    training.epoch += 1
    training.curves["validation_accuracy"].append(accuracy)
    training.curves["validation_loss"].append(1.0)
    training.latest = {"validation": {"accuracy": accuracy}}
    with torch.no_grad():
        for weights in training.model.parameters():
            weights.fill_(mark)


def mark(training: Trainer) -> float:
    return next(training.model.parameters()).flatten()[0].item()


def test_the_best_is_kept_and_restored(mutag):
    training, best = made(mutag), BestWeights(patience=2)
    found = []
    for number, accuracy in enumerate((0.5, 0.7, 0.6, 0.7), start=1):
        after(training, accuracy, float(number))
        best.update(training)
        found.append((best.epoch, best.waited, best.over))
    assert found == [(1, 0, False), (2, 0, False), (2, 1, False), (2, 2, True)]
    best.restore(training)
    assert mark(training) == 2.0
    assert training.latest == {"validation": {"accuracy": 0.7}}


def test_it_goes_on_where_its_state_was_taken(mutag):
    training, best = made(mutag), BestWeights()
    for number, accuracy in enumerate((0.5, 0.7, 0.6), start=1):
        after(training, accuracy, float(number))
        best.update(training)
    again = BestWeights()
    again.load_state_dict(copy.deepcopy(best.state_dict()))
    assert not again.over
    after(training, 0.65, 4.0)
    again.update(training)
    assert (again.epoch, again.waited) == (2, 2)
    again.restore(training)
    assert mark(training) == 2.0
    done = BestWeights()
    done.load_state_dict(again.state_dict())
    assert done.over
    after(training, 0.1, 9.0)
    done.restore(training)  # they were restored before
    assert mark(training) == 9.0
