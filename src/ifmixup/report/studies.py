"""What a report is about: the studies of some folders, as ``study.json`` describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from ifmixup.data import GraphDataset, load
from ifmixup.data.catalog import canonical, find
from ifmixup.errors import DatasetError, InputError, StoreError
from ifmixup.paper.experiments import EXPERIMENTS, Experiment
from ifmixup.paper.reproduce import experiment_of
from ifmixup.report.html import slug
from ifmixup.study.comparison import Comparison
from ifmixup.study.examples import Examples, choose_examples, load_examples
from ifmixup.study.record import Record
from ifmixup.study.rows import Row
from ifmixup.study.store import FILE_NAME as RUNS
from ifmixup.study.store import Store
from ifmixup.study.study import Study, Trial, load_studies
from ifmixup.study.usable import usable_runs
from ifmixup.training.packed import pack
from ifmixup.training.run_spec import digest

_WHAT_TO_DO = "Run ifmixup compare or ifmixup reproduce with this --folder first."
_SHOWN_VALUES = 4  # of a setting, in a title
_WAYS = ("dataset", "model", "method", "protocol", "seed")  # that trials may differ in


@dataclass(frozen=True)
class ShownStudy:
    """A study in the report; no other study there has the same name (for links) or title."""

    comparison: Comparison
    name: str
    title: str

    @property
    def study(self) -> Study:
        """The study itself."""
        return self.comparison.study

    @property
    def experiment(self) -> Experiment | None:
        """The experiment of the paper that it reproduces; None for any other study."""
        return experiment_of(self.study)

    @property
    def is_figure(self) -> bool:
        """Whether the paper draws it and prints no numbers."""
        return self.experiment is not None and self.experiment.is_figure

    @property
    def metric(self) -> str:
        """What its numbers are of."""
        return next((row.metric for row in self.comparison.rows), self.study.metric)

    def label(self, trial: Trial) -> str:
        """The name of a trial in charts: its method if the study has only one model."""
        several = len({each.model for each in self.study.trials}) > 1
        return trial.name if several or self.experiment is not None else trial.method

    @cached_property
    def groups(self) -> dict[str, dict[str, Row]]:
        """The rows by dataset and protocol, and by label, in the order of the study."""
        found: dict[str, dict[str, Row]] = {}
        for row in self.comparison.rows:
            group = found.setdefault(f"{row.trial.dataset}, {row.trial.protocol}", {})
            group[self.label(row.trial)] = row
        return found

    def base_of(self, row: Row) -> Row | None:
        """The row that a row is compared with."""
        base = self.study.against(row.trial)
        return next((each for each in self.comparison.rows if each.trial is base), None)

    def progress(self) -> str | None:
        """How much of a study is there; None if all of it is."""
        done = sum(record.result is not None for record in self.comparison.runs)
        total, failed = len(self.study.keys), len(self.comparison.failed)
        if done == total:
            return None
        return (
            f"This study is not complete: {done} of its {total} runs are done"
            f"{f', {failed} failed' if failed else ''}. The same command that started it runs the "
            f"others{' (failed ones with --retry-failed)' if failed else ''}."
        )


@dataclass(frozen=True)
class Studies:
    """What was read of the folders."""

    shown: Sequence[ShownStudy]  # the paper's experiments in the paper's order first
    unknown: Sequence[str] = ()  # what is known of folders that have runs, but no study
    names: Sequence[str] = ()  # of the folders, without their paths
    notes: Sequence[str] = ()  # what else must be said
    command: str = ""  # of the report
    examples: Examples | None = None  # two graphs of the first study's dataset

    @property
    def of_paper(self) -> bool:
        """Whether an experiment of the paper is among them."""
        return any(each.experiment is not None for each in self.shown)

    @cached_property
    def records(self) -> list[Record]:
        """Every run once, because studies share runs."""
        return list({r.key: r for each in self.shown for r in each.comparison.runs}.values())


def gather(folders: Sequence[Path], command: str = "") -> Studies:
    """Read the studies of folders; a study in several of them is shown once, with all its runs."""
    if not folders:
        raise InputError(f"A report needs the folder of a study. {_WHAT_TO_DO}")
    found: dict[str, Comparison] = {}
    unknown: list[str] = []
    notes = []
    unique = list({folder.resolve(): folder for folder in folders}.values())
    for folder in unique:
        name, studies = folder.resolve().name, load_studies(folder)
        if studies and not (folder / RUNS).exists():  # stopped before the first run
            for study in studies:
                found.setdefault(_identity(study), Comparison(study, [], Path(name)))
            continue
        with Store(folder, read_only=True) as store:
            if not studies:
                unknown += _unknown(name, store)
            for study in studies:
                runs = {record.key: record for record in usable_runs(store, study)}
                before = found.get(_identity(study))
                for record in before.runs if before is not None else ():
                    if record.result is not None or record.key not in runs:
                        runs[record.key] = record
                found[_identity(study)] = Comparison(study, list(runs.values()), Path(name))
            notes += store.damage()
            others = len(store.keys() - {key for study in studies for key in study.keys})
        if studies and others:
            notes.append(f"{name} has {others} more runs that belong to none of its studies.")
    comparisons = sorted(found.values(), key=_order)
    titles, links = _titles(comparisons), _names(comparisons)
    shown = [ShownStudy(c, n, t) for c, n, t in zip(comparisons, links, titles, strict=True)]
    kept = []
    for folder in unique:
        try:
            kept.append(load_examples(folder))
        except StoreError as error:
            notes.append(f"{folder.resolve().name}: {error} No graphs are shown.")
    examples = next((each for each in kept if each is not None), None) or _looked_up(shown)
    names = [each.resolve().name for each in unique]
    return Studies(shown, unknown, names, notes, command, examples)


def _looked_up(shown: Sequence[ShownStudy]) -> Examples | None:
    """Two graphs of the first dataset that is on this machine under its name; none is downloaded.

    The paper's experiments may have been run on a part of a dataset.
    """
    for each in shown:
        for trial in each.study.trials:
            dataset = local_dataset(trial.dataset)
            packed = None if dataset is None else pack(dataset)
            if packed is not None and (each.experiment or packed.fingerprint == trial.data):
                return choose_examples(packed)
    return None


def local_dataset(name: str) -> GraphDataset | None:
    """A dataset that is on this machine under its name; None otherwise."""
    try:
        return None if find(canonical(name)) is None else load(name)
    except DatasetError:
        return None


def _identity(study: Study) -> str:
    return digest(study.to_dict()["trials"])


def _order(comparison: Comparison) -> int:
    """The paper's experiments in the paper's order, then the others as they are."""
    of_paper = experiment_of(comparison.study)
    return len(EXPERIMENTS) if of_paper is None else list(EXPERIMENTS).index(of_paper.name)


def _unknown(folder: str, store: Store) -> list[str]:
    """What is known of runs without a ``study.json``, what is not, and what to do."""
    specs = [record.spec for record in store.records(curves=False)]
    if not specs:
        raise InputError(f"{folder} has no runs. {_WHAT_TO_DO}")
    names = {
        "datasets": {spec.dataset for spec in specs},
        "models": {spec.model.name for spec in specs},
        "methods": {spec.method.name for spec in specs},
    }
    listed = "; ".join(f"{kind} {', '.join(sorted(each))}" for kind, each in names.items())
    return [
        f"{folder} has {len(specs)} runs ({listed}) and no study.json. Which study they belong "
        f"to, and what is compared with what, is unknown, so no numbers are shown.",
        f"ifmixup runs {folder} lists the runs and exports them. The ifmixup compare or ifmixup "
        f"reproduce command that made them, given again with --folder {folder}, uses the stored "
        f"runs and writes study.json.",
    ]


def _names(comparisons: Sequence[Comparison]) -> list[str]:
    """A name per study for links and files: a number is added to one that occurs again."""
    found: list[str] = []
    for each in comparisons:
        start = slug(each.study.name)
        names = (start if number == 1 else f"{start}-{number}" for number in count(1))
        found.append(next(name for name in names if name not in found))
    return found


def _titles(comparisons: Sequence[Comparison]) -> list[str]:
    """The titles of the studies; equal ones get what the studies differ in."""
    titles = [each.study.title for each in comparisons]
    for title in {title for title in titles if titles.count(title) > 1}:
        same = [i for i, each in enumerate(titles) if each == title]
        facts = [_facts(comparisons[i]) for i in same]
        names = dict.fromkeys(name for each in facts for name in each)
        differ = [name for name in names if len({repr(each.get(name)) for each in facts}) > 1]
        for number, (i, each) in enumerate(zip(same, facts, strict=True), start=1):
            told = [f"{name} {_short(each[name])}" for name in differ if name in each]
            titles[i] = f"{title} ({'; '.join(told) or number})"
    return [
        title if titles.count(title) == 1 else f"{title}, {titles[: i + 1].count(title)}"
        for i, title in enumerate(titles)
    ]


def _facts(comparison: Comparison) -> dict[str, list[Any]]:
    """What two studies may differ in: settings and options first, then what they are run on."""
    trials = comparison.study.trials
    found: dict[str, dict[Any, None]] = {}
    for trial in trials:
        for candidate in trial.candidates:
            for name, value in candidate.values().items():
                found.setdefault(name, {})[value] = None
    ways: dict[str, list[Any]] = {
        **{name: [getattr(trial, name) for trial in trials] for name in _WAYS},
        "folds": [len({fold for _, fold in trial.pairs}) for trial in trials],
        "repeats": [len({repeat for repeat, _ in trial.pairs}) for trial in trials],
        "graphs": [trial.data[:8] for trial in trials],
        "split": [digest([list(fold) for fold in trial.folds])[:8] for trial in trials],
        "metric": [comparison.study.metric],
    }
    listed = {name: sorted(values, key=repr) for name, values in found.items()}
    return listed | {name: list(dict.fromkeys(values)) for name, values in ways.items()}


def _short(values: Sequence[Any]) -> str:
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    more = ", …" if len(texts) > _SHOWN_VALUES else ""
    return ", ".join(texts[:_SHOWN_VALUES]) + more
