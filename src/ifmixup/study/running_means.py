"""Means over folds while a study runs: of all models and methods on the same folds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ifmixup.study.protocols import Pair, needs_validation
from ifmixup.study.record import Record
from ifmixup.study.study import Study
from ifmixup.training.task import best_epoch, is_fraction, validation_score

_SHOWN = 6  # trials


class RunningMeans:
    """The mean of each trial over the folds that all trials have finished.

    Under ``holdout`` it is the metric at the epoch, and of the setting, that validation chose.
    Under the other protocols, which choose on all folds at once, it is that of the last epoch, and
    shown only where there is one setting. A lucky fold of one trial is never shown: all have the
    same folds, at least two.
    """

    def __init__(self, study: Study) -> None:
        first = study.protocols[0]
        self._trials = [trial for trial in study.trials if trial.protocol == first]
        self._shown = needs_validation(first) or all(len(t.candidates) == 1 for t in self._trials)
        self._where: dict[str, list[tuple[int, int, Pair]]] = {}
        for number, trial in enumerate(self._trials):
            for candidate, keys in enumerate(trial.keys):
                for key, pair in zip(keys, trial.pairs, strict=True):
                    self._where.setdefault(key, []).append((number, candidate, pair))
        # by trial and fold: by candidate how good validation finds it, and its number
        self._found: dict[tuple[int, Pair], dict[int, tuple[tuple[float, float], float]]] = {}
        self._metric, self._higher = study.metric, study.higher_is_better

    def add(self, record: Record) -> None:
        """Count a run that has ended; one that failed leaves its fold incomplete."""
        if record.result is None or record.key not in self._where or not self._shown:
            return
        curves, self._metric = record.result.curves, record.result.metric
        for number, candidate, pair in self._where[record.key]:
            epoch, good = -1, (0.0, 0.0)
            if needs_validation(self._trials[number].protocol):
                epoch = best_epoch(curves, self._higher)
                good = validation_score(curves, self._higher, epoch)
            value = curves[f"test_{self._metric}"][epoch]
            self._found.setdefault((number, pair), {})[candidate] = good, value

    def folds(self) -> list[Pair]:
        """The folds that all trials have finished."""
        return [
            pair
            for pair in (self._trials[0].pairs if self._trials else [])
            if all(self._complete(number, pair) for number in range(len(self._trials)))
        ]

    def text(self) -> str:
        """``means over 3 folds: gcn none 84.2, gcn ifmixup 85.0``; empty before two folds."""
        pairs = self.folds()
        if len(pairs) < 2:
            return ""
        means = [self._mean(number, pairs) for number in range(len(self._trials))]
        named = [f"{t.name} {self._format(m)}" for t, m in zip(self._trials, means, strict=True)]
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        return f"means over {len(pairs)} folds: {', '.join(named[:_SHOWN])}{more}"

    def _complete(self, number: int, pair: Pair) -> bool:
        there = self._found.get((number, pair), {})
        return len(there) == len(self._trials[number].candidates)

    def _mean(self, number: int, pairs: Iterable[Pair]) -> float:
        several = [self._found[number, pair].values() for pair in pairs]
        chosen = [max(values, key=lambda each: each[0])[1] for values in several]
        known = [value for value in chosen if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    def _format(self, value: float) -> str:
        text = f"{100 * value:.1f}" if is_fraction(self._metric) else f"{value:.3g}"
        return text.replace("-", "−") if value < 0 else text
