import math

import pytest

from ifmixup.components import with_options
from ifmixup.data import load
from ifmixup.study.compare import plan
from ifmixup.study.estimate import estimate, longest, run_seconds, together
from ifmixup.study.splits import make_splits
from ifmixup.study.study import folds_of
from ifmixup.training.packed import pack
from own_classes import Net, Noise

TINY = {"hidden_channels": 4, "num_layers": 1}


class Ticking:
    """A clock that is looked at: every look takes a second."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture(scope="module")
def mutag():
    data = pack(load("MUTAG"))
    return data, make_splits(data, folds=2)


def tasks_of(mutag, models=("gcn",), methods=("none",), epochs=1, changes=TINY, **options):
    study = plan(*mutag, models, methods, changes={"epochs": epochs, **changes}, **options)
    folds = {fold.fingerprint: fold for fold in folds_of(mutag[1], "holdout")}
    return [(spec, folds[spec.split]) for spec in study.specs()]


def test_it_grows_with_the_epochs_and_shrinks_with_the_workers(mutag):
    few, many = (run_seconds(tasks_of(mutag, epochs=n), mutag[0]) for n in (1, 1000))
    assert 0 < max(few.values()) < min(many.values())
    assert together([1, 2, 3], 2) == 3
    assert together([1, 2, 4], 2) == 4  # the longest run is not divided
    assert together([], 2) == 0
    assert estimate([], mutag[0], 2) == 0


def test_every_kind_of_run_is_measured_and_named(mutag):
    wide = with_options("gcn", name="wide", hidden_channels=256, num_layers=5)
    tasks = tasks_of(mutag, models=("gcn", wide), changes={}, epochs=5)
    seconds = run_seconds(tasks, mutag[0])
    assert seconds.keys() == {spec.key for spec, _ in tasks}
    name, each = longest(seconds, [spec for spec, _ in tasks])
    assert name == "wide none"
    assert each == pytest.approx(
        sum(seconds[spec.key] for spec, _ in tasks if spec.model.name == "wide") / 2
    )


def test_measuring_ends_when_its_time_is_over(mutag):
    grid = {"dropout": [i / 100 for i in range(50)]}
    tasks = tasks_of(mutag, methods=("none", "ifmixup"), grid=grid)
    clock = Ticking()
    seconds = run_seconds(tasks, mutag[0], most=30.0, clock=clock)
    assert clock.now < 40  # of 100 kinds only a few
    assert len(seconds) == len(tasks)
    assert not any(map(math.isnan, seconds.values()))
    nothing = run_seconds(tasks, mutag[0], most=0.0)
    assert all(map(math.isnan, nothing.values()))
    assert longest(nothing, [spec for spec, _ in tasks]) is None


def test_other_models_and_methods_come_before_other_options(mutag):
    grid = {"dropout": [i / 100 for i in range(30)]}
    tasks = tasks_of(mutag, methods=("none", "drop_edge", "ifmixup"), grid=grid)
    seconds = run_seconds(tasks, mutag[0], most=12.0, clock=Ticking())
    assert not any(map(math.isnan, seconds.values()))


class Broken(Net):
    """Trains no step."""

    def forward(self, x, edge_index, edge_weight, batch):
        raise ValueError("no")


def test_what_fails_does_not_stop_the_estimate(mutag):
    tasks = tasks_of(mutag, models=(Broken, Net), methods=("none", Noise), changes={})
    seconds = run_seconds(tasks, mutag[0])
    assert all(value > 0 for value in seconds.values())  # taken to be as fast as the others
    alone = run_seconds(tasks_of(mutag, models=(Broken,), changes={}), mutag[0])
    assert all(map(math.isnan, alone.values()))


def test_fitting_a_method_counts_and_is_stopped_when_it_takes_too_long(
    mutag, tmp_path, monkeypatch
):
    monkeypatch.setenv("IFMIXUP_CACHE", str(tmp_path))
    small = {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 50}
    tasks = tasks_of(mutag, methods=("none", "s_mixup"), changes={**TINY, **small})
    by_method = {}
    for (spec, _), value in zip(
        tasks, run_seconds(tasks, mutag[0], most=1.0).values(), strict=True
    ):
        by_method[spec.method.name] = value
    assert by_method["s_mixup"] > by_method["none"]
    assert list(tmp_path.iterdir()) == []  # what was fitted on a few graphs is not kept
