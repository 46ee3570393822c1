"""What a study costs beyond the training itself: `make bench`.

Two workers against one on 20 runs of MUTAG, and the share of a run's seconds on NCI1 that is spent
on preparing batches. Prints a table and writes results/benchmark-study.json.
"""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console

from ifmixup.components import Component, resolve
from ifmixup.data import load
from ifmixup.errors import DatasetError
from ifmixup.study.engines.engine import Task
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.splits import Splits, make_splits
from ifmixup.study.study import Candidate, folds_of, make_trial
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.run import run
from ifmixup.training.settings import Settings
from measure import Figure, save, show


def tasks_of(
    data: PackedDataset,
    splits: Splits,
    settings: Settings,
    model: Component,
    method: Component,
    *,
    protocol: str = "holdout",
) -> list[Task]:
    """The runs of one trial."""
    candidate = Candidate(settings, model.spec, method.spec)
    trial = make_trial(data, splits, [candidate], protocol=protocol)
    return list(zip(trial.specs()[0], folds_of(splits, protocol), strict=True))


def two_workers() -> dict[str, float]:
    """Seconds of 20 runs of MUTAG with one worker and with two, starting the workers included."""
    data = pack(load("MUTAG"))
    model, method = resolve("model", "gcn"), resolve("method", "none")
    splits = make_splits(data, folds=10, repeats=2)
    tasks = tasks_of(data, splits, Settings(epochs=100), model, method)
    seconds = {}
    for workers in (1, 2):
        start = time.perf_counter()
        done = list(LocalEngine(workers).execute(tasks, data))
        seconds[workers] = time.perf_counter() - start
        assert len(done) == 20
        assert all(outcome.error is None for outcome in done)
    return {"one": seconds[1], "two": seconds[2], "ratio": seconds[2] / seconds[1]}


def preparing(method: str) -> dict[str, Any]:
    """The share of a run on NCI1 that is spent on cutting and augmenting batches."""
    data = pack(load("NCI1"))
    settings = Settings(epochs=5, batch_size=128)
    model, splits = resolve("model", "gcn"), make_splits(data, folds=10)
    spec, fold = tasks_of(data, splits, settings, model, resolve("method", method))[0]
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
    figures = [Figure("20 runs of MUTAG: two workers / one", workers["ratio"], at_most=0.6)]
    shares = []
    try:
        for method in ("none", "ifmixup"):
            shares.append(preparing(method))
            what = f"NCI1 GCN 5 x 64, batch 128, {method}: share of preparing batches"
            figures.append(Figure(what, shares[-1]["share"], at_most=0.1))
    except DatasetError as error:
        console.print(f"NCI1 is left out: {str(error).splitlines()[0]}", highlight=False)
    show("A study", figures, console)
    path = save("study", two_workers=workers, preparing=shares, figures=figures)
    console.print(f"Written to results/{path.name}")


if __name__ == "__main__":
    main()
