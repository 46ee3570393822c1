"""From experiments to runs: what is to be run on each dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ifmixup.data import load
from ifmixup.errors import InputError, unknown_name
from ifmixup.paper.experiments import EXPERIMENTS, Experiment, Variant, find
from ifmixup.paper.scale import FOLDS, Scale
from ifmixup.study.grid import PAPER_GRID, expand
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.study import Study
from ifmixup.training import PackedDataset, RunSpec, Settings, pack
from ifmixup.training.recommended import recommended


@dataclass(frozen=True)
class Trial:
    """A variant of an experiment on one dataset under one protocol.

    Attributes:
        experiment: The experiment's name.
        variant: The variant.
        protocol: ``paper`` or ``holdout``.
        study: Its folds and its settings: one, or the grid to choose from.
    """

    experiment: str
    variant: Variant
    protocol: str
    study: Study

    @property
    def settings(self) -> Sequence[Settings]:
        """The settings to choose from."""
        return self.study.settings[self.protocol, self.variant.model, self.variant.method]

    def specs(self) -> Iterator[RunSpec]:
        """All runs of the trial, fold by fold."""
        return self.study.specs()


@dataclass(frozen=True)
class DatasetPlan:
    """All trials on one dataset; trials of different experiments may share runs."""

    data: PackedDataset
    splits: Splits
    trials: tuple[Trial, ...]

    def specs(self) -> list[RunSpec]:
        """Every run once."""
        return list({spec.key: spec for trial in self.trials for spec in trial.specs()}.values())


def plan(
    names: Sequence[str],
    scale: Scale,
    *,
    datasets: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    protocols: Sequence[str] = ("paper",),
    grid: bool = False,
    seed: int = 0,
    root: str | os.PathLike[str] | None = None,
) -> Iterator[DatasetPlan]:
    """What the experiments ``names`` take, dataset by dataset.

    Args:
        names: Names of experiments, or ``all``.
        scale: How much of them.
        datasets: Only these of their datasets; None: all.
        variants: Only these of their variants, such as ``none`` and ``ifmixup``; None: all.
        protocols: How the numbers are read off.
        grid: Choose from the paper's grid; else the recommended settings are used.
        seed: Seeds folds and runs.
        root: Where the datasets lie.
    """
    chosen = list(EXPERIMENTS.values()) if "all" in names else [find(name) for name in names]
    wanted = list(dict.fromkeys(name for each in chosen for name in each.datasets))
    if datasets is not None:
        missing = [name for name in datasets if name not in wanted]
        if missing:
            raise InputError(
                f"{missing[0]!r} is not among the datasets of {', '.join(names)}: "
                f"{', '.join(wanted)}."
            )
        wanted = [name for name in wanted if name in datasets]
    known = list(dict.fromkeys(each.name for one in chosen for each in one.variants))
    for variant in variants or ():
        if variant not in known:
            raise unknown_name("variant", variant, known)
    for name in wanted:
        data = packed(name, scale.graphs, root)
        splits = _first_folds(
            make_splits(data, folds=FOLDS, repeats=scale.repeats, seed=seed), scale
        )
        trials = [
            _trial(experiment, variant, protocol, data, splits, scale, grid, seed)
            for experiment in chosen
            if name in experiment.datasets
            for variant in experiment.variants
            if variants is None or variant.name in variants
            for protocol in protocols
        ]
        if trials:
            yield DatasetPlan(data, splits, tuple(trials))


def _trial(
    experiment: Experiment,
    variant: Variant,
    protocol: str,
    data: PackedDataset,
    splits: Splits,
    scale: Scale,
    grid: bool,
    seed: int,
) -> Trial:
    settings = recommended(data.name, variant.model, variant.method)
    settings = settings.with_(epochs=scale.epochs, **variant.changes)
    # what the variant is about is not chosen from the grid
    values = {
        names: entry
        for names, entry in PAPER_GRID.items()
        if not set(names.split(",")) & set(variant.changes)
    }
    candidates = expand(settings, values) if grid else [settings]
    trial = (protocol, variant.model, variant.method)
    return Trial(experiment.name, variant, protocol, Study(data, splits, seed, {trial: candidates}))


def packed(
    name: str, graphs: int | None = None, root: str | os.PathLike[str] | None = None
) -> PackedDataset:
    """A dataset, or about so many of its graphs, drawn with the same share of each class."""
    dataset = load(name, root)
    if graphs is None or len(dataset) <= graphs:
        return pack(dataset, name)
    y = dataset.y.numpy()
    chance = np.random.RandomState(0)
    share = graphs / len(y)
    taken: list[int] = []
    for number in np.unique(y):
        members = np.flatnonzero(y == number)
        count = min(len(members), max(FOLDS, round(share * len(members))))
        taken += chance.permutation(members)[:count].tolist()
    return pack(dataset[sorted(taken)], name)


def _first_folds(splits: Splits, scale: Scale) -> Splits:
    kept = tuple(each for each in splits.folds if each.fold < scale.folds)
    return replace(splits, folds=kept)
