"""``compare``: train every model with every method under one protocol, and say what helps."""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ifmixup.components import METHODS, Component, resolve_all
from ifmixup.data import load
from ifmixup.data.dataset import IMBALANCED, largest_share
from ifmixup.errors import InputError, known_name
from ifmixup.safe_io import folder_name, printable_lines
from ifmixup.study.briefing import briefing
from ifmixup.study.choose_split import Split, choose_splits, columns_of
from ifmixup.study.comparison import Comparison
from ifmixup.study.deploy import python_source
from ifmixup.study.engines.engine import Engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.estimate import run_seconds
from ifmixup.study.examples import save_examples
from ifmixup.study.graph_free import measure_baselines
from ifmixup.study.grid import Grid, check_grid, check_names, expand, load_grid, without_set
from ifmixup.study.halving import NOTE, SEARCHES, halve
from ifmixup.study.numbers import metric_text
from ifmixup.study.protocols import needs_validation
from ifmixup.study.run import Runner, changed_code, check_study, leave_out
from ifmixup.study.running_means import RunningMeans
from ifmixup.study.splits import Splits
from ifmixup.study.store import FILE_NAME, Store
from ifmixup.study.study import Study, folds_of, load_studies, make_trial, save_studies
from ifmixup.study.time_limit import as_seconds, run_within
from ifmixup.study.usable import check_name, usable_runs
from ifmixup.training.edge_attributes import unread_note
from ifmixup.training.mapped import is_packed, open_packed
from ifmixup.training.metric import resolve_metrics, shown, to_measure
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.recommended import starting_point
from ifmixup.training.settings import Settings
from ifmixup.training.task import is_fraction, is_ours, title_of
from ifmixup.values import check_seed, short

DEFAULT_FOLDER = Path("ifmixup-runs")
BASELINE = "none"


