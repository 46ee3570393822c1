import math

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import InputError
from ifmixup.study.protocols import Choice, chosen_epoch, read, validation_score
from ifmixup.study.splits import make_splits
from ifmixup.training import RunResult, RunSpec, Settings, pack, run

NAN = math.nan


def finished(
    test, val=None, loss=None, *, repeat=0, fold=0, hidden=64, metric="accuracy", **changes
):
    """A finished run with these curves; a validation curve makes it one of ``holdout``."""
    curves = {f"test_{metric}": test}
    if val is not None:
        curves |= {f"validation_{metric}": val, "validation_loss": loss or [0.0] * len(val)}
    spec = {
        "dataset": "D",
        "data": "d",
        "settings": Settings(epochs=len(test), hidden=hidden),
        "protocol": "paper" if val is None else "holdout",
        "repeat": repeat,
        "fold": fold,
        "split": f"s{repeat}{fold}",
        "seed": 0,
        **changes,
    }
    return RunSpec(**spec), RunResult(curves, {}, 1.0, 0.1)


def hidden_and_epoch(reading):
    return {at: (c.settings["hidden"], c.epoch) for at, c in reading.chosen.items()}


@pytest.mark.parametrize(
    ("val", "loss", "epoch"),
    [
        ([0.1, 0.9, 0.5], [1, 1, 0], 1),  # the highest accuracy
        ([0.9, 0.9, 0.5], [2, 1, 0], 1),  # then the lowest loss
        ([0.9, 0.9, 0.9], [1, 1, 1], 0),  # then the earliest
        ([NAN, 0.2, NAN], [0, 5, 0], 1),
        ([0.9, 0.9, 0.1], [NAN, 5, 0], 1),
    ],
)
def test_the_epoch_that_validation_chooses(val, loss, epoch):
    _, result = finished([0.0] * 3, val, loss)
    assert chosen_epoch(result) == epoch
    assert validation_score(result) == (val[epoch], -loss[epoch])


def test_holdout_chooses_for_each_fold_and_looks_at_test_at_one_point():
    reading = read(
        [
            finished([0.1, 0.2, 0.3], [0.5, 0.8, 0.6], fold=0, hidden=64),
            finished([0.4, 0.5, 0.6], [0.7, 0.7, 0.7], fold=0, hidden=128),
            finished([0.1, 0.2, 0.3], [0.5, 0.6, 0.5], fold=1, hidden=64),
            finished([0.9, 0.5, 0.6], [0.6, 0.6, 0.7], fold=1, hidden=128),
        ]
    )
    assert reading.scores == {(0, 0): 0.2, (0, 1): 0.6}
    assert reading.last == {(0, 0): 0.3, (0, 1): 0.6}
    assert hidden_and_epoch(reading) == {(0, 0): (64, 2), (0, 1): (128, 3)}
    assert reading.chosen[0, 0] == Choice(Settings(epochs=3).relevant(), 2)
    assert (reading.protocol, reading.optimistic) == ("holdout", False)
    assert (reading.runs, reading.missing) == (4, {})


def test_holdout_does_not_depend_on_the_test_curve():
    val = [0.5, 0.8, 0.6]
    one = read([finished([0.1, 0.2, 0.3], val), finished([1.0, 1.0, 1.0], val, hidden=128)])
    two = read([finished([0.9, 0.2, 0.9], val), finished([0.0, 0.0, 0.0], val, hidden=128)])
    assert (one.scores, one.chosen) == (two.scores, two.chosen)


def test_settings_with_equal_validation_accuracy():
    runs = [
        finished([0.1, 0.1], [0.8, 0.5], [0.4, 0], hidden=64),
        finished([0.2, 0.2], [0.5, 0.8], [0, 0.3], hidden=128),
    ]
    assert hidden_and_epoch(read(runs)) == {(0, 0): (128, 2)}  # the lower loss
    equal = [
        finished([0.1, 0.1], [0.8, 0.5], [0.3, 0], hidden=64),
        finished([0.2, 0.2], [0.5, 0.8], [0, 0.3], hidden=128),
    ]
    order = [Settings(epochs=2, hidden=128), Settings(epochs=2, hidden=64)]
    assert hidden_and_epoch(read(equal)) == {(0, 0): (64, 1)}  # the first
    assert hidden_and_epoch(read(equal, settings=order)) == {(0, 0): (128, 2)}
    assert read(equal[::-1], settings=order) == read(equal, settings=order)


