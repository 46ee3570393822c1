"""Running the paper's experiments: each becomes a study, and studies share their runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.errors import InputError, known_name
from ifmixup.paper.experiments import EXPERIMENTS, Experiment, Variant, find
from ifmixup.study.comparison import Comparison
from ifmixup.study.engines.engine import Engine
from ifmixup.study.grid import PAPER_GRID, check_names, expand, without_set
from ifmixup.study.halving import NOTE, halve
from ifmixup.study.run import Runner, check_study
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Candidate, Study, Trial, load_studies, make_trial, save_studies
from ifmixup.study.usable import usable_runs
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.recommended import starting_point
from ifmixup.training.run_spec import RunSpec
from ifmixup.values import check_seed

FOLDS = 10  # of every cross-validation; a smaller scale runs the first few of them
SEARCHES = ("none", "grid", "halving")


@dataclass(frozen=True)
class Scale:
    """The size of an experiment: how many of the ten folds of each repeat are run, and on how many
    graphs of each dataset at most, with the same share of each class (None: all).
    """

    name: str
    repeats: int
    folds: int
    epochs: int
    graphs: int | None = None


SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", repeats=1, folds=2, epochs=3, graphs=100),
        Scale("small", repeats=1, folds=3, epochs=100),
        Scale("paper", repeats=3, folds=FOLDS, epochs=350),
    )
}


def scale_of(name: str) -> Scale:
    """The scale called ``name``."""
    return SCALES[known_name("scale", name, SCALES)]


@dataclass(frozen=True)
class Plan:
    """What is to be run: one study per experiment, on every dataset of theirs with its folds."""

    studies: tuple[Study, ...]
    data: tuple[tuple[PackedDataset, Splits], ...]
    search: str = "none"

    def specs(self, dataset: str | None = None) -> list[RunSpec]:
        """Every run once; only those on one dataset if its name is given."""
        found = {spec.key: spec for study in self.studies for spec in study.specs()}
        return [spec for spec in found.values() if dataset in (None, spec.dataset)]


def plan(
    names: Sequence[str],
    scale: Scale,
    *,
    datasets: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    protocols: Sequence[str] = ("paper",),
    search: str = "none",
    seed: int = 0,
    root: str | os.PathLike[str] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Plan:
    """The studies of experiments, or of ``all``, and their data.

    Args:
        names: Names of experiments, or ``all`` for those of the paper.
        scale: The size.
        datasets: Only these of their datasets; None: all.
        variants: Only these of their variants, such as ``none`` and ``ifmixup``; None: all.
        protocols: As for :func:`ifmixup.compare`, and so are ``seed`` and ``root``.
        search: ``none`` takes the recommended settings, ``grid`` and ``halving`` choose from the
            paper's grid.
        changes: Settings and options by name, for every variant that has them, such as
            ``weight_decay``. What a variant itself changes goes first.
    """
    changes = changes or {}
    check_seed(seed)
    known_name("search", search, SEARCHES)
    of_paper = [each for each in EXPERIMENTS.values() if not each.ours]
    chosen = of_paper if "all" in names else [find(name) for name in names]
    wanted = list(dict.fromkeys(name for each in chosen for name in each.datasets))
    for name in datasets or ():
        if name not in wanted:
            raise InputError(
                f"{name!r} is not among the datasets of {', '.join(names)}: {', '.join(wanted)}."
            )
    known = list(dict.fromkeys(each.name for one in chosen for each in one.variants))
    for name in variants or ():
        known_name("variant", name, known)
    _check_changes(changes, chosen)
    data: dict[str, tuple[PackedDataset, Splits]] = {}
    studies = []
    for experiment in chosen:
        mine = [v for v in experiment.variants if variants is None or v.name in variants]
        trials = []
        for name in experiment.datasets:
            if not mine or (datasets is not None and name not in datasets):
                continue
            if name not in data:
                dataset = packed(name, scale.graphs, root)
                data[name] = dataset, _splits(dataset, scale, seed)
            wanted_protocols = [experiment.protocol] if experiment.protocol else protocols
            for protocol in dict.fromkeys(wanted_protocols):
                for variant in mine:
                    how = "grid" if experiment.grid else search
                    trial = make_trial(
                        *data[name],
                        _candidates(variant, data[name][0], scale.epochs, how, changes),
                        protocol=protocol,
                        seed=seed + variant.seed,
                        name=variant.name,
                        against=variant.against,
                    )
                    trials.append(trial)
        if trials:
            config = {
                "experiment": experiment.name,
                "epochs": scale.epochs,
                "graphs": scale.graphs,
                "search": search,
                "seed": seed,
                **dict(sorted(changes.items())),
            }
            title = f"{experiment.name}: {experiment.title}"
            studies.append(Study(experiment.name, title, "accuracy", tuple(trials), config=config))
    if not studies:
        raise InputError("No experiment has these variants on these datasets.")
    return Plan(tuple(studies), tuple(data.values()), search)


def packed(
    name: str, graphs: int | None = None, root: str | os.PathLike[str] | None = None
) -> PackedDataset:
    """A dataset, or about ``graphs`` of its graphs, drawn with the same share of each class."""
    dataset = load(name, root)
    if graphs is None or len(dataset) <= graphs:
        return pack(dataset, name)
    y = dataset.y.numpy()
    generator = np.random.RandomState(0)
    share = graphs / len(y)
    taken: list[int] = []
    for number in np.unique(y):
        members = np.flatnonzero(y == number)
        count = min(len(members), max(FOLDS, round(share * len(members))))
        taken += generator.permutation(members)[:count].tolist()
    return pack(dataset[sorted(taken)], name)


def experiment_of(study: Study) -> Experiment | None:
    """The paper's experiment that a study reproduces; None for any other study."""
    name = study.config.get("experiment")
    return EXPERIMENTS.get(name) if isinstance(name, str) and name == study.name else None


