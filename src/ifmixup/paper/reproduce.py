"""Running the paper's experiments again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from ifmixup.paper.cell import Cell, cell_of
from ifmixup.paper.plan import DatasetPlan, Trial
from ifmixup.study.engines.engine import Engine
from ifmixup.study.progress import Progress
from ifmixup.study.search import halve
from ifmixup.study.store import Store
from ifmixup.training import RunSpec


def reproduce(
    plan: DatasetPlan,
    store: Store,
    engine: Engine,
    *,
    halving: bool = False,
    retry_failed: bool = False,
    progress: bool = True,
) -> list[Cell]:
    """Run what the store does not have yet of one dataset, and read the numbers off.

    Args:
        plan: What to run.
        store: Where runs are kept; one that is there is not run again.
        engine: Where runs execute.
        halving: Search the grid of each trial by successive halving first.
        retry_failed: Run again what failed before.
        progress: Whether to show how far it is.
    """

    def execute(specs: Sequence[RunSpec]) -> None:
        study = plan.trials[0].study  # all share data and folds
        tasks = study.pending(specs, store, retry_failed=retry_failed)
        already = len(specs) - len(tasks)
        with Progress(len(tasks), already) if progress else nullcontext() as watcher:
            study.execute(tasks, store, engine, watcher)

    if halving:
        plan = replace(
            plan, trials=tuple(_searched(trial, store, execute) for trial in plan.trials)
        )
    execute(plan.specs())
    return read_cells(plan, store)


def read_cells(plan: DatasetPlan, store: Store) -> list[Cell]:
    """What the store has of a plan: a cell for every trial that has finished runs."""
    cells = (cell_of(trial, trial.study.records(trial.specs(), store)) for trial in plan.trials)
    return [cell for cell in cells if cell is not None]


def _searched(trial: Trial, store: Store, execute: Callable[[Sequence[RunSpec]], None]) -> Trial:
    return replace(trial, study=halve(trial.study, store, execute))