def test_paper_takes_the_best_epoch_of_the_mean_curve_of_each_repeat():
    reading = read(
        [
            finished([0.1, 0.9, 0.6], fold=0),  # the mean is 0.5, 0.5, 0.7
            finished([0.9, 0.1, 0.8], fold=1),
            finished([0.6, 0.2, 0.0], repeat=1, fold=0),  # 0.5, 0.5, 0.2: the earliest of two
            finished([0.4, 0.8, 0.4], repeat=1, fold=1),
        ]
    )
    assert reading.scores == {(0, 0): 0.6, (0, 1): 0.8, (1, 0): 0.6, (1, 1): 0.4}
    assert reading.last == {(0, 0): 0.6, (0, 1): 0.8, (1, 0): 0.0, (1, 1): 0.4}
    assert [c.epoch for c in reading.chosen.values()] == [3, 3, 1, 1]
    assert reading.optimistic
    assert reading.mean == pytest.approx(0.6)


def test_paper_chooses_one_setting_by_the_mean_over_repeats():
    reading = read(
        [
            finished([0.9, 0.0], repeat=0, hidden=64),
            finished([0.5, 0.1], repeat=1, hidden=64),  # 0.7
            finished([0.0, 0.8], repeat=0, hidden=128),
            finished([0.7, 0.2], repeat=1, hidden=128),  # 0.75
        ]
    )
    assert hidden_and_epoch(reading) == {(0, 0): (128, 2), (1, 0): (128, 1)}


def test_equal_means_are_equal_in_any_order_of_folds():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point.
    runs = [
        finished([a, b], fold=f) for f, (a, b) in enumerate([(0.3, 0.1), (0.2, 0.2), (0.1, 0.3)])
    ]
    assert {c.epoch for c in read(runs).chosen.values()} == {1}
    assert {c.epoch for c in read(runs[::-1]).chosen.values()} == {1}


def test_missing_runs_are_counted():
    runs = [
        finished([0.5], [0.5], fold=0, hidden=64),
        finished([0.6], [0.6], fold=0, hidden=128),
        finished([0.7], [0.5], fold=1, hidden=64),  # the one of hidden 128 failed
    ]
    reading = read(runs, pairs=[(0, 0), (0, 1), (0, 2)])
    assert reading.missing == {(0, 1): 1, (0, 2): 2}
    assert (reading.runs, reading.complete) == (3, False)
    assert reading.scores == {(0, 0): 0.6, (0, 1): 0.7}
    third = Settings(epochs=1, hidden=32)  # failed everywhere
    grid = [runs[0][0].settings, runs[1][0].settings, third]
    assert read(runs, settings=grid).missing == {(0, 0): 1, (0, 1): 2}


def test_paper_does_not_prefer_a_setting_that_failed_on_the_hard_fold():
    reading = read(
        [
            finished([0.9], fold=0, hidden=64),
            finished([0.8], fold=0, hidden=128),
            finished([0.2], fold=1, hidden=128),
        ]
    )
    assert hidden_and_epoch(reading) == {(0, 0): (128, 1), (0, 1): (128, 1)}
    assert reading.missing == {(0, 1): 1}


def test_nan_is_never_the_best():
    assert read([finished([NAN, 0.4, 0.3])]).scores == {(0, 0): 0.4}
    reading = read([finished([NAN], hidden=64), finished([0.1], hidden=128)])
    assert hidden_and_epoch(reading) == {(0, 0): (128, 1)}
    assert math.isnan(read([finished([NAN, NAN])]).mean)


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "E"},
        {"data": "e"},
        {"protocol": "paper"},
        {"seed": 1},
        {"settings": Settings(epochs=1, model="gin")},
        {"settings": Settings(epochs=1, method="ifmixup")},
    ],
)
def test_runs_that_do_not_belong_together(change):
    with pytest.raises(InputError, match="cannot be read as one"):
        read([finished([0.5], [0.5]), finished([0.5], [0.5], fold=1, **change)])


