"""How a number is read off finished runs: ``holdout`` (honest) and ``paper`` (optimistic).

The test curves of all runs are there. A protocol says at which point each may be read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from ifmixup.errors import InputError
from ifmixup.study.reading import Choice, Pair, Reading, mean
from ifmixup.training import RunResult, RunSpec, Settings
from ifmixup.training.run_spec import digest
from ifmixup.training.score import signed
from ifmixup.training.score import validation_score as training_score

__all__ = ["Choice", "Reading", "Run", "best_of_mean", "chosen_epoch", "read", "validation_score"]

Run = tuple[RunSpec, RunResult]
Trial = dict[Pair, RunResult]  # the runs of one setting


def read(
    runs: Iterable[Run],
    *,
    settings: Sequence[Settings] | None = None,
    pairs: Collection[Pair] | None = None,
) -> Reading:
    """Read the metric of one dataset, model, method and protocol.

    Under ``holdout`` every fold has its own setting and epoch, those with the best validation
    metric (among equals the lowest validation loss, then the first setting and the earliest
    epoch), and its test curve is read at that one point.

    Under ``paper`` the test curves of a repeat's folds are averaged and the best epoch of the mean
    curve is taken, the earliest among equals; then the setting with the best mean over repeats.
    A setting with runs missing cannot win against one with more runs: a mean over fewer, maybe
    easier, folds is not comparable.

    A fold where the metric is not defined, such as ROC-AUC where all graphs are of one class, has
    no score.

    Args:
        runs: The finished runs, in any order if ``settings`` is given.
        settings: All settings of the grid, in the order that breaks ties. By default those that
            have a run, in the order of ``runs``.
        pairs: Every (repeat, fold) that should be there. By default those that have a run.
    """
    found = list(runs)
    protocol = _check_together(found)
    trials: dict[str, Trial] = {_name(each): {} for each in settings or ()}
    relevant = {}
    for spec, result in found:
        name, place = _name(spec.settings), (spec.repeat, spec.fold)
        if settings is not None and name not in trials:
            raise InputError(f"A run has settings that are not in the grid: {spec.settings}.")
        relevant[name] = spec.settings.relevant()
        trial = trials.setdefault(name, {})
        if place in trial:
            raise InputError(f"Repeat {place[0]}, fold {place[1]} is there twice for one setting.")
        trial[place] = result
    expected = sorted({*(pairs or ()), *(place for trial in trials.values() for place in trial)})
    lost = {place: sum(place not in trial for trial in trials.values()) for place in expected}
    points = (_holdout if protocol == "holdout" else _paper)(trials)
    curves = {at: _test_curve(trials[name][at]) for at, (name, _) in points.items()}
    curve = {at: values for at, values in curves.items() if defined(values)}
    return Reading(
        protocol=protocol,
        metric=found[0][1].metric,
        scores={at: curve[at][points[at][1]] for at in curve},
        last={at: values[-1] for at, values in curve.items()},
        chosen={at: Choice(relevant[name], epoch + 1) for at, (name, epoch) in points.items()},
        runs=len(found),
        missing={place: count for place, count in lost.items() if count},
        undefined=tuple(at for at in curves if at not in curve),
    )


def defined(curve: Sequence[float]) -> bool:
    """Whether the metric is defined on the graphs of a curve: after one epoch at least."""
    return not all(math.isnan(value) for value in curve)


def chosen_epoch(result: RunResult) -> int:
    """The epoch, from 0, that validation chooses: the rule of :func:`ifmixup.training.run`.

    The best validation metric; among equals the lowest loss, then the earliest.
    """
    epochs = range(len(result.curves["validation_loss"]))
    # max keeps the first of equals
    return max(epochs, key=lambda epoch: training_score(result.curves, epoch))


def validation_score(result: RunResult) -> tuple[float, float]:
    """Validation metric and minus validation loss at the chosen epoch; NaN is the worst.

    Of a metric that is better when it is lower it is the negative: more is always better.
    """
    return training_score(result.curves, chosen_epoch(result))


def best_of_mean(results: Sequence[RunResult]) -> int:
    """The epoch, from 0, where the mean test curve is best; the earliest among equals."""
    metric = results[0].metric
    curve = [signed(value, metric) for value in _mean_curve(results)]
    return max(range(len(curve)), key=curve.__getitem__)


def _holdout(trials: dict[str, Trial]) -> dict[Pair, tuple[str, int]]:
    points = {}
    for place in sorted({place for trial in trials.values() for place in trial}):
        there = [name for name, trial in trials.items() if place in trial]
        best = max(there, key=lambda name: validation_score(trials[name][place]))
        points[place] = best, chosen_epoch(trials[best][place])
    return points


def _paper(trials: dict[str, Trial]) -> dict[Pair, tuple[str, int]]:
    read_off = {name: _best_epochs(trial) for name, trial in trials.items()}

    def score(name: str) -> tuple[int, float]:
        results = trials[name]
        curves = {place: _test_curve(result) for place, result in results.items()}
        at_best = {p: curves[p][e] for p, e in read_off[name].items() if defined(curves[p])}
        metric = next((result.metric for result in results.values()), "accuracy")
        return len(results), signed(mean(at_best), metric)

    best = max(trials, key=score)
    return {place: (best, epoch) for place, epoch in read_off[best].items()}


def _best_epochs(trial: Trial) -> dict[Pair, int]:
    """For each fold the best epoch of its repeat."""
    epochs = {
        repeat: best_of_mean([result for place, result in trial.items() if place[0] == repeat])
        for repeat in {place[0] for place in trial}
    }
    return {place: epochs[place[0]] for place in sorted(trial)}


def _mean_curve(results: Sequence[RunResult]) -> list[float]:
    # fsum: the same accuracies in another order of folds are equal, not different in the last bit.
    whole = [_test_curve(result) for result in results]
    curves = [curve for curve in whole if defined(curve)] or whole
    return [math.fsum(at) / len(at) for at in zip(*curves, strict=True)]


def _test_curve(result: RunResult) -> list[float]:
    return result.curves[f"test_{result.metric}"]


def _name(settings: Settings) -> str:
    return digest(settings.relevant())


def _check_together(runs: Sequence[Run]) -> str:
    """The protocol of runs that may be read together."""
    if not runs:
        raise InputError("There are no finished runs to read.")
    kinds = {
        (s.dataset, s.data, s.settings.model, s.settings.method, s.protocol, s.seed)
        for s, _ in runs
    }
    splits = {(s.repeat, s.fold, s.split) for s, _ in runs}
    if len(kinds) > 1 or len(splits) > len({(s.repeat, s.fold) for s, _ in runs}):
        raise InputError(
            "Runs of different datasets, models, methods, protocols, seeds or splits cannot be "
            "read as one. Read them group by group."
        )
    metrics = sorted({result.metric for _, result in runs})
    if len(metrics) > 1:
        raise InputError(f"Runs of different metrics cannot be read as one: {', '.join(metrics)}.")
    for spec, result in runs:
        needed = [f"test_{result.metric}"]
        if spec.protocol == "holdout":
            needed += [f"validation_{result.metric}", "validation_loss"]
        for name in needed:
            length = len(result.curves.get(name, ()))
            if length != spec.settings.epochs:
                raise InputError(
                    f"Run {spec.key} has {length} points of {name}, not one for each of its "
                    f"{spec.settings.epochs} epochs."
                )
    return runs[0][0].protocol
