"""How a number is read off finished runs: ``holdout`` (honest), ``paper`` (optimistic), ``last``.

The curves of all runs are stored. A protocol says at which setting and epoch each may be read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ifmixup.components import ClassSpec
from ifmixup.errors import InputError, known_name
from ifmixup.training.compact import length_of
from ifmixup.training.task import (
    best_epoch,
    best_value,
    higher_is_better,
    signed,
    validation_score,
)

if TYPE_CHECKING:  # which would import torch
    from ifmixup.training.run import RunResult

PROTOCOLS = ("holdout", "paper", "last")

Pair = tuple[int, int]  # (repeat, fold)
Results = Mapping[Pair, "RunResult"]  # of one setting


def needs_validation(protocol: str) -> bool:
    """Whether the runs of a protocol keep validation graphs apart; ``paper`` and ``last`` train on
    them, and share their runs.
    """
    return known_name("protocol", protocol, PROTOCOLS) == "holdout"


@dataclass(frozen=True)
class Choice:
    """What was chosen for a fold: the candidate's index in the grid, and the epoch from 1."""

    candidate: int
    epoch: int


@dataclass(frozen=True)
class Reading:
    """What one trial reached on the test folds, fold by fold.

    Attributes:
        metric: What the numbers are: ``accuracy``, ``roc_auc``, ``average_precision`` or ``mae``.
        higher: Whether higher is better.
        scores: By (repeat, fold), at the chosen setting and epoch.
        last: By (repeat, fold), at the last epoch of the chosen setting: no epoch is chosen.
        chosen: By (repeat, fold), what was chosen.
        runs: The number of runs that were read.
        optimistic: Whether the test folds took part in choosing.
        missing: By (repeat, fold), how many runs should be there and are not; empty if all are.
            A mean over the others does not replace them: show it with this count.
        undefined: The (repeat, fold) where the metric is not defined, which have no score.
        others: By metric, every metric that the runs have by (repeat, fold), at the chosen setting
            and epoch, where it is defined. Under ``paper`` it is empty: runs have them at the epoch
            that validation chose and at the last one, and the paper's epoch is neither.
    """

    metric: str
    higher: bool
    scores: dict[Pair, float]
    last: dict[Pair, float]
    chosen: dict[Pair, Choice]
    runs: int
    optimistic: bool
    missing: dict[Pair, int] = field(default_factory=dict)
    undefined: tuple[Pair, ...] = ()
    others: dict[str, dict[Pair, float]] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean over all folds of all repeats."""
        return mean(self.scores)

    @property
    def std_over_repeats(self) -> float:
        r"""How much another shuffle of the graphs changes the mean.

        .. math:: \sqrt{\frac{1}{R-1} \sum_r (\bar{a}_r - \bar{a})^2}

        With :math:`\bar{a}_r` the mean over the folds of repeat r; NaN for one repeat.
        """
        return _std([float(np.mean(each)) for each in _by_repeat(self.scores)])

    @property
    def std_over_folds(self) -> float:
        r"""How much the folds of a cross-validation differ from each other.

        .. math:: \frac{1}{R} \sum_r \sqrt{\frac{1}{K-1} \sum_f (a_{rf} - \bar{a}_r)^2}

        NaN where no repeat has two folds.
        """
        return fold_spread(self.scores)

    @property
    def last_mean(self) -> float:
        """As :attr:`mean`, at the last epoch."""
        return mean(self.last)


def read(
    candidates: Sequence[Results],
    protocol: str,
    pairs: Collection[Pair],
    metric: str | None = None,
    specs: Sequence[ClassSpec] = (),
) -> Reading | None:
    """Read the metric of one trial; None where no run has finished.

    Under ``holdout`` every fold has its own setting and epoch, those with the best validation
    metric (among equals the lowest validation loss, then the first setting and the earliest
    epoch), and its test curve is read at that one point.

    Under ``paper`` the test curves of a repeat's folds are averaged and the best epoch of the mean
    curve is taken, the earliest among equals; then the setting with the best mean over repeats.
    Under ``last`` the epoch is the last one, where runs have every metric of their task: there
    ``metric`` need not be the one of their curves. A setting with runs missing cannot win against
    one with more runs: a mean over fewer, maybe easier, folds is not comparable.

    A fold where the metric is not defined, such as ROC-AUC where all graphs are of one class, has
    no score.

    The finished runs of each setting of the grid come in the order that breaks ties; ``pairs`` is
    every (repeat, fold) that should be there, and ``specs`` the metrics of the trial, which say
    which way one that is not ours is better.
    """
    there = [result for runs in candidates for result in runs.values()]
    if not there:
        return None
    if protocol == "last" and metric is not None:
        candidates = [{p: _at_end(r, metric) for p, r in runs.items()} for runs in candidates]
        there = [result for runs in candidates for result in runs.values()]
    metric = _check(there, protocol)
    higher = higher_is_better(metric, specs)
    expected = sorted({*pairs}.union(*candidates))
    lost = {pair: sum(pair not in runs for runs in candidates) for pair in expected}
    choose = _holdout if needs_validation(protocol) else partial(_paper, protocol=protocol)
    points = choose(candidates, higher)
    curves = {pair: _test_curve(candidates[p.candidate][pair]) for pair, p in points.items()}
    curve = {pair: values for pair, values in curves.items() if defined(values)}
    return Reading(
        metric=metric,
        higher=higher,
        scores={pair: curve[pair][points[pair].epoch - 1] for pair in curve},
        last={pair: values[-1] for pair, values in curve.items()},
        chosen=points,
        runs=len(there),
        optimistic=protocol == "paper" or (protocol == "last" and len(candidates) > 1),
        missing={pair: count for pair, count in lost.items() if count},
        undefined=tuple(pair for pair in curves if pair not in curve),
        others=_others({p: candidates[at.candidate][p] for p, at in points.items()}, protocol),
    )


def _at_end(result: RunResult, metric: str) -> RunResult:
    """A run with the curve of another metric, of which only the end is known."""
    if metric == result.metric or metric not in result.metrics:
        return result
    before = [math.nan] * (len(_test_curve(result)) - 1)
    return replace(result, curves={f"test_{metric}": [*before, result.metrics[metric]]})


def _others(chosen: Results, protocol: str) -> dict[str, dict[Pair, float]]:
    """Every metric of the chosen runs, at the epoch that the protocol reads."""
    if protocol == "paper":
        return {}
    prefix = "chosen_" if needs_validation(protocol) else ""
    found: dict[str, dict[Pair, float]] = {}
    for pair, result in chosen.items():
        for name, value in result.metrics.items():
            metric = name.removeprefix("chosen_")
            if name == prefix + metric and not math.isnan(value):
                found.setdefault(metric, {})[pair] = value
    return found


def defined(curve: Sequence[float]) -> bool:
    """Whether the metric is defined on the graphs of a curve: after one epoch at least."""
    return not all(math.isnan(value) for value in curve)


def best_of_mean(results: Sequence[RunResult], higher: bool) -> int:
    """The epoch, from 0, where the mean test curve is best; the earliest among equals."""
    curve = [signed(value, higher) for value in _mean_curve(results)]
    return max(range(len(curve)), key=curve.__getitem__)


def mean(values: Mapping[Pair, float]) -> float:
    """The mean; NaN of nothing."""
    return math.fsum(values.values()) / len(values) if values else math.nan


def _holdout(candidates: Sequence[Results], higher: bool) -> dict[Pair, Choice]:
    points = {}
    for pair in sorted({pair for runs in candidates for pair in runs}):
        there = {index: runs[pair].curves for index, runs in enumerate(candidates) if pair in runs}
        # Losses decide among equals only, and of a large grid most are never decoded.
        values = {index: best_value(curves, higher) for index, curves in there.items()}
        highest = max(values.values())
        top = [index for index, value in values.items() if value == highest]
        epochs = {index: best_epoch(there[index], higher) for index in top}
        best = max(top, key=lambda index: validation_score(there[index], higher, epochs[index]))
        points[pair] = Choice(best, epochs[best] + 1)
    return points


def _paper(candidates: Sequence[Results], higher: bool, protocol: str) -> dict[Pair, Choice]:
    epochs = [_epochs(runs, higher, protocol) for runs in candidates]

    def score(index: int) -> tuple[int, float]:
        curves = {pair: _test_curve(result) for pair, result in candidates[index].items()}
        at_best = {p: curves[p][e] for p, e in epochs[index].items() if defined(curves[p])}
        return len(curves), signed(mean(at_best), higher)

    best = max(range(len(candidates)), key=score)
    return {pair: Choice(best, epoch + 1) for pair, epoch in epochs[best].items()}


def _epochs(runs: Results, higher: bool, protocol: str) -> dict[Pair, int]:
    """For each fold the best epoch of its repeat, or the last one."""
    if protocol == "last":
        return {pair: len(_test_curve(runs[pair])) - 1 for pair in sorted(runs)}
    best = {
        repeat: best_of_mean([result for pair, result in runs.items() if pair[0] == repeat], higher)
        for repeat in {pair[0] for pair in runs}
    }
    return {pair: best[pair[0]] for pair in sorted(runs)}


def _mean_curve(results: Sequence[RunResult]) -> list[float]:
    # fsum: the same accuracies in another order of folds are equal, not different in the last bit.
    whole = [_test_curve(result) for result in results]
    curves = [curve for curve in whole if defined(curve)] or whole
    return [math.fsum(at) / len(at) for at in zip(*curves, strict=True)]


def _test_curve(result: RunResult) -> Sequence[float]:
    return result.curves[f"test_{result.metric}"]


def _check(results: Sequence[RunResult], protocol: str) -> str:
    """The metric of runs that may be read together under a protocol."""
    metrics = sorted({result.metric for result in results})
    if len(metrics) > 1:
        raise InputError(f"Runs of different metrics cannot be read as one: {', '.join(metrics)}.")
    needed = [f"test_{metrics[0]}"]
    if needs_validation(protocol):
        needed += [f"validation_{metrics[0]}", "validation_loss"]
    for result in results:
        lengths = {name: length_of(result.curves, name) for name in needed}
        if len(set(lengths.values())) > 1 or not all(lengths.values()):
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"A run has curves of different or no length: {told} epochs.")
    return metrics[0]


def fold_spread(values: Mapping[Pair, float]) -> float:
    """The standard deviation over the folds of a repeat, and its mean over repeats."""
    spreads = [_std(each) for each in _by_repeat(values) if len(each) > 1]
    return float(np.mean(spreads)) if spreads else math.nan


def _by_repeat(values: Mapping[Pair, float]) -> list[list[float]]:
    repeats: dict[int, list[float]] = {}
    for (repeat, _), value in sorted(values.items()):
        repeats.setdefault(repeat, []).append(value)
    return list(repeats.values())


def _std(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