def test_runs_that_cannot_be_read():
    with pytest.raises(InputError, match="no finished runs"):
        read([])
    with pytest.raises(InputError, match="cannot be read as one"):
        read([finished([0.5]), finished([0.5], hidden=128, split="other")])
    with pytest.raises(InputError, match="Repeat 0, fold 0 is there twice"):
        read([finished([0.5]), finished([0.6])])
    with pytest.raises(InputError, match="not in the grid"):
        read([finished([0.5])], settings=[Settings(epochs=2)])
    with pytest.raises(InputError, match=r"has 1 points of test_accuracy, not .* 2 epochs"):
        read([finished([0.5], settings=Settings(epochs=2))])
    with pytest.raises(InputError, match="has 0 points of validation_accuracy"):
        read([finished([0.5], protocol="holdout")])


def test_the_rule_is_that_of_training():
    generator = torch.Generator().manual_seed(0)
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [
        Data(x=torch.randn(3, 4, generator=generator), edge_index=ring, y=torch.tensor([i % 2]))
        for i in range(40)
    ]
    data = pack(graphs, "noise")
    splits = make_splits(data, folds=4)
    settings = Settings(epochs=8, layers=2, hidden=8)
    runs = []
    for repeat, fold in splits.pairs:
        split = splits.fingerprint(repeat, fold)
        spec = RunSpec("noise", data.fingerprint, settings, "holdout", repeat, fold, split, 0)
        runs.append((spec, run(spec, data, splits.fold(repeat, fold))))
    reading = read(runs)
    assert len({c.epoch for c in reading.chosen.values()}) > 1  # something is chosen
    for spec, result in runs:
        place = spec.repeat, spec.fold
        assert reading.scores[place] == result.metrics["chosen_accuracy"]
        assert reading.last[place] == result.metrics["accuracy"]


def test_of_an_error_the_lowest_is_the_best():
    mae = {"metric": "mae"}
    reading = read(
        [
            finished([3.0, 2.0, 1.0], [0.5, 0.3, 0.6], hidden=64, **mae),
            finished([9.0, 8.0, 7.0], [0.9, 0.2, 0.4], hidden=128, **mae),
        ]
    )
    assert (reading.metric, reading.scores) == ("mae", {(0, 0): 8.0})
    assert hidden_and_epoch(reading) == {(0, 0): (128, 2)}
    reading = read(
        [
            finished([3.0, 1.0], fold=0, hidden=64, **mae),
            finished([1.0, 2.0], fold=1, hidden=64, **mae),
            finished([0.5, 2.0], fold=0, hidden=128, **mae),
            finished([1.0, 2.0], fold=1, hidden=128, **mae),
        ]
    )
    assert hidden_and_epoch(reading) == {(0, 0): (128, 1), (0, 1): (128, 1)}
    assert reading.mean == 0.75


def test_a_fold_without_a_metric_has_no_score():
    auc = {"metric": "roc_auc"}
    reading = read([finished([0.5, 0.7], **auc), finished([NAN, NAN], fold=1, **auc)])
    assert (reading.scores, reading.undefined) == ({(0, 0): 0.7}, ((0, 1),))
    assert reading.mean == reading.last_mean == 0.7
    assert reading.complete
    # A point that is missing on a fold where others are there is not left out: it is the worst.
    reading = read([finished([0.5, 0.7], **auc), finished([0.2, NAN], fold=1, **auc)])
    assert reading.scores == {(0, 0): 0.5, (0, 1): 0.2}
    # Where validation says nothing, its loss does.
    reading = read([finished([0.5, 0.7], [NAN, NAN], [0.3, 0.2], **auc)])
    assert reading.scores == {(0, 0): 0.7}


def test_metrics_are_not_mixed():
    with pytest.raises(InputError, match=r"different metrics .*: accuracy, mae"):
        read([finished([0.5]), finished([0.5], fold=1, metric="mae")])
