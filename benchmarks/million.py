"""A million molecule-like graphs, from a stream to an epoch: `make scale`.

Graphs are made one by one, packed as a stream, mapped, and trained on with and without ifMixup.
The processor time per graph is that of one whole epoch, beginning with pages that no process has
mapped yet; epochs of 10,000 graphs are measured in turn with its parts. Every part runs in a
process of its own. Writes results/benchmark-million.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import torch
from rich.console import Console
from rich.progress import Progress
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from ifmixup.components import resolve
from ifmixup.graphs import Graphs
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.splits import make_splits
from ifmixup.study.study import Candidate, folds_of, make_trial
from ifmixup.training.mapped import open_packed, pack_stream
from ifmixup.training.packed import pack
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer
from measure import Figure, save, show

NODES, ELEMENTS, SHAPES = 25, 9, 500
SMALL, LARGE = 10_000, 1_000_000
HELD = 2_000  # graphs to validate on, and to test on
PART = 24  # steps: an epoch of the small dataset


def molecules(count: int) -> Iterator[Data]:
    """Random trees of 25 nodes with two more edges, which is what a drug-like molecule has."""
    draw = torch.Generator().manual_seed(0)
    shapes = []
    for _ in range(SHAPES):
        parent = [
            int(torch.randint(max(0, i - 4), i, (1,), generator=draw)) for i in range(1, NODES)
        ]
        tree = torch.stack([torch.arange(1, NODES), torch.tensor(parent)])
        rings = torch.tensor([[0, 7], [5, 12]])
        shapes.append(to_undirected(torch.cat([tree, rings], 1), num_nodes=NODES))
    one_hot = torch.eye(ELEMENTS)
    for start in range(0, count, 1000):
        element = torch.randint(ELEMENTS, (1000, NODES), generator=draw)
        shape = torch.randint(SHAPES, (1000,), generator=draw).tolist()
        label = (element == 0).sum(1).gt(2).long()
        for i in range(min(1000, count - start)):
            yield Data(x=one_hot[element[i]], edge_index=shapes[shape[i]], y=label[i : i + 1])


def private_memory(process: psutil.Process | None = None) -> float:
    """Megabytes that belong to a process alone: without the pages of mapped files."""
    number = "self" if process is None else process.pid
    text = Path(f"/proc/{number}/smaps_rollup").read_text()
    return int(text.split("Anonymous:")[1].split()[0]) / 1024


class Peak(threading.Thread):
    """The most private memory of this process while a block runs."""

    def __enter__(self) -> Peak:
        super().__init__(daemon=True)
        self.before = self.peak = private_memory()
        self.done = threading.Event()
        self.start()
        return self

    def run(self) -> None:
        while not self.done.wait(0.2):
            self.peak = max(self.peak, private_memory())

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.join()
        self.peak = max(self.peak, private_memory())


def write(folder: Path, count: int) -> dict[str, Any]:
    """Seconds of processor time and peak memory of packing a stream."""
    start, clock = time.process_time(), time.perf_counter()
    with Peak() as memory, Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("packing", total=count)
        data = pack_stream(
            molecules(count), folder, name=f"m{count}", each=lambda n: bar.update(task, completed=n)
        )
    return {
        "graphs": len(data),
        "cpu_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - clock,
        "peak_mb": memory.peak,
        "disk_mb": sum(file.stat().st_size for file in folder.iterdir()) / 2**20,
    }


def trainer_of(folder: Path, method: str, batch_size: int) -> Trainer:
    data = open_packed(folder)
    count = len(data)
    return Trainer(
        Settings(epochs=1, batch_size=batch_size),
        resolve("model", "gcn").with_options(num_layers=2, hidden_channels=32).spec,
        resolve("method", method).spec,
        data,
        train=torch.arange(count - 2 * HELD),
        validation=torch.arange(count - 2 * HELD, count - HELD),
        test=torch.arange(count - HELD, count),
    )


def memory_of(folder: Path, method: str, batch_size: int) -> dict[str, Any]:
    """Megabytes that belong to a process that trains for some steps."""
    torch.set_num_threads(1)
    with Peak() as memory:
        some = Steps(trainer_of(folder, method, batch_size))
        some.start_epoch()
        some.run(50)
    return {"private_mb": memory.peak}


class Steps:
    """The steps of one epoch after the other, and what they took."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.batches: Iterator[Graphs] = iter(())
        self.graphs, self.cpu_seconds, self.seconds = 0, 0.0, 0.0
        trainer.model.train()

    def run(self, count: int | None = None) -> bool:
        """Take so many steps, or all that are left; whether the epoch has ended with them."""
        trainer, cpu, clock = self.trainer, time.thread_time(), time.perf_counter()
        done = 0
        for batch in islice(self.batches, count):
            loss = trainer.loss(trainer.training_model(batch), batch.graphs["y"])
            trainer.optimizer.zero_grad()
            loss.backward()
            trainer.optimizer.step()
            self.graphs += batch.num_graphs
            done += 1
        self.cpu_seconds += time.thread_time() - cpu
        self.seconds += time.perf_counter() - clock
        return count is None or done < count

    def start_epoch(self) -> None:
        self.batches = self.trainer._training_batches()

    def found(self) -> dict[str, float]:
        return {
            "graphs": self.graphs,
            "microseconds": 1e6 * self.cpu_seconds / self.graphs,
            "wall_microseconds": 1e6 * self.seconds / self.graphs,
        }


