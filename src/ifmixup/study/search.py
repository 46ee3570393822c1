"""Searching a grid by successive halving: ``halving`` plans it, here it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ifmixup.study.halving import Halving, Rung, score
from ifmixup.study.store import Store
from ifmixup.study.study import Study, Trial
from ifmixup.training import RunSpec, Settings

SEARCHES = ("grid", "halving")
NOTE = (
    "The settings were searched by successive halving on a few folds, whose training and "
    "validation graphs are test graphs of other folds: these numbers are a little optimistic. "
    "The search 'grid' chooses fold by fold."
)

Execute = Callable[[Sequence[RunSpec]], None]


def halve(study: Study, store: Store, execute: Execute) -> Study:
    """Leave out settings that do badly on a few folds and epochs.

    Args:
        study: A study with a grid of settings.
        store: Where the runs are.
        execute: Runs what the store does not have yet.

    Returns:
        The same study with the settings that are left, still to be run in full.
    """
    folds = len(_first_repeat(study))
    plans = {
        trial: Halving().rungs(len(candidates), folds, candidates[0].epochs)[:-1]
        for trial, candidates in study.settings.items()
    }
    left = climb(study, store, execute, plans)
    return replace(study, settings={trial: list(scores) for trial, scores in left.items()})


def climb(
    study: Study,
    store: Store,
    execute: Execute,
    plans: Mapping[Trial, Sequence[Rung]],
) -> dict[Trial, dict[Settings, float]]:
    """The settings of each trial that are left after its rungs, with their scores in the last.

    Args:
        study: A study with a grid of settings.
        store: Where the runs are.
        execute: Runs what the store does not have yet.
        plans: The rungs of each trial, first to last; after none, all are left, with a score of
            NaN.
    """
    left = {trial: dict.fromkeys(each, math.nan) for trial, each in study.settings.items()}
    # All trials climb a rung together: no worker waits for the last run of a single trial.
    for round_ in range(max(map(len, plans.values()), default=0)):
        climbing = {trial: plan[round_] for trial, plan in plans.items() if round_ < len(plan)}
        specs = {
            trial: {settings: _specs(study, trial, settings, rung) for settings in left[trial]}
            for trial, rung in climbing.items()
        }
        execute([spec for trial in specs.values() for runs in trial.values() for spec in runs])
        for trial, rung in climbing.items():
            candidates = list(left[trial])
            scores = {
                place: _score(study, store, trial, specs[trial][settings], rung)
                for place, settings in enumerate(candidates)
            }
            kept = Halving.select(scores, rung.keep)
            left[trial] = {candidates[place]: scores[place] for place in kept}
    return left


def _specs(study: Study, trial: Trial, settings: Settings, rung: Rung) -> list[RunSpec]:
    """The runs of one setting in a rung."""
    short = settings.with_(epochs=rung.epochs)
    return [study.spec(short, trial[0], *pair) for pair in _first_repeat(study)[: rung.folds]]


def _first_repeat(study: Study) -> list[tuple[int, int]]:
    """The folds of the first repeat, which the rungs before the last are run on."""
    pairs = study.splits.pairs
    return [pair for pair in pairs if pair[0] == pairs[0][0]]


def _score(
    study: Study,
    store: Store,
    trial: Trial,
    specs: Sequence[RunSpec],
    rung: Rung,
) -> float:
    done = [
        (record.spec, record.result)
        for record in study.records(specs, store)
        if record.result is not None
    ]
    return score(trial[0], done, folds=rung.folds)
