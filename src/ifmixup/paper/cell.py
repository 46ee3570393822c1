"""One number of a table, with what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ifmixup.paper.plan import Trial
from ifmixup.paper.published import Published, published
from ifmixup.study.protocols import read
from ifmixup.study.reading import Pair, Reading
from ifmixup.study.record import Record
from ifmixup.training import RunResult, Settings
from ifmixup.training.run_spec import digest


@dataclass(frozen=True)
class Cell:
    """What was measured of one variant on one dataset.

    Attributes:
        experiment: The experiment's name.
        dataset: The dataset's name.
        variant: The variant's name.
        protocol: ``paper`` or ``holdout``.
        reading: The metric, fold by fold.
        published: What the paper printed; None where it printed nothing.
        epochs: How many epochs were trained.
        test_ratio: Test graphs by training graphs, which the corrected t-test needs.
        records: The runs.
    """

    experiment: str
    dataset: str
    variant: str
    protocol: str
    reading: Reading
    published: Published | None
    epochs: int
    test_ratio: float
    records: Sequence[Record]

    @property
    def difference(self) -> float | None:
        """Ours less the published accuracy."""
        return None if self.published is None else self.reading.mean - self.published.mean

    def chosen_results(self) -> list[RunResult]:
        """What came out of the runs that the number rests on: the chosen setting, fold by fold."""
        return [
            record.result
            for record in self.records
            if record.result is not None
            and (choice := self.reading.chosen.get((record.spec.repeat, record.spec.fold)))
            and relevant(record.spec.settings) == choice.settings
        ]


@cache
def relevant(settings: Settings) -> dict[str, Any]:
    """The settings that make a difference, worked out once for the many runs that share them."""
    return settings.relevant()


def cell_of(trial: Trial, records: Sequence[Record]) -> Cell | None:
    """The cell of a trial; None where no run has finished."""
    return cell_from(
        records,
        experiment=trial.experiment,
        dataset=trial.study.data.name,
        variant=trial.variant.name,
        protocol=trial.protocol,
        pairs=trial.study.splits.pairs,
        test_ratio=trial.study.splits.test_ratio,
    )


def cell_from(
    records: Sequence[Record],
    *,
    experiment: str,
    dataset: str,
    variant: str,
    protocol: str,
    pairs: Sequence[Pair],
    test_ratio: float,
) -> Cell | None:
    """The cell of these runs; None where none has finished.

    Args:
        records: The runs of all settings to choose from.
        experiment: The experiment's name.
        dataset: The dataset's name.
        variant: The variant's name.
        protocol: ``paper`` or ``holdout``.
        pairs: The (repeat, fold) that should be there.
        test_ratio: Test graphs by training graphs.
    """
    done = [(record.spec, record.result) for record in records if record.result is not None]
    if not done:
        return None
    settings = {digest(record.spec.settings.relevant()): record.spec.settings for record in records}
    return Cell(
        experiment=experiment,
        dataset=dataset,
        variant=variant,
        protocol=protocol,
        reading=read(done, settings=list(settings.values()), pairs=pairs),
        published=published(experiment).get((dataset, variant)),
        epochs=done[0][0].settings.epochs,
        test_ratio=test_ratio,
        records=records,
    )
