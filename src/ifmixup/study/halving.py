"""Successive halving: many settings on a few folds and epochs, few settings on all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ifmixup.study.protocols import best_of_mean, defined, mean, needs_validation
from ifmixup.study.store import Store
from ifmixup.study.study import Study, Trial
from ifmixup.training.run import RunResult
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.task import best_value

SEARCHES = ("grid", "halving")
NOTE = (
    "The settings were searched by successive halving on a few folds, whose training and "
    "validation graphs are test graphs of other folds: these numbers are a little optimistic. "
    "The search 'grid' chooses fold by fold."
)

Execute = Callable[[Sequence[RunSpec]], None]

ETA = 3  # of so many settings one goes on
_FOLDS = {1: 4, 2: 2}  # by the number of rungs that follow
_LEAST_EPOCHS = 10


@dataclass(frozen=True)
class Rung:
    """One round: so many settings, each on so many folds of repeat 0 for so many epochs, and how
    many go on. The last one has all folds of all repeats, and all go on: the protocol chooses.
    """

    settings: int
    folds: int
    epochs: int
    keep: int


def rungs(settings: int, folds: int, epochs: int) -> list[Rung]:
    r"""A grid for a fraction of its cost: at most two rounds that leave settings out, then all.

    Of 144 settings with 10 folds and 350 epochs, all get 2 folds and 39 epochs, the best 48 get 4
    folds and 117 epochs, and the best 16 of these everything: 0.178 of the epochs of the full grid.

    The rungs before the last choose for all folds at once, by a few of them. A graph that validates
    in one of these is a test graph of another fold, so ``holdout`` with halving is a little less
    strict than over the full grid, where each fold chooses by its own graphs only.

    Of :math:`\eta = 3` settings one goes on. A rung that is followed by j others has
    :math:`epochs / \eta^j` epochs, at least 10. Where that would save nothing, there is only the
    full one.
    """
    following = 0 if settings == 1 else 1 if settings <= ETA else 2
    full = Rung(settings, folds, epochs, settings)
    plan: list[Rung] = []
    for j in range(following, 0, -1):
        less_folds = min(folds, _FOLDS[j])
        less_epochs = min(epochs, max(_LEAST_EPOCHS, math.ceil(epochs / ETA**j)))
        if (less_folds, less_epochs) == (folds, epochs):
            continue  # already the full one: leaving settings out would save nothing
        keep = math.ceil(settings / ETA)
        plan.append(Rung(settings, less_folds, less_epochs, keep))
        settings = keep
    plan.append(Rung(settings, folds, epochs, settings))
    return plan if cost(plan) < 1 else [full]


def select(scores: Sequence[float], keep: int) -> list[int]:
    """The indices of the ``keep`` best scores, in order; NaN is the worst, of equals the earlier
    is better.
    """
    ranked = sorted(range(len(scores)), key=lambda i: (math.isnan(scores[i]), -scores[i]))
    return sorted(ranked[:keep])


def cost(plan: Sequence[Rung]) -> float:
    """The epochs trained, with one repeat, as a fraction of those of the full grid.

    A run that an earlier rung has done, the same fold with as many epochs, is not done again.
    """
    done: dict[int, int] = {}  # epochs -> folds
    total = 0
    for rung in plan:
        total += rung.settings * (rung.folds - done.get(rung.epochs, 0)) * rung.epochs
        done[rung.epochs] = rung.folds
    return total / (plan[0].settings * plan[-1].folds * plan[-1].epochs)


def halve(study: Study, store: Store, execute: Execute) -> Study:
    """The study without the settings that do badly on a few folds and epochs; the others are still
    to be run in full. ``execute`` runs what the store does not have yet.
    """
    left = list(study.trials)
    plans = [
        rungs(len(trial.candidates), len(_first_repeat(trial)), trial.epochs)[:-1]
        for trial in study.trials
    ]
    # All trials climb a rung together: no worker waits for the last run of a single trial.
    for number in range(max(map(len, plans), default=0)):
        climbing = [i for i, plan in enumerate(plans) if number < len(plan)]
        short = {i: _shortened(left[i], plans[i][number]) for i in climbing}
        execute([spec for trial in short.values() for specs in trial.specs() for spec in specs])
        for i, trial in short.items():
            rung = plans[i][number]
            scores = []
            for keys in trial.keys:
                done = [r.result for r in store.get(keys).values() if r.result is not None]
                scores.append(score(trial.protocol, done, study.higher_is_better, folds=rung.folds))
            kept = tuple(left[i].candidates[index] for index in select(scores, rung.keep))
            left[i] = replace(left[i], candidates=kept, keys=())
    return replace(study, trials=tuple(left))


def score(protocol: str, results: Sequence[RunResult], higher: bool, *, folds: int = 1) -> float:
    """How good one setting is in a rung, by its finished runs.

    Under ``holdout`` the mean over folds of the best validation metric: test is not looked at.
    Else the best point, or the last one, of the mean test curve. More is better: an error is
    negative. A setting with fewer runs than ``folds`` has failed somewhere: its score is NaN, not a
    mean over the folds where it did not.
    """
    if len(results) < folds:
        return math.nan
    metric = results[0].metric
    if needs_validation(protocol):
        judged = [r.curves for r in results if defined(r.curves[f"validation_{metric}"])]
        best = [best_value(curves, higher) for curves in judged]
        return mean({(0, i): value for i, value in enumerate(best)})
    epoch = best_of_mean(results, higher) if protocol == "paper" else -1
    curves = [result.curves[f"test_{metric}"] for result in results]
    at_best = mean({(0, i): curve[epoch] for i, curve in enumerate(curves) if defined(curve)})
    return at_best if higher else -at_best


def _shortened(trial: Trial, rung: Rung) -> Trial:
    """A trial on the folds and epochs of a rung."""
    candidates = tuple(
        replace(each, settings=each.settings.with_(epochs=rung.epochs)) for each in trial.candidates
    )
    folds = tuple(_first_repeat(trial)[: rung.folds])
    return replace(trial, candidates=candidates, folds=folds, keys=())


def _first_repeat(trial: Trial) -> list[tuple[int, int, str]]:
    """The folds of the first repeat, which the rungs before the last are run on."""
    return [fold for fold in trial.folds if fold[0] == trial.folds[0][0]]
