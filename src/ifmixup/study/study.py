"""A study: the trials that are compared, and the runs they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from ifmixup.study.engines.engine import Engine, Task, Watcher
from ifmixup.study.record import Record
from ifmixup.study.splits import Splits
from ifmixup.study.store import Store
from ifmixup.training import PackedDataset, RunSpec, Settings

Arm = tuple[str, str, str]  # protocol, model, method: one of those that are compared


@dataclass(frozen=True)
class Study:
    """What is compared on one dataset.

    Attributes:
        data: The packed dataset.
        splits: Its folds, the same for all.
        seed: The seed of all runs.
        settings: The candidates of each protocol, model and method; one, or a grid of them.
    """

    data: PackedDataset
    splits: Splits
    seed: int
    settings: Mapping[Arm, Sequence[Settings]]

    def spec(self, settings: Settings, protocol: str, repeat: int, fold: int) -> RunSpec:
        """The run of one setting on one fold."""
        return RunSpec(
            dataset=self.data.name,
            data=self.data.fingerprint,
            settings=settings,
            protocol=protocol,
            repeat=repeat,
            fold=fold,
            split=self.splits.fingerprint(repeat, fold),
            seed=self.seed,
        )

    def specs(self) -> Iterator[RunSpec]:
        """All runs, fold by fold, so that methods can be compared before all are done."""
        for repeat, fold in self.splits.pairs:
            for (protocol, _, _), candidates in self.settings.items():
                for settings in candidates:
                    yield self.spec(settings, protocol, repeat, fold)

    def execute(
        self, tasks: Sequence[Task], store: Store, engine: Engine, watcher: Watcher | None = None
    ) -> None:
        """Run ``tasks``; each result is stored as it comes."""
        # Closed at once when storing fails or Ctrl-C comes, so that no worker is left behind.
        with closing(engine.execute(tasks, self.data, watcher)) as outcomes:
            for outcome in outcomes:
                store.add(outcome)

    def pending(
        self, specs: Iterable[RunSpec], store: Store, *, retry_failed: bool = False
    ) -> list[Task]:
        """The runs that the store does not have yet, each once; failed ones only when asked for."""
        there = store.keys("done" if retry_failed else None)
        wanted = {spec.key: spec for spec in specs}
        return [
            (spec, self.splits.fold(spec.repeat, spec.fold))
            for key, spec in wanted.items()
            if key not in there
        ]

    def records(self, specs: Iterable[RunSpec], store: Store) -> list[Record]:
        """What the store has of these runs."""
        found = (store.record(spec.key) for spec in specs)
        return [record for record in found if record is not None]
