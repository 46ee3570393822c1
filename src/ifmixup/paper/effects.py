"""What a variant does on all datasets of an experiment, against the one it is compared with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ifmixup.paper.cell import Cell
from ifmixup.paper.experiments import Experiment
from ifmixup.study.statistics import Difference, holm, paired_difference, verdict
from ifmixup.training.task import higher_is_better


@dataclass(frozen=True)
class Effect:
    """A variant against another under one protocol.

    Attributes:
        variant: The variant's name.
        against: The other's.
        protocol: ``paper`` or ``holdout``.
        differences: By dataset, the variant less the other on the same folds.
        verdicts: By dataset, what the paired test says of it; its p-values are adjusted (Holm) for
            all variants and datasets of the experiment under this protocol.
    """

    variant: str
    against: str
    protocol: str
    differences: dict[str, Difference]
    verdicts: dict[str, str]

    @property
    def mean(self) -> float:
        """The mean difference over the datasets, each with the same weight; NaN of none.

        A dataset without a fold where both have a score does not count.
        """
        values = [difference.mean for difference in self.differences.values()]
        values = [value for value in values if not math.isnan(value)]
        return fmean(values) if values else math.nan

    def count(self, verdict: str) -> int:
        """On how many datasets the test says so."""
        return Counter(self.verdicts.values())[verdict]


def effects(experiment: Experiment, cells: Sequence[Cell]) -> list[Effect]:
    """The effect of each variant, those of ``holdout`` first; none where nothing is compared."""
    found: list[Effect] = []
    for protocol in ("holdout", "paper"):
        mine = {
            (cell.variant, cell.dataset): cell
            for cell in cells
            if cell.experiment == experiment.name and cell.protocol == protocol
        }
        pairs = {
            (variant.name, dataset): (mine[variant.name, dataset], base)
            for variant in experiment.variants
            for dataset in experiment.datasets
            if (base := mine.get((variant.against or "", dataset))) is not None
            and (variant.name, dataset) in mine
        }
        differences = {
            place: paired_difference(cell.reading.scores, base.reading.scores, cell.test_ratio)
            for place, (cell, base) in pairs.items()
        }
        adjusted = holm([difference.p_value for difference in differences.values()])
        verdicts = {
            place: verdict(
                difference, p, higher_is_better=higher_is_better(pairs[place][0].reading.metric)
            )
            for (place, difference), p in zip(differences.items(), adjusted, strict=True)
        }
        for name in dict.fromkeys(variant for variant, _ in pairs):
            datasets = [dataset for variant, dataset in pairs if variant == name]
            found.append(
                Effect(
                    name,
                    next(
                        base.variant for (variant, _), (_, base) in pairs.items() if variant == name
                    ),
                    protocol,
                    {dataset: differences[name, dataset] for dataset in datasets},
                    {dataset: verdicts[name, dataset] for dataset in datasets},
                )
            )
    return found