def train(folder: Path, small: str, method: str) -> dict[str, Any]:
    """Processor time per graph of one whole epoch of the large dataset and, a small part of it and
    then a whole epoch of the small dataset in turn, of about as many epochs of the small one.
    """
    torch.set_num_threads(1)
    warm, few = (Steps(trainer_of(Path(small), method, 256)) for _ in range(2))
    for _ in range(3):
        warm.start_epoch()
        warm.run()
    many, ended = Steps(trainer_of(folder, method, 256)), False
    many.start_epoch()
    while not ended:
        ended = many.run(4 * PART)
        few.start_epoch()
        few.run()
    # Once more: now all pages are mapped into this process.
    again, ended = Steps(many.trainer), False
    again.start_epoch()
    for _ in range(10):
        again.run(PART)
    return {
        "small": few.found(), "large": many.found(), "large_again": again.found(),
        "private_mb": private_memory(),
    }  # fmt: skip


def folds(folder: Path) -> dict[str, Any]:
    """Seconds and megabytes of drawing ten folds."""
    data = open_packed(folder)
    make_splits(pack(list(molecules(1000))), folds=10)  # scikit-learn's own memory does not count
    before, start = private_memory(), time.process_time()
    splits = make_splits(data, folds=10)
    prints = [fold.fingerprint for fold in splits.folds]
    taken = time.process_time() - start
    return {"folds": len(prints), "cpu_seconds": taken, "mb": private_memory() - before}


def two_workers(folder: Path) -> dict[str, Any]:
    """The private memory of two workers that train at the same time, and of their parent."""
    data = open_packed(folder)
    splits = make_splits(data, folds=2)
    settings = Settings(epochs=1, steps_per_epoch=300, batch_size=256)
    candidate = Candidate(settings, resolve("model", "gcn").spec, resolve("method", "ifmixup").spec)
    trial = make_trial(data, splits, [candidate], protocol="holdout")
    tasks = list(zip(trial.specs()[0], folds_of(splits, "holdout"), strict=True))
    most: dict[int, float] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            for child in psutil.Process().children():
                try:
                    most[child.pid] = max(most.get(child.pid, 0.0), private_memory(child))
                except (OSError, psutil.Error):
                    continue

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    records = list(LocalEngine(2).execute(tasks, data))
    done.set()
    thread.join()
    assert all(record.error is None for record in records), records[0].error
    workers = sorted(most.values())[-2:]
    return {"workers_mb": workers, "parent_mb": private_memory()}


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "write": write,
    "train": train,
    "memory_of": memory_of,
    "folds": folds,
    "two_workers": two_workers,
}


def part(name: str, folder: Path, **given: Any) -> dict[str, Any]:
    """A part in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--part", name, str(folder)]
    done = subprocess.run([*command, json.dumps(given)], stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    print(name, folder.name, given, found, file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs=3)
    parser.add_argument("--graphs", type=int, default=LARGE)
    parser.add_argument("--folder", type=Path, help="where the packed graphs go, and stay")
    given = parser.parse_args()
    if given.part:
        name, folder, options = given.part
        print(json.dumps(PARTS[name](Path(folder), **json.loads(options))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        place = given.folder or Path(temporary)
        small, large = place / "small.packed", place / "large.packed"
        packed = {}
        for path, count in ((small, SMALL), (large, given.graphs)):
            noted = path.with_suffix(".json")  # of an earlier start with the same --folder
            if not noted.exists():
                noted.write_text(json.dumps(part("write", path, count=count)))
            packed[path.stem] = json.loads(noted.read_text())
        figures = [Figure("packing: private memory, MB", packed["large"]["peak_mb"], at_most=2048)]
        trained: dict[str, Any] = {}
        for method in ("none", "ifmixup"):
            found = part("train", large, small=str(small), method=method)
            ratio = found["large"]["microseconds"] / found["small"]["microseconds"]
            figures.append(Figure(f"{method}: time per graph, large / small", ratio, at_most=1.2))
            own = [part("memory_of", p, method=method, batch_size=256) for p in (small, large)]
            grown = own[1]["private_mb"] - own[0]["private_mb"]
            figures.append(Figure(f"{method}: more private memory, MB", grown, at_most=150))
            trained[method] = {"epoch": found, "memory": own}
        wide = part("memory_of", large, method="ifmixup", batch_size=2560)
        cut = part("folds", large)
        shared = part("two_workers", large)
        figures.append(Figure("ten folds: MB", cut["mb"], at_most=100))
        disk = packed["large"]["disk_mb"]
        own = max(shared["workers_mb"]) / disk
        figures.append(Figure("a worker's private memory / the dataset", own, at_most=0.5))
        show(f"{given.graphs:,} graphs against {SMALL:,}", figures, Console())
        save(
            "million", made_by="make scale", graphs=given.graphs, packed=packed, trained=trained,
            folds=cut, larger_batch=wide, two_workers=shared, figures=figures,
        )  # fmt: skip


if __name__ == "__main__":
    main()
