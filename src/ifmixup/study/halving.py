"""Successive halving: many settings on little, few settings on all. Planning only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ifmixup.errors import InputError, unknown_name
from ifmixup.study.protocols import Run, best_of_mean, defined, read, validation_score
from ifmixup.study.reading import mean
from ifmixup.training import PROTOCOLS
from ifmixup.training.task import higher_is_better

_FOLDS = {1: 4, 2: 2}  # by the number of rungs that follow
_LEAST_EPOCHS = 10


@dataclass(frozen=True)
class Rung:
    """One round: so many settings, each on so many folds for so many epochs.

    Attributes:
        settings: How many settings enter.
        folds: How many folds of repeat 0 each is trained on; all folds of all repeats in the last.
        epochs: How many epochs.
        keep: How many go on. In the last rung all: among them the protocol chooses.
    """

    settings: int
    folds: int
    epochs: int
    keep: int


@dataclass(frozen=True)
class Halving:
    """A grid for a fraction of its cost.

    Of 144 settings with 10 folds and 350 epochs, all get 2 folds and 39 epochs, the best 48 get 4
    folds and 117 epochs, and the best 16 of these everything: 0.178 of the epochs of the full grid.

    The rungs before the last choose for all folds at once, by a few of them. A graph that validates
    in one of these is a test graph of another fold, so that ``holdout`` with halving is a little
    less strict than over the full grid, where each fold chooses by its own graphs only.

    Attributes:
        eta: Of so many settings one goes on.
    """

    eta: int = 3

    def __post_init__(self) -> None:
        if self.eta < 2:
            raise InputError(
                f"eta must be at least 2: one of eta settings goes on; got {self.eta}."
            )

    def rungs(self, settings: int, folds: int, epochs: int) -> list[Rung]:
        """The rounds, first to last: at most two that leave settings out, then the full one.

        A rung that is followed by j others has :math:`epochs / eta^j` epochs, at least 10. Where
        that would save nothing, there is only the full one.

        Args:
            settings: The size of the grid.
            folds: The folds of a repeat.
            epochs: The epochs of a full run.
        """
        if min(settings, folds, epochs) < 1:
            raise InputError(
                f"At least one setting, fold and epoch is needed; got {settings}, {folds} and "
                f"{epochs}."
            )
        following = 0 if settings == 1 else 1 if settings <= self.eta else 2
        full = Rung(settings, folds, epochs, settings)
        plan: list[Rung] = []
        for j in range(following, 0, -1):
            less_folds = min(folds, _FOLDS[j])
            less_epochs = min(epochs, max(_LEAST_EPOCHS, math.ceil(epochs / self.eta**j)))
            if (less_folds, less_epochs) == (folds, epochs):
                continue  # already the full one: leaving settings out would save nothing
            keep = math.ceil(settings / self.eta)
            plan.append(Rung(settings, less_folds, less_epochs, keep))
            settings = keep
        plan.append(Rung(settings, folds, epochs, settings))
        return plan if cost(plan) < 1 else [full]

    @staticmethod
    def select(scores: Mapping[int, float], keep: int) -> list[int]:
        """The settings that go on: the ``keep`` best, in the order of the grid.

        Args:
            scores: The score of each setting by its place in the grid. NaN is the worst; of equals
                the earlier place goes on.
            keep: How many.
        """

        def rank(place: int) -> tuple[float, int]:
            value = scores[place]
            return math.inf if math.isnan(value) else -value, place

        return sorted(sorted(scores, key=rank)[:keep])


def cost(rungs: Sequence[Rung], repeats: int = 1) -> float:
    """The epochs trained as a fraction of those of the full grid.

    A run that an earlier rung has done, the same fold with as many epochs, is not done again.
    """
    last = rungs[-1]
    done: dict[int, int] = {}  # epochs -> folds
    total = 0
    for rung in rungs:
        folds = rung.folds * (repeats if rung is last else 1)
        total += rung.settings * (folds - done.get(rung.epochs, 0)) * rung.epochs
        done[rung.epochs] = folds
    return total / (rungs[0].settings * last.folds * repeats * last.epochs)


def score(protocol: str, runs: Sequence[Run], *, folds: int | None = None) -> float:
    """How good one setting is in a rung.

    Under ``holdout`` the mean over folds of the best validation metric: test is not looked at.
    Under ``paper`` the best point of the mean test curve. More is better: an error is negative.

    Args:
        protocol: ``holdout`` or ``paper``.
        runs: The finished runs of the setting in this rung.
        folds: How many there should be. A setting with fewer has failed somewhere: its score is
            NaN, not a mean over the folds where it did not. By default as many as there are.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    if not runs or len(runs) < (folds or 0):
        return math.nan
    reading = read(runs)  # checks that they belong together
    if reading.protocol != protocol or len(reading.chosen) < len(runs):
        raise InputError(f"The score is of the {protocol} runs of one setting; got others, too.")
    results = [result for _, result in runs]
    if protocol == "holdout":
        judged = [r for r in results if defined(r.curves[f"validation_{r.metric}"])]
        return mean({(0, i): validation_score(result)[0] for i, result in enumerate(judged)})
    epoch = best_of_mean(results)
    curves = [result.curves[f"test_{result.metric}"] for result in results]
    at_best = mean({(0, i): curve[epoch] for i, curve in enumerate(curves) if defined(curve)})
    return at_best if higher_is_better(reading.metric) else -at_best
