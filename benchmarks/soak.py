"""A study of 3,000 short runs without a break, watched: `make soak`.

Memory, open files and processes of the study and its workers are sampled over the whole length.
They must be flat: the mean of the last tenth within 5 % of the mean of the tenth after the first.
Writes results/soak.json and results/soak.png.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
from rich.console import Console

from ifmixup.data import load
from ifmixup.study.compare import plan
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.run import Runner
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.training.packed import pack
from measure import RESULTS, Figure, save, show

KINDS = ("memory", "files", "processes")


class Watch(threading.Thread):
    """Samples this process and all that it started, every few seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds, self.done = seconds, threading.Event()
        self.samples: dict[str, list[float]] = {name: [] for name in ("minute", *KINDS)}

    def run(self) -> None:
        began, me = time.monotonic(), psutil.Process()
        while not self.done.wait(self.seconds):
            try:
                all_ = [me, *me.children(recursive=True)]
                sample = {
                    "minute": (time.monotonic() - began) / 60,
                    "memory": sum(p.memory_full_info().uss for p in all_) / 2**20,
                    "files": float(sum(p.num_fds() for p in all_)),
                    "processes": float(len(all_)),
                }
            except psutil.Error:  # a process ended meanwhile
                continue
            for name, value in sample.items():
                self.samples[name].append(round(value, 3))


def drift(values: list[float]) -> float:
    """The mean of the last tenth by that of the second tenth, less 1."""
    tenth = max(1, len(values) // 10)
    early, late = values[tenth : 2 * tenth] or values, values[-tenth:]
    return statistics.mean(late) / statistics.mean(early) - 1


def draw(samples: dict[str, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(7, 5), layout="constrained")
    titles = {"memory": "private memory, MB", "files": "open files", "processes": "processes"}
    for axes, name in zip(drawing.subplots(len(KINDS), 1, sharex=True), KINDS, strict=True):
        axes.plot(samples["minute"], samples[name], linewidth=1)
        axes.set_ylim(0, 1.2 * max(samples[name]))
        axes.set_ylabel(titles[name])
    axes.set_xlabel("minutes")
    drawing.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between samples")
    given = parser.parse_args()
    data = pack(load("MUTAG"))
    methods = ("none", "ifmixup", "drop_edge")
    splits = make_splits(data, folds=10, repeats=-(-given.runs // (10 * len(methods))))
    study = plan(data, splits, ["gin"], methods, changes={"epochs": given.epochs})
    watch = Watch(given.every)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        runner = Runner(store, LocalEngine(2), [(data, splits)], progress=sys.stderr.isatty())
        began = time.monotonic()
        watch.start()
        runner.execute(study.specs())
        watch.done.set()
        watch.join()
        seconds, done = time.monotonic() - began, len(store.keys("done"))
        failed = len(store.keys("failed"))
    figures = [Figure("runs that are done", done, at_least=given.runs)]
    figures += [Figure("runs that failed", failed, at_most=0)]
    for name in KINDS:
        change = 100 * drift(watch.samples[name])
        figures.append(Figure(f"{name}: change from early to late, %", abs(change), at_most=5))
    console = Console()
    show(f"{done} runs in {seconds / 60:.0f} minutes, 2 workers", figures, console)
    path = save(
        "soak", made_by="make soak", minutes=seconds / 60, figures=figures, samples=watch.samples
    )
    path.rename(RESULTS / "soak.json")
    draw(watch.samples, RESULTS / "soak.png")


if __name__ == "__main__":
    main()
