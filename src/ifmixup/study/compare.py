"""``compare``: train every model with every method under one protocol, and say what helps."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.errors import InputError, unknown_name
from ifmixup.safe_io import folder_name
from ifmixup.study.comparison import Comparison
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.grid import PAPER_GRID, Grid, expand, load_grid
from ifmixup.study.progress import Progress
from ifmixup.study.search import NOTE, SEARCHES, halve
from ifmixup.study.splits import Splits, load_splits, make_splits, own_splits
from ifmixup.study.store import Store
from ifmixup.study.study import Study
from ifmixup.training import PROTOCOLS, PackedDataset, RunSpec, Settings, pack
from ifmixup.training.recommended import recommended

DEFAULT_FOLDER = Path("ifmixup-runs")


def compare(
    dataset: str | Sequence[Data],
    models: Sequence[str] = ("gcn",),
    methods: Sequence[str] = ("none", "ifmixup"),
    *,
    protocols: Sequence[str] = ("holdout",),
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    splits: str | os.PathLike[str] | None = None,
    grid: str | os.PathLike[str] | Grid | None = None,
    search: str = "grid",
    engine: Engine | None = None,
    name: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    settings: Settings | None = None,
    **changes: Any,
) -> Comparison:
    """Train every model with every method on the same folds, and compare with ``none``.

    Every run is stored as it ends and never run again: the same call after an interruption goes
    on where it stopped.

    Args:
        dataset: What :func:`ifmixup.data.load` takes: a dataset's name, a file, or graphs with
            targets ``y``: class numbers, rows of labels or rows of values.
        models: ``gcn``, ``gin``, ``gat``, ``gatv2``.
        methods: Names of :func:`ifmixup.augment.names`; ``none`` is what the others are compared
            with.
        protocols: ``holdout`` (honest) and ``paper`` (optimistic); each has its own runs.
        folds: How many folds. A dataset that comes with a split of its own has that as its only
            fold.
        repeats: How many times the cross-validation is repeated with other folds.
        seed: Seeds folds and runs.
        splits: A file with folds to use instead.
        grid: ``"paper"``, a TOML or YAML file, or lists of values by name: the settings to choose
            from.
        search: ``"grid"`` runs the whole grid, ``"halving"`` a fraction of it, which is a little
            optimistic (see :class:`~ifmixup.study.halving.Halving`).
        engine: Where runs execute; by default worker processes on this machine, one a core.
        name: What to call the study; by default the dataset's name.
        folder: Where the results go; by default ``ifmixup-runs/NAME``.
        root: Where the dataset lies.
        retry_failed: Run again what failed before.
        progress: Whether to show how far it is.
        settings: How to train; model and method are replaced. By default what is recommended for
            the dataset, the model and the method (:mod:`ifmixup.training.recommended`).
        **changes: Settings by name, such as ``epochs=100``, which differ from that.
    """
    data = dataset if isinstance(dataset, PackedDataset) else _packed(dataset, root)

    def base(model: str, method: str) -> Settings:
        chosen = settings or recommended(data.name, model, method)
        return chosen.with_(**{**changes, "model": model, "method": method})

    for what, given in (("models", models), ("methods", methods), ("protocols", protocols)):
        if not given:
            raise InputError(f"There is nothing to compare: give at least one of {what}.")
    if data.num_classes == 1:
        raise InputError(f"All graphs of {data.name} are of one class: there is nothing to learn.")
    for protocol in protocols:
        if protocol not in PROTOCOLS:
            raise unknown_name("protocol", protocol, PROTOCOLS)
    if search not in SEARCHES:
        raise unknown_name("search", search, SEARCHES)
    if search == "halving" and grid is None:
        raise InputError("A search needs a grid to search: give grid='paper', or one of your own.")
    values = _grid(grid)
    study = Study(
        data=data,
        splits=_splits(data, splits, folds, repeats, seed),
        seed=seed,
        settings={
            (protocol, model, method): expand(base(model, method), values)
            for protocol in dict.fromkeys(protocols)
            for model in dict.fromkeys(models)
            for method in dict.fromkeys(methods)
        },
    )
    place = DEFAULT_FOLDER / (name or folder_name(data.name)) if folder is None else Path(folder)
    runner = engine or LocalEngine()
    with Store(place) as store:
        _save_splits(study.splits, place)

        def execute(specs: Sequence[RunSpec]) -> None:
            tasks = study.pending(specs, store, retry_failed=retry_failed)
            already = len(specs) - len(tasks)
            with Progress(len(tasks), already) if progress else nullcontext() as watcher:
                study.execute(tasks, store, runner, watcher)

        if search == "halving":
            study = halve(study, store, execute)
        specs = list(study.specs())
        execute(specs)
        # With a single split there are no other folds to have looked at.
        notes = (NOTE,) if search == "halving" and not study.splits.are_one else ()
        return Comparison(study, study.records(specs, store), place, notes)


def _packed(dataset: str | Sequence[Data], root: str | os.PathLike[str] | None) -> PackedDataset:
    return pack(load(dataset, root))


def _splits(
    data: PackedDataset, path: str | os.PathLike[str] | None, folds: int, repeats: int, seed: int
) -> Splits:
    """The folds of a file, else the dataset's own split, else folds that are drawn."""
    if path is not None:
        return load_splits(path, data)
    if data.split is not None:
        return own_splits(data, repeats=repeats, seed=seed)
    return make_splits(data, folds=folds, repeats=repeats, seed=seed)


def _grid(grid: str | os.PathLike[str] | Grid | None) -> Grid:
    if grid is None:
        return {}
    if isinstance(grid, Mapping):
        return grid
    return PAPER_GRID if grid == "paper" else load_grid(grid)


def _save_splits(splits: Splits, folder: Path) -> None:
    """Beside the results, so that others can use the same folds; one file a choice of folds."""
    first = splits.fingerprint(*splits.pairs[0])[:8]
    path = folder / f"splits-{len(splits.folds)}-{first}.json"
    if not path.exists():
        splits.save(path)
