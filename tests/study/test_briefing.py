from dataclasses import replace

import pytest

from ifmixup.data import load
from ifmixup.study.briefing import briefing, settings_lines
from ifmixup.study.compare import plan
from ifmixup.study.splits import make_splits
from ifmixup.study.study import folds_of
from ifmixup.training.packed import pack


@pytest.fixture(scope="module")
def mutag():
    data = pack(load("MUTAG"))
    return data, make_splits(data, folds=2)


def study_and_tasks(mutag, **options):
    study = plan(*mutag, ("gin",), ("none", "ifmixup"), **options)
    folds = {fold.fingerprint: fold for fold in folds_of(mutag[1], "holdout")}
    return study, [(spec, folds[spec.split]) for spec in study.specs()]


def test_settings_with_their_origin(mutag):
    study, _ = study_and_tasks(mutag, changes={"epochs": 7})
    model, method = settings_lines(study)
    assert model.startswith(
        "Settings of gin (recommended for MUTAG and GIN, with epochs=7 as given"
    )
    assert "epochs 7, learning_rate 0.01," in model
    assert "num_layers 5" in model
    assert method.startswith("  ifmixup: alpha 20.0, beta 1.0,")


def test_a_grid_is_shown_as_what_there_is_to_choose_from(mutag):
    grid = {"dropout": [0.0, 0.5], "num_layers": [1, 2, 3, 4, 5, 6]}
    model, _ = settings_lines(study_and_tasks(mutag, grid=grid)[0])
    assert "dropout 0.0 or 0.5," in model
    assert "num_layers 1 or 2 or 3 or 4 and 2 more" in model


def test_how_many_how_long_and_where_the_longest_is(mutag):
    study, tasks = study_and_tasks(mutag)
    seconds = {s.key: 30.0 if s.method.name == "none" else 90.0 for s, _ in tasks}
    assert briefing(study, tasks, seconds, workers=2)[-1] == (
        "4 runs to do; about 2 min 0 s with 2 workers; the longest, gin ifmixup, take "
        "1 min 30 s each."
    )
    assert briefing(study, tasks[:1], seconds, workers=1, halving=True)[-1] == (
        "1 run to do (3 of 4 are stored); about 30 s with 1 worker; the longest, gin none, take "
        "30 s each. This is an upper bound: halving skips most of the grid."
    )
    assert (
        "about 4 min 0 s one after the other" in briefing(study, tasks, seconds, workers=None)[-1]
    )
    assert briefing(study, [], {}, workers=2)[-1] == "Nothing to do: all 4 runs are stored."
    assert briefing(study, tasks, {}, workers=2)[-1] == (
        "4 runs to do; the time they take is unknown."
    )


def test_notes_come_before_the_runs(mutag):
    study, tasks = study_and_tasks(mutag)
    noted = replace(study, notes=("Leak: 3 of 4 test graphs",))
    assert "Leak: 3 of 4 test graphs" in briefing(noted, tasks, {}, workers=1)