def joined(earlier: Study, later: Study) -> Study | None:
    """One study of two parts of the same experiment, such as other datasets, variants or folds.

    None if the two are different studies: of other experiments, with other epochs, graphs or
    seeds, or with other settings for the same trial.
    """
    experiment = experiment_of(later)
    if experiment is None or earlier.name != later.name or earlier.config != later.config:
        return None
    variants = [variant.name for variant in experiment.variants]
    if any(t.name not in variants or t.dataset not in experiment.datasets for t in earlier.trials):
        return None
    found = {_identity(trial): trial for trial in earlier.trials}
    for trial in later.trials:
        old = found.setdefault(_identity(trial), trial)
        folds = tuple(sorted({*old.folds, *trial.folds}))
        same_graphs = len({fold[:2] for fold in folds}) == len(folds)
        if not same_graphs or (old.data, old.candidates) != (trial.data, trial.candidates):
            return None
        larger = max(old, trial, key=lambda each: len(each.folds))
        found[_identity(trial)] = replace(larger, folds=folds, keys=())
    protocols = [*dict.fromkeys([*earlier.protocols, *later.protocols])]
    trials = sorted(
        found.values(),
        key=lambda trial: (
            experiment.datasets.index(trial.dataset),
            protocols.index(trial.protocol),
            variants.index(trial.name),
        ),
    )
    notes = tuple(dict.fromkeys([*earlier.notes, *later.notes]))
    return replace(later, trials=tuple(trials), notes=notes)


def continued(study: Study, earlier: Sequence[Study]) -> Study:
    """The study, joined with the part of the same experiment that is among earlier studies."""
    return next((both for each in earlier if (both := joined(each, study)) is not None), study)


def reproduce(
    plan: Plan,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    progress: bool = True,
) -> list[Comparison]:
    """Run what a folder does not have yet, and compare, as :func:`ifmixup.compare` does.

    An experiment that the folder has a part of already is continued. The experiments are returned
    as the folder has them then, in the order of the plan.
    """
    with Store(folder) as store:
        runner = Runner(store, engine, plan.data, retry_failed=retry_failed, progress=progress)
        asked: tuple[Study, ...] = ()
        if retry_failed:
            for study in plan.studies:
                usable_runs(store, study)  # a damaged run is one that failed
        if plan.search == "halving":
            asked = plan.studies
            save_studies(folder, asked)  # for a report of a search that is stopped
            studies = [halve(study, store, runner.execute) for study in plan.studies]
            studies = [replace(study, notes=(*study.notes, NOTE)) for study in studies]
            plan = replace(plan, studies=tuple(studies))
        if runner.pending(plan.specs()):
            for study in plan.studies:
                check_study(study, runner.data)
        for _, splits in plan.data:
            splits.save_in(folder)
        earlier = [each for each in load_studies(folder) if each not in asked]
        whole = [continued(study, earlier) for study in plan.studies]
        # Before the runs, for a report of a study that is stopped.
        save_studies(folder, whole, instead_of=asked)
        runner.execute(plan.specs())
        return [Comparison(study, usable_runs(store, study), folder) for study in whole]


def _check_changes(changes: Mapping[str, Any], chosen: Sequence[Experiment]) -> None:
    """Check that every name is a setting, or an option of one of the experiments' classes."""
    if "epochs" in changes:
        raise InputError("The number of epochs is part of the scale: give epochs there.")
    kinds = {("model", v.model) for each in chosen for v in each.variants}
    kinds |= {("method", v.method) for each in chosen for v in each.variants}
    check_names(changes, [resolve(*kind) for kind in sorted(kinds)])


def _splits(data: PackedDataset, scale: Scale, seed: int) -> Splits:
    """The first folds of each repeat: more repeats or folds keep the runs of fewer."""
    splits = make_splits(data, folds=FOLDS, repeats=scale.repeats, seed=seed)
    return replace(splits, folds=tuple(f for f in splits.folds if f.fold < scale.folds))


def _candidates(
    variant: Variant, data: PackedDataset, epochs: int, search: str, changes: Mapping[str, Any]
) -> list[Candidate]:
    """The settings of a variant on a dataset: one, or those of the paper's grid."""
    model, method = resolve("model", variant.model), resolve("method", variant.method)
    given = {**changes, **variant.changes}
    start = starting_point(data, model, method, {**given, "epochs": epochs})
    grid = {} if search == "none" else without_set(PAPER_GRID, given)
    return expand(start.settings, start.model, start.method, grid)


def _identity(trial: Trial) -> tuple[str, str, str]:
    return trial.dataset, trial.protocol, trial.name
