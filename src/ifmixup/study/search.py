"""Searching a grid by successive halving: ``halving`` plans it, here it is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def halve(study: Study, store: Store, execute: Callable[[Sequence[RunSpec]], None]) -> Study:
    """Leave out settings that do badly on a few folds and epochs.

    Args:
        study: A study with a grid of settings.
        store: Where the runs are.
        execute: Runs what the store does not have yet.

    Returns:
        The same study with the settings that are left, still to be run in full.
    """
    left = {trial: list(candidates) for trial, candidates in study.settings.items()}
    folds = len(_first_repeat(study))
    plans = {
        trial: Halving().rungs(len(candidates), folds, candidates[0].epochs)[:-1]
        for trial, candidates in left.items()
    }
    # All trials climb a rung together: no worker waits for the last run of a single trial.
    for round_ in range(max(map(len, plans.values()), default=0)):
        climbing = {trial: plan[round_] for trial, plan in plans.items() if round_ < len(plan)}
        specs = {
            trial: [_specs(study, trial, settings, rung) for settings in left[trial]]
            for trial, rung in climbing.items()
        }
        execute([spec for trial in specs.values() for runs in trial for spec in runs])
        for trial, rung in climbing.items():
            scores = {
                place: _score(study, store, trial, runs, rung)
                for place, runs in enumerate(specs[trial])
            }
            left[trial] = [left[trial][place] for place in Halving.select(scores, rung.keep)]
    return replace(study, settings=left)


def winners(
    study: Study, store: Store, execute: Callable[[Sequence[RunSpec]], None]
) -> dict[Trial, tuple[Settings, float]]:
    """The best setting of each trial, by the last round that left settings out, and its score.

    Nothing is run in full: this is for choosing settings, not for judging them.
    """
    left = halve(study, store, execute)
    folds = len(_first_repeat(study))
    best: dict[Trial, tuple[Settings, float]] = {}
    for trial, candidates in left.settings.items():
        whole = study.settings[trial]
        rungs = Halving().rungs(len(whole), folds, whole[0].epochs)
        rung = rungs[-2] if len(rungs) > 1 else rungs[-1]
        specs = {place: _specs(study, trial, each, rung) for place, each in enumerate(candidates)}
        execute([spec for runs in specs.values() for spec in runs])  # all there, if it was halved
        scores = {place: _score(study, store, trial, s, rung) for place, s in specs.items()}
        (place,) = Halving.select(scores, 1)
        best[trial] = candidates[place], scores[place]
    return best


def _specs(study: Study, trial: Trial, settings: Settings, rung: Rung) -> list[RunSpec]:
    """The runs of one setting in a rung."""
    short = settings.with_(epochs=rung.epochs)
    return [study.spec(short, trial[0], *pair) for pair in _first_repeat(study)[: rung.folds]]


def _first_repeat(study: Study) -> list[tuple[int, int]]:
    """The folds of the first repeat, which the rungs before the last are run on."""
    pairs = study.splits.pairs
    return [pair for pair in pairs if pair[0] == pairs[0][0]]


def _score(study: Study, store: Store, trial: Trial, specs: Sequence[RunSpec], rung: Rung) -> float:
    done = [
        (record.spec, record.result)
        for record in study.records(specs, store)
        if record.result is not None
    ]
    return score(trial[0], done, folds=rung.folds)
