"""Searching a grid by successive halving: ``halving`` plans it, here it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ifmixup.study.halving import Halving, Rung, score
from ifmixup.study.store import Store
from ifmixup.study.study import Arm, Study
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
        arm: Halving().rungs(len(candidates), folds, candidates[0].epochs)[:-1]
        for arm, candidates in study.settings.items()
    }
    left = climb(study, store, execute, plans)
    return replace(study, settings={arm: list(scores) for arm, scores in left.items()})


def climb(
    study: Study,
    store: Store,
    execute: Execute,
    plans: Mapping[Arm, Sequence[Rung]],
) -> dict[Arm, dict[Settings, float]]:
    """The settings of each arm that are left after its rungs, with their scores in the last.

    Args:
        study: A study with a grid of settings.
        store: Where the runs are.
        execute: Runs what the store does not have yet.
        plans: The rungs of each arm, first to last; after none, all are left, with a score of
            NaN.
    """
    left = {arm: dict.fromkeys(each, math.nan) for arm, each in study.settings.items()}
    # All arms climb a rung together: no worker waits for the last run of a single arm.
    for round_ in range(max(map(len, plans.values()), default=0)):
        climbing = {arm: plan[round_] for arm, plan in plans.items() if round_ < len(plan)}
        specs = {
            arm: {settings: _specs(study, arm, settings, rung) for settings in left[arm]}
            for arm, rung in climbing.items()
        }
        execute([spec for arm in specs.values() for runs in arm.values() for spec in runs])
        for arm, rung in climbing.items():
            candidates = list(left[arm])
            scores = {
                place: _score(study, store, arm, specs[arm][settings], rung)
                for place, settings in enumerate(candidates)
            }
            kept = Halving.select(scores, rung.keep)
            left[arm] = {candidates[place]: scores[place] for place in kept}
    return left


def _specs(study: Study, arm: Arm, settings: Settings, rung: Rung) -> list[RunSpec]:
    """The runs of one setting in a rung."""
    short = settings.with_(epochs=rung.epochs)
    return [study.spec(short, arm[0], *pair) for pair in _first_repeat(study)[: rung.folds]]


def _first_repeat(study: Study) -> list[tuple[int, int]]:
    """The folds of the first repeat, which the rungs before the last are run on."""
    pairs = study.splits.pairs
    return [pair for pair in pairs if pair[0] == pairs[0][0]]


def _score(
    study: Study,
    store: Store,
    arm: Arm,
    specs: Sequence[RunSpec],
    rung: Rung,
) -> float:
    done = [
        (record.spec, record.result)
        for record in study.records(specs, store)
        if record.result is not None
    ]
    return score(arm[0], done, folds=rung.folds)
