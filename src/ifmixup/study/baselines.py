"""What guesses without the graphs' structure get, as it is kept with a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ifmixup.study.protocols import Pair, mean
from ifmixup.training.task import signed
from ifmixup.values import as_dict, decode_fields, encode_number

Values = tuple[tuple[int, int, float], ...]  # (repeat, fold, value)


@dataclass(frozen=True)
class Baseline:
    """One guess without the graph's structure, measured on the test graphs of every fold.

    Attributes:
        name: What it is, in words, such as ``majority class``.
        dataset: The dataset's name.
        values: By metric, (repeat, fold, value) of every fold; NaN where it is not defined.
        seconds: How long fitting and predicting took, over all folds.
        note: What must be said with it; empty where there is nothing.
    """

    name: str
    dataset: str
    values: Mapping[str, Values] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""

    def scores(self, metric: str) -> dict[Pair, float]:
        """The metric by (repeat, fold), where it is defined; empty where it was not measured."""
        found = self.values.get(metric, ())
        return {(repeat, fold): value for repeat, fold, value in found if value == value}

    def mean(self, metric: str) -> float:
        """The mean over all folds of all repeats; NaN where it was not measured."""
        return mean(self.scores(metric))

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        values = {
            metric: [(repeat, fold, encode_number(value)) for repeat, fold, value in found]
            for metric, found in self.values.items()
        }
        return {**vars(self), "values": values}

    @staticmethod
    def of(values: Any) -> Baseline:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        return Baseline(**decode_fields("A baseline", {"note": "", **as_dict(values)}, Baseline))


def best_baseline(
    baselines: tuple[Baseline, ...], dataset: str, metric: str, higher: bool
) -> Baseline | None:
    """The best baseline of a dataset by a metric; None where none was measured. ``higher`` says
    whether more of the metric is better.
    """
    mine = [each for each in baselines if each.dataset == dataset and each.scores(metric)]
    return max(mine, key=lambda each: signed(each.mean(metric), higher), default=None)
