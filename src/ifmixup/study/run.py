"""Running a study: what the store does not have yet, checked before the first run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace

from ifmixup.components import foreign
from ifmixup.errors import IfmixupError
from ifmixup.study.apart import call_apart
from ifmixup.study.engines.engine import Engine, Task, Watcher, Watchers
from ifmixup.study.progress import Progress
from ifmixup.study.running_means import RunningMeans
from ifmixup.study.splits import Splits
from ifmixup.study.store import Store
from ifmixup.study.study import Candidate, Study, folds_of
from ifmixup.training.packed import PackedDataset
from ifmixup.training.preflight import preflight
from ifmixup.training.run_spec import Fold, RunSpec

CHECK_SECONDS = 300.0  # for a user's class to train one step on a few graphs


class Runner:
    """Executes the runs of studies on some datasets with their folds, each result stored as it
    comes. What is stored is not run again, but for runs that failed, with ``retry_failed``.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        data: Iterable[tuple[PackedDataset, Splits]],
        *,
        retry_failed: bool = False,
        progress: bool = True,
        means: RunningMeans | None = None,
    ) -> None:
        self.store, self.engine = store, engine
        self.retry_failed, self.progress = retry_failed, progress
        self.means = means
        self.data: dict[str, PackedDataset] = {}
        self.folds: dict[str, Fold] = {}
        self.splits: list[Splits] = []
        for dataset, splits in data:
            self.data[dataset.fingerprint] = dataset
            self.splits.append(splits)

    def pending(self, specs: Iterable[RunSpec]) -> list[Task]:
        """The runs that the store does not have yet, each once; failed ones only when asked for."""
        there = self.store.keys("done" if self.retry_failed else None)
        wanted = {spec.key: spec for spec in specs}
        return [(s, self._fold(s.split)) for key, s in wanted.items() if key not in there]

    def _fold(self, fingerprint: str) -> Fold:
        """A fold of the data; those of a protocol are made when a run asks for one of them."""
        for protocol in ("holdout", "paper"):
            if fingerprint not in self.folds:
                for splits in self.splits:
                    own = {fold.fingerprint: fold for fold in folds_of(splits, protocol)}
                    self.folds = {**own, **self.folds}
        return self.folds[fingerprint]

    def execute(self, specs: Sequence[RunSpec], *watchers: Watcher) -> None:
        """Run what the store does not have of ``specs``; ``watchers`` are told how it goes."""
        tasks = self.pending(specs)
        by_data: dict[str, list[Task]] = {}
        for task in tasks:
            by_data.setdefault(task[0].data, []).append(task)
        epochs = sum(spec.settings.epochs for spec, _ in tasks)
        show = Progress(
            len(tasks), len(specs) - len(tasks), epochs=epochs or None, means=self.means
        )
        with show if self.progress else nullcontext(Watcher()) as shown:
            watcher = Watchers(shown, *watchers) if watchers else shown
            for data, mine in by_data.items():
                # Closed at once when storing fails or Ctrl-C comes, so no worker is left behind.
                with closing(self.engine.execute(mine, self.data[data], watcher)) as records:
                    for record in records:
                        self.store.add(record)


def check_study(study: Study, data: Mapping[str, PackedDataset]) -> None:
    """Check every model and method of a study on its data, by fingerprint, before the first run."""
    seen = set()
    for trial in study.trials:
        for each in trial.candidates:
            # Of the settings only these decide whether a training can begin.
            own = each.settings
            kind = (own.use_edge_attr, own.label_smoothing > 0, own.recompute_bn)
            what = (trial.data, each.model, each.method, kind)
            if what not in seen:
                seen.add(what)
                _check(each, data[trial.data])


def _check(each: Candidate, data: PackedDataset) -> None:
    parts = each.settings, each.model, each.method, data
    own = [spec.class_name for spec in (each.model, each.method) if foreign(spec)]
    if own:
        call_apart(f"The check of {' and '.join(own)}", CHECK_SECONDS, preflight, *parts)
    else:
        preflight(*parts)


def leave_out(study: Study, data: Mapping[str, PackedDataset], optional: Collection[str]) -> Study:
    """The study without trials of ``optional`` methods that cannot be run; its notes say why."""
    kept, notes = [], dict.fromkeys(study.notes)
    for trial in study.trials:
        try:
            if trial.method in optional:
                check_study(replace(study, trials=(trial,)), data)
        except IfmixupError as error:
            why = str(error).split(". ")[0].rstrip(".")
            notes[f"{trial.method} is skipped for {trial.model}: {why}."] = None
        else:
            kept.append(trial)
    return replace(study, trials=tuple(kept), notes=tuple(notes))


def changed_code(study: Study, store: Store) -> list[str]:
    """What to say where the store has runs of older code of a user's class.

    Such runs stay, and are not used: changed code makes new runs.
    """
    candidates = [each for trial in study.trials for each in trial.candidates]
    specs = {spec for each in candidates for spec in (each.model, each.method)}
    now = {s for s in specs.union(*(trial.metrics for trial in study.trials)) if foreign(s)}
    if not now:
        return []
    names, sources = ({getattr(s, key) for s in now} for key in ("class_name", "source"))
    datasets = {trial.data for trial in study.trials}
    older: Counter[str] = Counter()
    for record in store.records(curves=False):
        if record.spec.data in datasets and record.key not in study.keys:
            for spec in (record.spec.model, record.spec.method, *record.spec.metrics):
                if spec.class_name in names and spec.source not in sources:
                    older[spec.class_name] += 1
    return [
        f"{name} changed: {count} stored run{'s were' if count > 1 else ' was'} made by older code."
        for name, count in older.items()
    ]
