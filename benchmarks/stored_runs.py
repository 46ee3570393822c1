"""What 50,000 stored runs cost to list, to compare again and to report: `make scale`.

A study of 2 models, 4 methods, a grid of 125 and 50 folds, with made-up curves of 50 epochs: an
accuracy of 19 graphs that differs from run to run, and noise. Each
command runs in a process of its own. Writes results/benchmark-stored-runs.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ifmixup.data import load
from ifmixup.study.compare import plan
from ifmixup.study.record import Record
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.study.study import save_studies
from ifmixup.training.packed import pack
from ifmixup.training.run import RunResult
from measure import Figure, save, show

EPOCHS = 50
GRID: dict[str, list[Any]] = {
    "learning_rate": [0.01, 0.005, 0.002, 0.001, 0.0005],
    "batch_size": [16, 32, 64, 128, 256],
    "dropout": [0.0, 0.1, 0.2, 0.3, 0.5],
}
METHODS = ("none", "ifmixup", "drop_edge", "drop_node")


def make(folder: Path) -> int:
    """A finished study without a training; the number of its runs."""
    data, chance = pack(load("MUTAG")), np.random.default_rng(0)
    splits = make_splits(data, folds=10, repeats=5)
    changes = {"epochs": EPOCHS}
    study = plan(data, splits, ["gcn", "gin"], METHODS, grid=GRID, changes=changes)

    def records() -> Iterator[Record]:
        for spec in study.specs():
            losses = ("train_loss", "test_loss", "validation_loss")
            curves = {name: chance.random(EPOCHS).tolist() for name in losses}
            level = chance.uniform(0.6, 0.85)  # of 19 graphs, as folds of MUTAG have
            for name in ("test_accuracy", "validation_accuracy"):
                right = np.rint(19 * (level + 0.05 * chance.standard_normal(EPOCHS)))
                curves[name] = (right.clip(0, 19) / 19).tolist()
            metrics = {"accuracy": curves["test_accuracy"][-1], "nll": 0.7, "ece": 0.1}
            yield Record(spec, RunResult(curves, metrics, 1.0, 0.1), versions={}, host="")

    with Store(folder) as store:
        store.merge(records())
    save_studies(folder, [study])
    splits.save_in(folder)
    return len(study.keys)


def command(*arguments: str) -> dict[str, float]:
    """Seconds of wall and processor time and the peak memory of one command."""
    return python("-m", "ifmixup", *arguments)


def python(*arguments: str) -> dict[str, float]:
    """The same of Python with any arguments."""
    start = time.perf_counter()
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen([sys.executable, *arguments], stdout=nothing)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        found["runs"] = make(folder)
        grid = Path(temporary) / "grid.toml"
        grid.write_text("".join(f"{name} = {json.dumps(each)}\n" for name, each in GRID.items()))
        again = ["compare", "MUTAG", "--models", "gcn", "gin", "--methods", *METHODS]
        again += ["--grid", str(grid), "--epochs", str(EPOCHS), "--repeats", "5"]
        found["list"] = command("runs", str(folder))
        # The first measures what is reached without the graphs, which begins a study, not ends it.
        found["first_compare"] = command(*again, "--folder", str(folder))
        found["compare"] = command(*again, "--folder", str(folder))
        page = str(Path(temporary) / "report.html")
        found["report"] = command("report", str(folder), "--output", page)
    # What compare takes whatever is stored: it loads the graphs and makes the folds again.
    found["imports"] = python("-c", "import torch_geometric, sklearn.model_selection")
    cpu = found["imports"]["cpu_seconds"]
    figures = [Figure("importing PyTorch, PyG and scikit-learn: processor seconds", cpu)]
    for name, most in (("list", 3), ("compare", 10), ("report", 30)):
        figures.append(
            Figure(f"{name}: processor seconds", found[name]["cpu_seconds"], at_most=most)
        )
        figures.append(Figure(f"{name}: peak memory, MB", found[name]["peak_mb"], at_most=1024))
    show(f"{found['runs']:,} stored runs", figures, Console())
    save("stored-runs", made_by="make scale", **found, figures=figures)


if __name__ == "__main__":
    main()
