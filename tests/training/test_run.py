from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from ifmixup.data.dataset import METRICS
from ifmixup.errors import InputError
from ifmixup.training.fit import train
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult, choose_device, reproducible, run, versions
from ifmixup.training.run_spec import Fold, RunSpec
from task_graphs import with_labels, with_values
from tiny import parts

FOLD = Fold(0, 0, tuple(range(100)), tuple(range(100, 140)), tuple(range(140, 188)))
SPEC = RunSpec("MUTAG", "-", "-", 0, 0, 0, *parts("gcn", "ifmixup", epochs=6))


def test_validation_chooses_and_the_test_fold_is_read_at_that_epoch(mutag):
    result = run(SPEC, mutag, FOLD)
    accuracy, loss = result.curves["validation_accuracy"], result.curves["validation_loss"]
    chosen = max(range(6), key=lambda epoch: (accuracy[epoch], -loss[epoch]))
    assert result.metrics["chosen_accuracy"] == result.curves["test_accuracy"][chosen]
    assert result.metrics["chosen_nll"] == result.curves["test_loss"][chosen]
    assert result.metrics["accuracy"] == result.curves["test_accuracy"][-1]
    names = METRICS["classes"]
    assert set(result.metrics) == {
        *(f"{prefix}{name}" for prefix in ("", "chosen_") for name in names),
        *("temperature", "scaled_nll", "scaled_ece"),
    }
    assert 0 < result.prepare_seconds < result.seconds


@pytest.mark.parametrize(
    ("graphs", "metric", "sign", "names"),
    [
        (with_labels, "roc_auc", 1, METRICS["labels"]),
        (with_values, "mae", -1, (*METRICS["values"], "squared_error")),
    ],
)
def test_labels_and_values(graphs, metric, sign, names):
    fold = Fold(0, 0, tuple(range(30)), tuple(range(30, 45)), tuple(range(45, 60)))
    result = run(SPEC, pack(graphs()), fold)
    assert result.metric == metric
    scores, loss = result.curves[f"validation_{metric}"], result.curves["validation_loss"]
    chosen = max(range(6), key=lambda epoch: (sign * scores[epoch], -loss[epoch]))
    assert result.metrics[f"chosen_{metric}"] == result.curves[f"test_{metric}"][chosen]
    assert set(result.metrics) == {*names, *(f"chosen_{name}" for name in names)}


def test_the_metric_of_a_result():
    assert RunResult({"test_mae": [1.0]}, {}, 1.0, 0.1).metric == "mae"
    assert RunResult({"test_accuracy": [1.0]}, {}, 1.0, 0.1).metric == "accuracy"


def test_a_fold_without_validation_chooses_nothing(mutag):
    result = run(SPEC, mutag, FOLD.without_validation)
    assert set(result.curves) == {"train_loss", "test_accuracy", "test_loss"}
    assert not any(name.startswith("chosen_") for name in result.metrics)
    alone = run(SPEC, mutag, replace(FOLD, validation=()))
    assert alone.curves["train_loss"] != result.curves["train_loss"]  # 40 graphs fewer


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
    with pytest.raises(InputError, match=r"no device 'tpu'. It has: auto, .*cpu"):
        choose_device("tpu")


def test_threads_do_not_disturb_each_other(mutag):
    settings = parts("gcn", "ifmixup", dropout=0.5)

    def weights(seed):
        trained = train(*settings, mutag, train=torch.arange(64), seed=seed)
        return torch.cat([value.flatten() for value in trained.model.state_dict().values()])

    alone = [weights(seed) for seed in (0, 1, 2, 3)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(weights, (0, 1, 2, 3)))
    assert all(torch.equal(*pair) for pair in zip(alone, together, strict=True))


def test_within_a_training_another_one():
    with reproducible(), reproducible():
        assert torch.get_num_threads() == 1


def test_what_is_installed():
    found = versions()
    assert set(found) == {"ifmixup", "python", "torch", "torch_geometric"}
    assert found["torch"] == torch.__version__
    assert all(type(version) is str for version in found.values())  # a checkpoint can hold them


def test_the_time_of_the_fit_stands_in_the_run(mutag, tmp_path, monkeypatch):
    """Also where a fit for another model is used again."""
    monkeypatch.setenv("IFMIXUP_CACHE", str(tmp_path))
    of_models = []
    for model in ("gcn", "gin"):
        settings, *specs = parts(model, "s_mixup", epochs=1)
        spec = replace(SPEC, settings=settings, model=specs[0], method=specs[1])
        of_models.append(run(spec, mutag, FOLD))
    assert len(list(tmp_path.iterdir())) == 1  # fitted once
    first, second = (each.fit_seconds for each in of_models)
    assert 0 < first < of_models[0].prepare_seconds
    assert first / 2 < second < 2 * first + 1
    assert run(SPEC, mutag, FOLD).fit_seconds is None
    assert "fit_seconds" not in run(SPEC, mutag, FOLD).metrics
