"""What a study costs beyond the training itself: `make bench`.

Two workers against one on 20 runs of MUTAG, and the share of a run's seconds on NCI1 that goes into
preparing batches. Prints a table and writes results/benchmark-study.json.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ifmixup.data import load
from ifmixup.errors import DatasetError
from ifmixup.study.engines.engine import Task, versions
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.splits import make_splits
from ifmixup.study.study import Study
from ifmixup.training import Packed, Settings, pack, run

OUTPUT = Path(__file__).parent.parent / "results" / "benchmark-study.json"


def tasks_of(data: Packed, settings: Settings, *, folds: int, repeats: int) -> list[Task]:
    splits = make_splits(data, folds=folds, repeats=repeats)
    study = Study(data, splits, 0, {("holdout", settings.model, settings.method): [settings]})
    return [(spec, splits.fold(spec.repeat, spec.fold)) for spec in study.specs()]


def two_workers() -> dict[str, float]:
    """Seconds of 20 runs of MUTAG with one worker and with two, starting the workers included."""
    data = pack(load("MUTAG"))
    tasks = tasks_of(data, Settings(epochs=100), folds=10, repeats=2)
    seconds = {}
    for workers in (1, 2):
        start = time.perf_counter()
        done = list(LocalEngine(workers).execute(tasks, data))
        seconds[workers] = time.perf_counter() - start
        assert len(done) == 20
        assert all(outcome.error is None for outcome in done)
    return {"one": seconds[1], "two": seconds[2], "ratio": seconds[2] / seconds[1]}


def preparing(method: str) -> dict[str, Any]:
    """The share of a run on NCI1 that goes into cutting and augmenting batches."""
    data = pack(load("NCI1"))
    settings = Settings(method=method, epochs=5, batch_size=128, hidden=64, layers=5)
    spec, fold = tasks_of(data, settings, folds=10, repeats=1)[0]
    result = run(spec, data, fold)
    return {
        "method": method,
        "seconds": result.seconds,
        "prepare_seconds": result.prepare_seconds,
        "share": result.prepare_seconds / result.seconds,
    }


def main() -> None:
    console = Console()
    workers = two_workers()
    table = Table(title="A study")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("reach", justify="right")
    table.add_row("20 runs of MUTAG, two workers / one", f"{workers['ratio']:.2f}", "0.6")
    report: dict[str, Any] = {
        "made_by": "make bench",
        "versions": versions(),
        "two_workers": workers,
        "preparing": [],
    }
    try:
        for method in ("none", "ifmixup"):
            row = preparing(method)
            report["preparing"].append(row)
            table.add_row(
                f"NCI1 GCN 5 x 64, batch 128, {method}: share of preparing batches",
                f"{row['share']:.3f}",
                "0.1",
            )
    except DatasetError as error:
        console.print(f"NCI1 is left out: {str(error).splitlines()[0]}", highlight=False)
    console.print(table)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(report, indent=1) + "\n")
    console.print(f"Written to results/{OUTPUT.name}")


if __name__ == "__main__":
    main()
