"""``ifmixup reproduce``: the paper's tables and figures, run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from ifmixup.cli.class_options import split_options
from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT, EngineGroup, SettingsGroup, default, typed
from ifmixup.components import resolve
from ifmixup.errors import InputError, unknown_name

_OF_SCALE = default("set by --scale")


def _several(name: str) -> Any:
    """For an option with several values, which are all by default."""
    return tyro.conf.arg(metavar=f"{name} ...", help_behavior_hint="(default: all)")


@dataclass(frozen=True)
class ReproduceOptions:
    """What to run again, and how much of it.

    Attributes:
        experiments: gcn, gat, gin, beta, depth, shuffling, shuffling-depth, pairing, graph-size,
            statistics, or all of these; beyond the paper: selection, few-labels, label-noise,
            calibration.
        settings: How to train, instead of the recommended settings.
        engine: Where runs execute.
        scale: smoke (2 folds, 3 epochs, 100 graphs), small (3 folds, 100 epochs) or paper (3 x 10
            folds, 350 epochs).
        datasets: Datasets to run.
        variants: Columns of the table to run, such as none and ifmixup.
        protocols: paper (the paper's, optimistic), last (the last epoch) or holdout (honest).
        search: none uses the recommended settings, grid searches the paper's grid, and halving a
            fraction of it.
        repeats: Number of cross-validations.
        folds: Number of the ten folds to run.
        seed: Seed of the folds and runs.
        folder: Folder for the runs, which the experiments share.
        root: Folder to look for named datasets in.
        retry_failed: Run failed runs again.
        dry_run: Print the number of runs and the expected time, and stop.
    """

    experiments: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="EXPERIMENT ...", help_behavior_hint=""),
    ]
    settings: SettingsGroup
    engine: EngineGroup
    scale: str = "small"
    datasets: Annotated[tuple[str, ...] | None, _several("DATASET")] = None
    variants: Annotated[tuple[str, ...] | None, _several("VARIANT")] = None
    protocols: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PROTOCOL ...")] = ("paper",)
    search: str = "none"
    repeats: Annotated[int | None, _OF_SCALE] = None
    folds: Annotated[int | None, _OF_SCALE] = None
    seed: int = 0
    folder: Path = Path("ifmixup-runs/paper")
    root: Annotated[Path | None, NO_DEFAULT] = None
    retry_failed: bool = False
    dry_run: bool = False


def reproduce(options: ReproduceOptions, class_options: Sequence[str] = ()) -> int:
    """Run the paper's experiments, and print our numbers beside the published ones.

    Every run is stored when it ends. The same command continues where it stopped.
    """
    from ifmixup.paper.experiments import EXPERIMENTS
    from ifmixup.paper.reproduce import plan, scale_of

    names = (*EXPERIMENTS, "graph-size", "statistics", "all")
    if not options.experiments:
        raise InputError(f"Give at least one experiment: {', '.join(names)}.")
    for name in options.experiments:
        if name not in names:
            raise unknown_name("experiment", name, names)
    console = PlainConsole()
    _print_datasets(options, console)
    chosen = [name for name in options.experiments if name in (*EXPERIMENTS, "all")]
    if not chosen:
        return 0
    variants = [
        v for name, e in EXPERIMENTS.items() if {name, "all"} & {*chosen} for v in e.variants
    ]
    kinds = [("model", v.model) for v in variants] + [("method", v.method) for v in variants]
    components = [resolve(*kind) for kind in dict.fromkeys(kinds)]
    changes: dict[str, Any] = typed(options.settings)
    changes |= split_options(class_options, components, vars(options))
    epochs = changes.pop("epochs", None)
    size = {"repeats": options.repeats, "folds": options.folds, "epochs": epochs}
    found = plan(
        chosen,
        replace(scale_of(options.scale), **{k: v for k, v in size.items() if v is not None}),
        datasets=options.datasets,
        variants=options.variants,
        protocols=options.protocols,
        search=options.search,
        seed=options.seed,
        root=options.root,
        changes=changes,
    )
    return _run(found, options, console)


def _print_datasets(options: ReproduceOptions, console: PlainConsole) -> None:
    from ifmixup.data import load
    from ifmixup.paper.dataset_table import SIZES_OF, graph_sizes, rich_table, sizes_table

    if {"statistics", "all"} & set(options.experiments):
        console.print(rich_table(options.root))
    if {"graph-size", "all"} & set(options.experiments):
        for dataset in SIZES_OF:
            console.print(sizes_table(dataset, graph_sizes(load(dataset, options.root))))


def _run(found: Any, options: ReproduceOptions, console: PlainConsole) -> int:
    from ifmixup.paper.reproduce import reproduce
    from ifmixup.paper.tables import rich_table
    from ifmixup.study.estimate import estimate
    from ifmixup.study.progress import duration
    from ifmixup.study.run import Runner
    from ifmixup.study.store import Store

    engine = options.engine.make()
    workers: int = getattr(engine, "workers", 1)  # of a Ray cluster it is not known
    seconds = 0.0
    with Store(options.folder) as store:
        runner = Runner(store, engine, found.data, retry_failed=options.retry_failed)
        for data, _ in found.data:
            specs = found.specs(data.name)
            tasks = runner.pending(specs)
            needed = estimate(tasks, data, workers)
            seconds += needed
            console.print(f"{data.name}: {len(tasks)} of {len(specs)} runs, {duration(needed)}")
    more = "s" if workers > 1 else ""
    console.print(f"About {duration(seconds)} on this machine, with {workers} worker{more}.")
    if options.search == "halving":
        console.print("This is an upper bound: halving skips most of the grid.")
    if options.dry_run:
        return 0
    try:
        comparisons = reproduce(found, options.folder, engine, retry_failed=options.retry_failed)
    except KeyboardInterrupt:
        console.print("Stopped. Finished runs are stored; the same command continues from there.")
        return 130
    for comparison, asked in zip(comparisons, found.studies, strict=True):
        console.print(rich_table(comparison, asked))
    failed = {record.key for comparison in comparisons for record in comparison.failed}
    if failed:
        console.print(
            f"{len(failed)} runs failed (ifmixup runs {options.folder} lists them). --retry-failed "
            f"tries them again."
        )
    return 1 if failed else 0