def compare(
    dataset: Any,
    models: Any = ("gcn",),
    methods: Any = ("none", "ifmixup"),
    *,
    protocols: str | Sequence[str] = ("holdout",),
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    split: Split | None = None,
    grid: str | os.PathLike[str] | Grid | None = None,
    search: str = "grid",
    engine: Engine | None = None,
    workers: int | None = None,
    name: str | None = None,
    margin: float = 1.0,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    smiles: str | None = None,
    label: Any = None,
    features: str | None = None,
    retry_failed: bool = False,
    dry_run: bool = False,
    time_limit: str | float | None = None,
    progress: bool = True,
    metric: Any = None,
    baselines: bool = True,
    settings: Settings | None = None,
    config: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Comparison:
    """Train every model with every method on the same folds, and compare with ``none``.

    Every run is stored when it ends and is not repeated: after an interruption, the same call
    continues where it stopped.

    Args:
        dataset: What :func:`ifmixup.data.load` takes: a dataset's name, a file, a DataFrame or a
            list of SMILES, or graphs with targets ``y``: class numbers, rows of labels or rows of
            values. Or what :func:`ifmixup.pack_stream` wrote.
        models: Names (``gcn``, ``gin``, ``gat``, ``gatv2``), your own classes, ``"nets.py:Net"``,
            or results of :func:`ifmixup.with_options`.
        methods: Names of :func:`ifmixup.augment.names`, your own classes, and so on. Each is
            compared with ``none``, or with the first one if ``none`` is not among them. ``all``
            means all names; those that do not work with a model or with these graphs are skipped
            with a note.
        protocols: ``holdout`` (honest), ``paper`` (optimistic) and ``last``; ``paper`` and ``last``
            share their runs.
        folds: Number of folds; 1 is a single split into 80 % training, 10 % validation and 10 %
            test graphs.
        repeats: Number of cross-validations, each with new folds; with a single split, the number
            of seeds.
        seed: Seed of the folds and runs.
        split: ``"random"``, ``"scaffold"``, ``"group:COLUMN"``, ``"column:COLUMN"``, a JSON file,
            ``{"train": [...], "val": [...], "test": [...]}``, or a list of these; see
            :func:`~ifmixup.study.choose_split.choose_splits`. By default the dataset's own split,
            else random.
        grid: Settings and options to choose from: ``"paper"``, a TOML or YAML file, or lists of
            values by name.
        search: ``"grid"`` runs the whole grid, ``"halving"`` a fraction of it, which is a little
            optimistic (see :func:`~ifmixup.study.halving.rungs`).
        engine: Where runs execute; by default worker processes on this machine.
        workers: Number of worker processes; by default one per core.
        name: Name of the study; by default that of the dataset.
        margin: Largest difference that does not matter, in points, or in per cent of the mean
            for a metric that is not a fraction, such as RMSE.
        folder: Folder for the results; by default ``ifmixup-runs/NAME``.
        root: Folder to look for a named dataset in.
        smiles: Column of a table with the SMILES.
        label: Column with the labels, or several separated by commas; for a list of SMILES, the
            labels themselves.
        features: Features of molecules: ``"standard"`` (the default) or ``"element"``.
        retry_failed: Whether to run failed runs again.
        dry_run: Whether to print the settings, the number of runs and the expected time, and stop.
        time_limit: ``"30m"``, ``"2h"`` or seconds: run as many whole folds of all models and
            methods as fit.
        progress: Whether to print the settings, the expected time and the progress.
        metric: The metric that decides; by default that of the dataset. A name (``"f1_macro"``,
            ``"rmse"``), the name of a scorer of scikit-learn, an :class:`ifmixup.Metric`, or
            ``"scores.py:score"``. Of several, the first decides and all are shown.
        baselines: Whether to also measure the majority class and a random forest; see
            :func:`~ifmixup.study.graph_free.measure_baselines`.
        settings: How to train; by default what is recommended for the dataset and the model
            (:mod:`ifmixup.training.recommended`).
        config: How the study was made, for ``study.json``: plain values by name.
        **changes: Settings and options by name, such as ``epochs=100`` or ``num_layers=3``. An
            option is passed to every model and method that has it.
    """
    check_seed(seed)
    if name is not None:
        check_name(name)
    known_name("search", search, SEARCHES)
    if search == "halving" and grid is None:
        raise InputError("A search needs a grid: give grid='paper' or your own.")
    if engine is not None and workers is not None:
        raise InputError("Give either engine or workers: an engine has its own number of workers.")
    limit = None if time_limit is None else as_seconds(time_limit)
    if limit is not None and search == "halving":
        raise InputError("A time limit needs search='grid'; it does not work with halving.")
    began = time.monotonic()
    engine = engine or LocalEngine(workers)
    if isinstance(dataset, PackedDataset):
        data = dataset
    elif is_packed(dataset):
        data = open_packed(cast("str", dataset))
    else:
        reading = {"smiles": smiles, "label": label, "features": features}
        reading["columns"] = columns_of(split)
        data = pack(load(dataset, root, **reading))
    cut = choose_splits(data, split, folds=folds, repeats=repeats, seed=seed)
    study = plan(
        data,
        cut,
        models,
        methods,
        protocols=protocols,
        seed=seed,
        grid=load_grid(grid),
        name=name,
        margin=margin,
        settings=settings,
        changes=changes,
        metric=metric,
        read_off=search == "grid",
    )
    study = leave_out(study, {data.fingerprint: data}, _optional(methods))
    place = Path(folder) if folder is not None else DEFAULT_FOLDER / folder_name(study.name)
    is_new = not (place / FILE_NAME).exists()
    if is_new:  # a study that cannot be run leaves nothing behind
        check_study(study, {data.fingerprint: data})
    with _store(place, dry_run) as store:
        means = RunningMeans(study)
        runner = Runner(
            store, engine, [(data, cut)], retry_failed=retry_failed, progress=progress, means=means
        )
        if retry_failed and not dry_run:
            usable_runs(store, study)  # a damaged run is one that failed
        tasks = runner.pending(study.specs())
        if not is_new and tasks:
            check_study(study, runner.data)
        notes = (*changed_code(study, store), *study.notes)
        graphs = "graphs"
        if data.folder is None:
            graphs = python_source(dataset, smiles=smiles, label=label, features=features)
        from_python = {"task": data.task, "graphs": graphs}
        study = replace(study, notes=notes, config=dict(config or from_python))
        seconds: dict[str, float] = {}
        if progress or dry_run or limit is not None:
            seconds = run_seconds(tasks, data, device=getattr(engine, "device", None) or "cpu")
        at_once = getattr(engine, "workers", None)  # of a Ray cluster it is not known
        lines = briefing(study, tasks, seconds, workers=at_once, halving=search == "halving")
        if dry_run:
            print(printable_lines("\n".join(lines)))
            return Comparison(study, list(store.get(sorted(study.keys)).values()), place)
        if progress and tasks:
            print(printable_lines("\n".join(lines)), file=sys.stderr, flush=True)
            for record in store.get(study.keys).values():
                means.add(record)
        cut.save_in(place)
        save_examples(place, data)
        asked = study
        if search == "halving":
            save_studies(place, [asked])  # for a report of a search that is stopped
            study = halve(study, store, runner.execute)
            runner.means = RunningMeans(study)
            if not cut.are_one:  # with a single split there are no other folds to have seen
                study = replace(study, notes=(*study.notes, NOTE))
        if baselines:
            study = with_baselines(study, data, cut, place)
            if progress:
                print(_told(study), file=sys.stderr)
        if limit is not None:
            study = run_within(
                runner, study, place, seconds, limit=limit, began=began, workers=at_once or 1
            )
        else:
            # Before the runs, so a study that is stopped can be reported as far as it got.
            save_studies(place, [study], instead_of=[asked])
            runner.execute(study.specs())
        return Comparison(study, usable_runs(store, study), place)


@contextmanager
def _store(folder: Path, dry_run: bool) -> Iterator[Store]:
    """The store of a folder; a dry run leaves nothing behind."""
    if not dry_run:
        with Store(folder) as store:
            yield store
    elif (folder / FILE_NAME).exists():
        with Store(folder, read_only=True) as store:
            yield store
    else:
        with tempfile.TemporaryDirectory() as empty, Store(Path(empty)) as store:
            yield store


def plan(
    data: PackedDataset,
    splits: Splits,
    models: Any,
    methods: Any,
    *,
    protocols: str | Sequence[str] = ("holdout",),
    seed: int = 0,
    grid: Grid | None = None,
    name: str | None = None,
    margin: float = 1.0,
    settings: Settings | None = None,
    changes: dict[str, Any] | None = None,
    metric: Any = None,
    read_off: bool = True,
) -> Study:
    """The study that :func:`compare` runs: every model with every method, checked.

    With ``read_off``, trials under ``last`` read the metric off runs that have other curves.
    """
    chosen = [protocols] if isinstance(protocols, str) else list(dict.fromkeys(protocols))
    found_models, found_methods = resolve_all("model", models), resolve_all("method", methods)
    given = {"models": found_models, "methods": found_methods, "protocols": chosen}
    for what, several in given.items():
        if not several:
            raise InputError(f"There is nothing to compare: give at least one of {what}.")
    if data.num_classes == 1:
        raise InputError(
            f"All graphs of {data.name} have the same class, so there is nothing to learn."
        )
    for protocol in chosen:
        needs_validation(protocol)  # says which there are
    changes, grid = changes or {}, grid or {}
    components = [*found_models, *found_methods]
    check_names([*changes, *(n for names in check_grid(grid) for n in names)], components)
    grid = without_set(grid, changes)
    baseline = next((m for m in found_methods if m.name == BASELINE), found_methods[0])
    metrics = resolve_metrics(metric, data)
    trials, origins = [], {}
    for protocol in chosen:
        # paper and last share their runs, and paper needs the metric after every epoch
        curve = protocol != "last" or "paper" in chosen or not read_off
        measured = to_measure(metrics, data.task, curve=curve)
        for model in found_models:
            for method in found_methods:
                start = starting_point(data, model, method, changes, settings=settings)
                candidates = expand(start.settings, start.model, start.method, grid)
                origins[f"{model.name} {method.name}"] = _origin(start.origin, settings, changes)
                against = None if method is baseline else f"{model.name} {baseline.name}"
                trials.append(
                    make_trial(
                        data,
                        splits,
                        candidates,
                        protocol=protocol,
                        seed=seed,
                        against=against,
                        metrics=measured,
                    )
                )
    called = name or data.name
    return Study(
        name=called,
        title=f"{called}: {', '.join(m.name for m in found_models)} with "
        f"{', '.join(m.name for m in found_methods)}",
        metric=metrics[0].name,
        trials=tuple(trials),
        notes=(
            *metric_notes(data, metrics[0].name),
            *_notes(data, splits, found_models, found_methods),
        ),
        metrics=shown(metrics, data.task),
        margin=margin,
        origins=origins,
    )


def metric_notes(data: PackedDataset, metric: str) -> list[str]:
    """Why the metric is not accuracy, where one class holds most graphs."""
    share = largest_share(data.y) if data.task == "classes" else 0.0
    if share <= IMBALANCED or metric != data.metric or metric == "accuracy":
        return []
    return [
        f"{100 * share:.1f} % of the graphs of {data.name} have the same class, so always "
        f"predicting it has this accuracy. The metric is therefore {title_of(metric)}; --metric "
        f"accuracy uses accuracy instead."
    ]


def with_baselines(study: Study, data: PackedDataset, splits: Splits, folder: Path) -> Study:
    """The study with its baselines: those that were measured before, else measured now."""
    asked = {spec for trial in study.trials for spec in trial.metrics if not is_ours(spec)}
    found = None
    for earlier in load_studies(folder):
        trials = [trial for trial in earlier.trials if trial.data == data.fingerprint]
        same = bool(trials) and trials[0].folds == study.trials[0].folds
        if same and asked <= {spec for trial in trials for spec in trial.metrics}:
            found = earlier.baselines or found
    if found is None:
        folds = folds_of(splits, study.protocols[0])
        found = tuple(measure_baselines(data, folds, sorted(asked, key=lambda spec: spec.name)))
    notes = [each.note for each in found if each.note]
    return replace(study, baselines=found, notes=(*study.notes, *notes))


def _told(study: Study) -> str:
    """What the baselines get, before the first run."""
    metric, unit = study.metric, " in %" if is_fraction(study.metric) else ""
    means = [(each.name, each.mean(metric)) for each in study.baselines]
    largest = max((abs(value) for _, value in means if math.isfinite(value)), default=math.nan)
    told = ", ".join(f"{name} {metric_text(metric, value, largest)}" for name, value in means)
    return f"Baselines without graph structure: {told} ({title_of(metric)}{unit})."


def _origin(origin: str, settings: Settings | None, changes: Mapping[str, Any]) -> str:
    """Where the settings of a trial come from, in words."""
    start = origin if settings is None else "those that were given"
    given = ", ".join(f"{name}={short(value)}" for name, value in changes.items())
    return f"{start}, with {given} as given" if given else start


def _optional(methods: Any) -> set[str]:
    """The methods that nobody asked for by name: those that ``all`` stands for."""
    several = [methods] if isinstance(methods, str | type | Component) else list(methods)
    if "all" not in several:
        return set()
    named = resolve_all("method", [each for each in several if each != "all"])
    return {*METHODS.names()} - {each.name for each in named} - {BASELINE}


def _notes(
    data: PackedDataset, splits: Splits, models: Sequence[Component], methods: Sequence[Component]
) -> list[str]:
    """What must be said with the numbers of a study."""
    said = list(splits.notes)
    unread = unread_note(data, models)
    if unread is not None:
        said.append(unread)
    names = (data.class_names or []) if data.task == "classes" and data.rows is not None else []
    if len(names) > 2 and all(name.isdecimal() for name in names):
        said.append(
            f"The {len(names)} whole numbers of the target are taken as classes. To predict the "
            f"number: --task values (task='values')."
        )
    if len(splits.folds) == 1:
        said.append("One fold has no spread; --repeats trains on it several times.")
    elif splits.are_one:
        said.append(
            "All runs share one split of the graphs: intervals and p-values show the effect of "
            "the training seed, not of other test graphs."
        )
    elif splits.repeat_themselves:
        said.append(
            "Repeats use the same folds and differ only in the training seed, so they do not show "
            "the effect of other folds."
        )
    if data.continuous and any(getattr(m.cls, "weights_edges", False) for m in methods):
        are = "is" if len(data.continuous) == 1 else "are"
        said.append(
            f"{len(data.continuous)} of the {data.num_features} features {are} continuous and "
            f"standardised on the training graphs of each fold. The node features of a mixed graph "
            f"may then come from more than one pair; its sizes, edges and λ can be recovered."
        )
    return said
