"""How long runs will take: a few steps of each kind of run, measured and multiplied."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch

from ifmixup.augment import cache
from ifmixup.components import foreign
from ifmixup.errors import ComponentError, InputError
from ifmixup.graphs import select
from ifmixup.study.apart import call_apart
from ifmixup.study.engines.engine import Task
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run import choose_device, reproducible
from ifmixup.training.run_spec import Fold, RunSpec
from ifmixup.training.trainer import Trainer

MEASURING_SECONDS = 10.0  # at most, for all kinds of runs together
_PATIENCE = 3  # times as long, because a step that has begun is finished
_BATCHES = 4  # of a training
_EVALUATING = 1 / 3  # of the time of training on a graph

Clock = Callable[[], float]


@dataclass(frozen=True)
class Pace:
    """The seconds of a step of training, and of fitting a method, per graph."""

    train: float
    fit: float

    def seconds(self, spec: RunSpec, fold: Fold) -> float:
        """The seconds of a whole run."""
        settings = spec.settings
        train = len(fold.train) * settings.train_share
        steps = settings.steps_per_epoch
        trained = train if steps is None else steps * settings.batch_size
        evaluated = (len(fold.validation) + len(fold.test)) * _EVALUATING
        return self.fit * train + self.train * (trained + evaluated) * settings.epochs


def run_seconds(
    tasks: Sequence[Task],
    data: PackedDataset,
    *,
    device: str = "cpu",
    most: float = MEASURING_SECONDS,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """About how many seconds each run on ``data`` takes, by its key; NaN where nothing is known.

    One kind of run after the other is measured on a few graphs, first those of other models and
    methods, then those of other options. A kind for which there is no time left, or which fails,
    is taken to be as fast as the mean of its model and method.
    """
    try:
        where = choose_device(device)
    except InputError:  # what another machine has need not be here
        where = choose_device("cpu")
    kinds: dict[tuple[Any, ...], Task] = {}
    for spec, fold in tasks:
        kinds.setdefault(_kind(spec), (spec, fold))
    seen: dict[tuple[str, str], int] = {}
    turns = []
    for kind, (spec, _) in kinds.items():
        turn = seen[_names(spec)] = seen.get(_names(spec), -1) + 1
        turns.append((turn, kind))
    began = clock()
    paces: dict[tuple[Any, ...], Pace | None] = {}
    for number, (_, kind) in enumerate(sorted(turns, key=lambda each: each[0])):
        left = most - (clock() - began)
        if left <= 0:
            break
        paces[kind] = _pace(*kinds[kind], data, where, left / (len(kinds) - number), clock)
    found: dict[tuple[str, str], list[Pace]] = {}
    for kind, pace in paces.items():
        if pace is not None:
            found.setdefault(_names(kinds[kind][0]), []).append(pace)
    every = [pace for several in found.values() for pace in several]
    return {
        spec.key: (paces.get(_kind(spec)) or _mean(found.get(_names(spec), every))).seconds(
            spec, fold
        )
        for spec, fold in tasks
    }


def together(seconds: Iterable[float], workers: int) -> float:
    """The seconds that runs take when so many of them run at the same time."""
    several = list(seconds)
    return max(sum(several) / workers, max(several, default=0.0))


def estimate(tasks: Sequence[Task], data: PackedDataset, workers: int) -> float:
    """About how many seconds all runs will take, with so many at the same time."""
    return together(run_seconds(tasks, data).values(), workers)


def longest(seconds: Mapping[str, float], specs: Iterable[RunSpec]) -> tuple[str, float] | None:
    """The model and method that take the longest in all, and the mean seconds of one run."""
    runs: dict[str, list[float]] = {}
    for spec in specs:
        if not math.isnan(seconds.get(spec.key, math.nan)):
            runs.setdefault(" ".join(_names(spec)), []).append(seconds[spec.key])
    if not runs:
        return None
    name = max(runs, key=lambda each: sum(runs[each]))
    return name, sum(runs[name]) / len(runs[name])


def _kind(spec: RunSpec) -> tuple[Any, ...]:
    """What decides how long a step takes."""
    return spec.model, spec.method, spec.settings.batch_size, spec.settings.use_edge_attr


def _names(spec: RunSpec) -> tuple[str, str]:
    return spec.model.name, spec.method.name


def _mean(paces: Sequence[Pace]) -> Pace:
    if not paces:
        return Pace(math.nan, math.nan)
    return Pace(*(sum(getattr(p, n) for p in paces) / len(paces) for n in ("train", "fit")))


class _EnoughError(Exception):
    """Enough is known of a fit to say how long the whole of it takes."""


def _pace(
    spec: RunSpec, fold: Fold, data: PackedDataset, device: torch.device, most: float, clock: Clock
) -> Pace | None:
    """The pace of a kind of run; None if it fails, which the run itself will say better."""
    parts = spec, fold, data, device, most, clock
    if not (foreign(spec.model) or foreign(spec.method)):
        return _measured(*parts)
    with suppress(ComponentError):
        return call_apart("Measuring a step", _PATIENCE * most, _measured, *parts)
    return None


def _measured(
    spec: RunSpec,
    fold: Fold,
    data: PackedDataset,
    device: torch.device,
    most: float,
    clock: Clock,
) -> Pace | None:
    """The same, in this process."""
    count = min(len(fold.train), _BATCHES * spec.settings.batch_size)
    chosen = fold.indices("train")[torch.linspace(0, len(fold.train) - 1, count).long()]
    few = select(data.graphs, chosen.to(data.graphs.node_ptr.device))
    data = replace(data, graphs=few, split=None, folder=None, undirected=None).to(device)
    settings = spec.settings.with_(steps_per_epoch=None, train_share=1.0)
    began = clock()
    whole_fit = math.nan

    def each_fit(share: float) -> None:
        nonlocal whole_fit
        if 0 < share < 1 and clock() - began > most / 2:
            whole_fit = (clock() - began) / share
            raise _EnoughError

    try:
        with reproducible(), cache.switched_off():
            train = torch.arange(count)
            trainer = Trainer(
                settings, spec.model, spec.method, data, train=train, each_fit=each_fit
            )
            fit = trainer.fit_seconds or 0.0
            start = clock()
            trainer.run_epoch()
            took = clock() - start
            if took < most - (start - began):  # the first steps are slower than the others
                start = clock()
                trainer.run_epoch()
                took = clock() - start
    except Exception:
        # A fit that takes long was stopped; its steps are not what takes the time. Anything else
        # is an error of the model or method, which its runs will tell: an estimate stops nothing.
        return None if math.isnan(whole_fit) else Pace(0.0, whole_fit / count)
    return Pace(took / count, fit / count)
