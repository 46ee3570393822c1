"""``ifmixup reproduce``: the paper's tables and figures, run again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ifmixup.cli.engine_options import EngineOptions
from ifmixup.cli.typed_words import TYPED
from ifmixup.data import load
from ifmixup.errors import InputError, unknown_name
from ifmixup.paper.cell import Cell
from ifmixup.paper.dataset_table import rich_table as dataset_table
from ifmixup.paper.estimate import estimate
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.graph_size import SIZES_OF, graph_sizes, sizes_table
from ifmixup.paper.manifest import save_manifest
from ifmixup.paper.plan import plan
from ifmixup.paper.reproduce import reproduce as run_reproduce
from ifmixup.paper.scale import scale_of
from ifmixup.paper.table import rich_table
from ifmixup.study.commands import note_command
from ifmixup.study.search import NOTE
from ifmixup.study.store import Store

NAMES = (*EXPERIMENTS, "graph-size", "statistics", "all")
SEARCHES = ("none", "grid", "halving")


@dataclass(frozen=True)
class ReproduceOptions:
    """What to run again, and how much of it.

    Attributes:
        experiments: gcn, gat, gin, beta, depth, shuffling, shuffling-depth, pairing,
            suspects (not in the paper: what its gain could depend on), graph-size, statistics, or
            all.
        engine: Where runs execute.
        scale: smoke (minutes: 2 folds, 3 epochs, 100 graphs), small (3 folds, 100 epochs) or paper
            (3 x 10 folds, 350 epochs).
        datasets: Only these datasets; None: all that the experiment has.
        variants: Only these columns, such as none and ifmixup; None: all.
        protocols: paper (as the paper reads its numbers: optimistic) and holdout (honest).
        search: none takes the recommended settings; grid chooses from the paper's grid; halving
            from a fraction of it.
        repeats: So many cross-validations instead of the scale's.
        folds: So many of the ten folds instead of the scale's.
        epochs: So many epochs instead of the scale's.
        seed: Seeds folds and runs.
        folder: Where the runs are kept; experiments share them.
        root: Where the datasets lie.
        retry_failed: Run again what failed before.
        dry_run: Say what would be run and how long it would take, and stop.
    """

    experiments: tyro.conf.Positional[tuple[str, ...]]
    engine: Annotated[EngineOptions, tyro.conf.arg(name="")]
    scale: str = "small"
    datasets: tuple[str, ...] | None = None
    variants: tuple[str, ...] | None = None
    protocols: tuple[str, ...] = ("paper",)
    search: str = "none"
    repeats: int | None = None
    folds: int | None = None
    epochs: int | None = None
    seed: int = 0
    folder: Path = Path("ifmixup-runs/paper")
    root: Path | None = None
    retry_failed: bool = False
    dry_run: bool = False


def reproduce(options: Annotated[ReproduceOptions, tyro.conf.arg(name="")]) -> int:
    """Run experiments of the paper again, and print our numbers beside the published ones.

    Every run is stored as it ends: the same command goes on where it stopped.
    """
    if not options.experiments:
        raise InputError(f"Which experiment? There are: {', '.join(NAMES)}.")
    for name in options.experiments:
        if name not in NAMES:
            raise unknown_name("experiment", name, NAMES)
    if options.search not in SEARCHES:
        raise unknown_name("search", options.search, SEARCHES)
    console = Console()
    if {"statistics", "all"} & set(options.experiments):
        console.print(dataset_table(options.root))
    if {"graph-size", "all"} & set(options.experiments):
        for dataset in SIZES_OF:
            console.print(sizes_table(dataset, graph_sizes(load(dataset, options.root))))
    names = [name for name in options.experiments if name in (*EXPERIMENTS, "all")]
    if not names:
        return 0
    given = {key: getattr(options, key) for key in ("repeats", "folds", "epochs")}
    plans = list(
        plan(
            names,
            replace(scale_of(options.scale), **{k: v for k, v in given.items() if v is not None}),
            datasets=options.datasets,
            variants=options.variants,
            protocols=options.protocols,
            grid=options.search != "none",
            seed=options.seed,
            root=options.root,
        )
    )
    engine = options.engine.make()
    workers: int = getattr(engine, "workers", 1)  # of a Ray cluster it is not known
    cells: list[Cell] = []
    with Store(options.folder) as store:
        seconds = 0.0
        for each in plans:
            specs = each.specs()
            tasks = each.trials[0].study.pending(specs, store, retry_failed=options.retry_failed)
            needed = estimate(tasks, each.data, workers)
            seconds += needed
            console.print(f"{each.data.name}: {len(tasks)} of {len(specs)} runs, {_about(needed)}")
        more = "s" if workers > 1 else ""
        console.print(f"About {_about(seconds)} on this machine, with {workers} worker{more}.")
        if options.search == "halving":
            console.print("At most: this is the whole grid, and halving leaves most of it out.")
        if options.dry_run:
            return 0
        for name in save_manifest(options.folder, plans):
            console.print(
                f"{name}: the folder has more folds of it, which a report goes on to show."
            )
        note_command(options.folder, TYPED.get())
        try:
            for each in plans:
                cells += run_reproduce(
                    each,
                    store,
                    engine,
                    halving=options.search == "halving",
                    retry_failed=options.retry_failed,
                )
        except KeyboardInterrupt:
            console.print("Stopped. What was finished is stored; the same command goes on.")
            return 130
    for name in EXPERIMENTS:
        if any(cell.experiment == name for cell in cells):
            console.print(rich_table(EXPERIMENTS[name], cells, console.width))
    if options.search == "halving":
        console.print(NOTE)
    return 0


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
