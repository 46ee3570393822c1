from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.training import Fold, RunResult, RunSpec, Settings, pack, run, train
from ifmixup.training.run import choose_device, reproducible
from task_graphs import with_labels, with_values

FOLD = Fold(torch.arange(100), torch.arange(100, 140), torch.arange(140, 188))
SPEC = RunSpec(
    "MUTAG", "-", Settings(epochs=6, hidden=8, layers=2, method="ifmixup"), "holdout", 0, 0, "-", 0
)


def test_validation_chooses_and_the_test_fold_is_read_at_that_epoch(mutag):
    result = run(SPEC, mutag, FOLD)
    accuracy, loss = result.curves["validation_accuracy"], result.curves["validation_loss"]
    chosen = max(range(6), key=lambda epoch: (accuracy[epoch], -loss[epoch]))
    assert result.metrics["chosen_accuracy"] == result.curves["test_accuracy"][chosen]
    assert result.metrics["chosen_nll"] == result.curves["test_loss"][chosen]
    assert result.metrics["accuracy"] == result.curves["test_accuracy"][-1]
    assert set(result.metrics) == {
        f"{prefix}{name}"
        for prefix in ("", "chosen_")
        for name in ("accuracy", "balanced_accuracy", "nll", "ece")
    }


@pytest.mark.parametrize(
    ("graphs", "metric", "sign", "names"),
    [
        (with_labels, "roc_auc", 1, {"roc_auc", "accuracy", "nll"}),
        (with_values, "mae", -1, {"mae", "squared_error"}),
    ],
)
def test_labels_and_values(graphs, metric, sign, names):
    fold = Fold(torch.arange(30), torch.arange(30, 45), torch.arange(45, 60))
    result = run(SPEC, pack(graphs()), fold)
    assert result.metric == metric
    scores, loss = result.curves[f"validation_{metric}"], result.curves["validation_loss"]
    chosen = max(range(6), key=lambda epoch: (sign * scores[epoch], -loss[epoch]))
    assert result.metrics[f"chosen_{metric}"] == result.curves[f"test_{metric}"][chosen]
    assert set(result.metrics) == {*names, *(f"chosen_{name}" for name in names)}


def test_the_metric_of_a_result():
    assert RunResult({"test_mae": [1.0]}, {}, 1.0, 0.1).metric == "mae"
    assert RunResult({"test_accuracy": [1.0]}, {}, 1.0, 0.1).metric == "accuracy"


def test_under_the_papers_protocol_validation_is_trained_on(mutag, monkeypatch):
    seen = []
    monkeypatch.setattr("ifmixup.training.trainer.Trainer.run_epoch", lambda self: (
        seen.append(self.train.tolist()), setattr(self, "epoch", 6), self.latest.update(test={})
    ))  # fmt: skip
    result = run(replace(SPEC, protocol="paper"), mutag, FOLD)
    assert seen == [list(range(140))]
    assert set(result.curves) == {"train_loss", "test_accuracy", "test_loss"}
    assert "chosen_accuracy" not in result.metrics


def test_random_state_and_threads_are_left_alone(mutag):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    first = run(SPEC, mutag, FOLD)
    assert torch.rand(1) == expected
    assert torch.get_num_threads() == threads
    assert run(SPEC, mutag, FOLD).curves == first.curves


def test_threads_come_back_after_an_error():
    threads = torch.get_num_threads()
    with pytest.raises(KeyError), reproducible():
        raise KeyError
    assert torch.get_num_threads() == threads


def test_each_epoch_is_told(mutag):
    told = []
    run(SPEC, mutag, FOLD, each_epoch=told.append)
    assert told == [1, 2, 3, 4, 5, 6]


def test_devices():
    assert choose_device("cpu").type == "cpu"
    there = torch.cuda.is_available() or torch.backends.mps.is_available()
    assert (choose_device("auto").type != "cpu") == there
    with pytest.raises(InputError, match=r"no device 'tpu' here. There is: auto, .*cpu"):
        choose_device("tpu")


def test_threads_do_not_disturb_each_other(mutag):
    settings = Settings(epochs=3, hidden=8, layers=2, method="ifmixup", dropout=0.5)

    def weights(seed):
        trained = train(settings, mutag, train=torch.arange(64), seed=seed)
        return torch.cat([value.flatten() for value in trained.model.state_dict().values()])

    alone = [weights(seed) for seed in (0, 1, 2, 3)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(weights, (0, 1, 2, 3)))
    assert all(torch.equal(*pair) for pair in zip(alone, together, strict=True))


def test_within_a_training_another_one():
    with reproducible(), reproducible():
        assert torch.get_num_threads() == 1
