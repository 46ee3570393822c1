"""A study within a time limit: whole folds of all models and methods in turn, as many as fit."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ifmixup.errors import InputError, TrainingError
from ifmixup.study.engines.engine import Watcher
from ifmixup.study.estimate import together
from ifmixup.study.progress import duration
from ifmixup.study.protocols import Pair
from ifmixup.study.record import Record
from ifmixup.study.run import Runner
from ifmixup.study.study import Study, covers, load_studies, save_studies
from ifmixup.training.run_spec import RunSpec

_UNITS = {"d": 86400, "h": 3600, "m": 60, "min": 60, "s": 1, "": 1}
_PART = r"(\d+(?:\.\d+)?)\s*(d|h|min|m|s|)"

Clock = Callable[[], float]


def as_seconds(limit: str | float) -> float:
    """Seconds from a number, or from text such as ``90s``, ``30m``, ``2h`` or ``1h30m``."""
    text = str(limit).strip().lower()
    parts = re.findall(_PART, text)
    whole = re.fullmatch(rf"(?:{_PART}\s*)+", text)
    seconds = math.fsum(float(number) * _UNITS[unit] for number, unit in parts)
    if whole is None or isinstance(limit, bool) or not 0 < seconds < math.inf:
        raise InputError(
            f"The time limit must be a time such as 90s, 30m, 2h or 1h30m; got {limit!r}."
        )
    return seconds


class _TimeIsUpError(Exception):
    """The deadline has passed while runs were under way."""


class _Deadline(Watcher):
    """Ends what is running when the time is up."""

    def __init__(self, deadline: float, clock: Clock) -> None:
        self.deadline, self.clock = deadline, clock

    def epoch(self, spec: RunSpec, number: int) -> None:
        self._check()

    def fitting(self, spec: RunSpec, share: float) -> None:
        self._check()

    def finished(self, record: Record) -> None:
        """A run that has ended is kept."""

    def _check(self) -> None:
        if self.clock() >= self.deadline:
            raise _TimeIsUpError


def run_within(
    runner: Runner,
    study: Study,
    folder: Path,
    seconds: Mapping[str, float],
    *,
    limit: float,
    began: float,
    workers: int = 1,
    clock: Clock = time.monotonic,
) -> Study:
    """Run whole folds until the time is up; returns the study with the folds that are complete.

    A fold is run for all models, methods and settings, or for none, so none is favoured. How many
    folds fit is estimated before the first one, and from then on taken from those that were run.
    What is under way when the time is up is ended; finished runs of a fold that is not complete
    stay stored for the next time.

    Args:
        runner: Executes the runs.
        study: The whole study.
        folder: Where the study is written down.
        seconds: About how long each run takes, by its key.
        limit: The time in seconds, counted from ``began`` on the ``clock``.
        workers: How many runs execute at the same time.
    """
    pairs = list(dict.fromkeys(pair for trial in study.trials for pair in trial.pairs))
    of_pair: dict[Pair, list[RunSpec]] = {pair: [] for pair in pairs}
    for spec in study.specs():
        of_pair[spec.repeat, spec.fold].append(spec)
    pending = {spec.key for spec, _ in runner.pending(study.specs())}
    complete = [pair for pair in pairs if pending.isdisjoint(s.key for s in of_pair[pair])]
    left = [pair for pair in pairs if pair not in complete]
    deadline = began + limit
    start, done = clock(), 0
    stopped = False
    while left and not stopped:
        if done:
            each = (clock() - start) / done
        else:
            runs = [seconds.get(s.key, math.nan) for s in of_pair[left[0]] if s.key in pending]
            each = together(runs, workers)
        fit = len(left) if each == 0 else (deadline - clock()) / each
        if fit < 1:
            break
        # Half of what fits, so what is estimated can be corrected; NaN: nothing is known yet.
        batch = left[: 1 if not done else min(len(left), math.ceil(fit / 2))]
        _save(folder, _restricted(study, complete or batch))
        try:
            runner.execute([s for pair in batch for s in of_pair[pair]], _Deadline(deadline, clock))
        except _TimeIsUpError:
            stopped = True
        pending = {spec.key for spec, _ in runner.pending(study.specs())}
        done += len(batch)
        finished = {pair for pair in left if pending.isdisjoint(s.key for s in of_pair[pair])}
        left = [pair for pair in left if pair not in finished]
        complete = [pair for pair in pairs if pair not in left]
    if not complete:
        there = len(study.keys) - len(pending)
        raise _too_short(study, limit, stopped, each, deadline - clock(), there)
    if left:
        note = (
            f"The time limit of {duration(limit)} left out {len(left)} of {len(pairs)} folds for "
            f"all models and methods. The same command, with or without the limit, continues."
        )
        study = replace(study, notes=(*study.notes, note))
    study = _restricted(study, complete)
    _save(folder, study)
    return study


def _restricted(study: Study, pairs: Collection[Pair]) -> Study:
    """The study on some of its folds."""
    kept = set(pairs)
    trials = [
        replace(trial, folds=tuple(fold for fold in trial.folds if fold[:2] in kept), keys=())
        for trial in study.trials
    ]
    baselines = [
        replace(
            each,
            values={
                metric: tuple(value for value in values if value[:2] in kept)
                for metric, values in each.values.items()
            },
        )
        for each in study.baselines
    ]
    return replace(study, trials=tuple(trials), baselines=tuple(baselines))


def _save(folder: Path, study: Study) -> None:
    """Write a study down, unless a larger one that it is a part of is there."""
    earlier: Sequence[Study] = load_studies(folder)
    if not any(covers(each, study) and not covers(study, each) for each in earlier):
        save_studies(folder, [study])


def _too_short(
    study: Study, limit: float, stopped: bool, each: float, left: float, there: int
) -> InputError | TrainingError:
    cure = "Give it more time, fewer models, methods or epochs, or more workers."
    if not stopped and each <= limit:
        return InputError(
            f"Preparing the study took {duration(limit - left)} of the time limit of "
            f"{duration(limit)}; one fold of all models and methods takes about {duration(each)} "
            f"more. {cure}"
        )
    if not stopped:
        return InputError(
            f"One fold of all models and methods takes about {duration(each)}, more than the time "
            f"limit of {duration(limit)}. {cure}"
        )
    return TrainingError(
        f"The time limit of {duration(limit)} ended before one fold of all models and methods was "
        f"complete. {there} of {len(study.keys)} runs are stored; the same command continues from "
        f"them. {cure}"
    )
