"""500 short runs over three Ray nodes, one lost and one joined on the way: `make scale`.

The nodes are groups of processes on this machine, each with one CPU. The table must be that of the
local engine.

The work is the processor time of the runs alone: of `engine.perform`, which the local engine calls
too. The overhead is the processor time of everything else that the cluster's processes used from
before its start to the last stored run: the driver (sending, collecting, storing), the GCS, the
raylets and their helpers, and of the workers what is not a run: their start, their imports, their
waiting, and the run that was lost with its node. Processes are sampled with psutil twice a second,
so a process that is killed counts up to its last sample; sampling itself does not count.
Writes results/benchmark-ray.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # by default other work here goes before runs

import psutil
from rich.console import Console

from ifmixup.data import load
from ifmixup.study.compare import plan
from ifmixup.study.comparison import Comparison
from ifmixup.study.engines import ray as ray_engine
from ifmixup.study.engines.engine import Watcher
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.engines.ray import RayEngine
from ifmixup.study.record import Record
from ifmixup.study.run import Runner
from ifmixup.study.splits import make_splits
from ifmixup.study.store import Store
from ifmixup.training.packed import pack
from measure import Figure, save, show


class Events(Watcher):
    """Loses a node after a third of the runs, and adds one after half of them."""

    def __init__(self, cluster: Any, total: int) -> None:
        self.cluster, self.total, self.done = cluster, total, 0
        self.nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]

    def finished(self, record: Record) -> None:
        self.done += 1
        if self.done == self.total // 3:
            self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
        if self.done == self.total // 2:
            self.nodes.append(self.cluster.add_node(num_cpus=1))


class Sampler(threading.Thread):
    """The processor time of every process below this one, by its kind."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seconds: dict[int, tuple[str, float]] = {}
        self.own_seconds = 0.0  # of sampling, which is no part of what is measured
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.5):
            self.sample()
            self.own_seconds = time.thread_time()

    def sample(self) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                used = process.cpu_times()
                kind = self.seconds.get(process.pid, (_kind(process.cmdline()),))[0]
                if kind == "other":  # a process that is just being started has no name yet
                    kind = _kind(process.cmdline())
                self.seconds[process.pid] = kind, used.user + used.system
            except psutil.Error:
                continue

    def by_kind(self) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for kind, seconds in self.seconds.values():
            found[kind] += seconds
        return dict(found)


def _kind(command: list[str]) -> str:
    program, text = (command or [""])[0], " ".join(command)
    for kind, part in (("gcs", "gcs_server"), ("raylets", "raylet/raylet")):
        if program.endswith(part):
            return kind
    # A worker is started by this script, and calls itself by what it does; the options of a worker
    # name agents, and the helpers that a raylet starts are called agents.
    if "default_worker.py" in text:
        return "workers"
    if program.startswith("ray::"):
        return "helpers" if "Agent" in program else "workers"
    return "helpers" if "/ray/" in text else "other"


def timed(file: str) -> Any:
    """What a worker does for a run, and writes down how much of its time the run itself took."""

    def perform(message: Any, arrays: Any) -> Any:
        import json
        import time

        from ifmixup.study.engines.ray import _perform  # the first time, this imports torch

        began = time.process_time()
        answer = _perform(message, arrays)
        line = json.dumps(time.process_time() - began) + "\n"
        with open(file, "a") as stream:  # one short write: lines of several workers stay whole
            stream.write(line)
        return answer

    return perform


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where the runs of the local engine stay")
    parser.add_argument("--only-local", action="store_true", help="only these, into --folder")
    given = parser.parse_args()
    data = pack(load("MUTAG"))
    splits = make_splits(data, folds=10, repeats=-(-given.runs // 20))
    study = plan(data, splits, ["gcn"], ["none", "ifmixup"], changes={"epochs": given.epochs})
    specs, tables = study.specs(), {}
    with tempfile.TemporaryDirectory() as temporary:
        local = given.folder or Path(temporary)
        if not given.only_local:
            found, wall, seconds, runs = on_ray(Path(temporary), data, splits, study)
            tables["ray"] = Comparison(study, list(found.values())).table("csv")
        with Store(local / "local") as store:
            Runner(store, LocalEngine(2), [(data, splits)], progress=False).execute(specs)
            tables["local"] = Comparison(study, list(store.get(study.keys).values())).table("csv")
    if given.only_local:
        return
    work = sum(runs)
    seconds["workers, but for the runs"] = seconds.pop("workers") - work
    share = {name: 100 * value / work for name, value in sorted(seconds.items())}
    failed = sum(record.result is None for record in found.values())
    per_run = 1e3 * seconds["driver"] / len(specs)
    same = tables["ray"] == tables["local"]
    figures = [
        Figure("runs", len(specs), at_least=given.runs),
        Figure("runs that failed", failed, at_most=0),
        Figure("the table is that of the local engine", same, at_least=1),
        Figure("a run: processor seconds, median", statistics.median(runs)),
        *(Figure(f"{name}: processor time / that of the runs, %", share[name]) for name in share),
        Figure("overhead: all of these, %", sum(share.values()), at_most=5),
        Figure("the driver: processor milliseconds per run", per_run),
    ]
    show("Three Ray nodes on this machine, one lost and one joined", figures, Console())
    save(
        "ray", made_by="make scale", figures=figures, runs=len(specs), epochs=given.epochs,
        wall_seconds=wall, work_cpu_seconds=work, finished_in_workers=len(runs),
        overhead_cpu_seconds=seconds,
    )  # fmt: skip


def on_ray(
    folder: Path, data: Any, splits: Any, study: Any
) -> tuple[dict[str, Record], float, dict[str, float], list[float]]:
    """The records, the wall time, processor seconds by kind of process, and those of each run."""
    import ray
    from ray.cluster_utils import Cluster

    sampler, began, cpu = Sampler(), time.monotonic(), time.process_time()
    sampler.start()
    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, log_to_driver=False)
    specs, file = study.specs(), folder / "seconds.jsonl"
    events = Events(cluster, len(specs))
    ray_engine._perform, plain = timed(str(file)), ray_engine._perform
    with Store(folder / "ray") as store:
        runner = Runner(store, RayEngine(), [(data, splits)], progress=False)
        for record in runner.engine.execute(runner.pending(specs), data, events):
            store.add(record)
        wall = time.monotonic() - began
        sampler.sample()
        driver = time.process_time() - cpu - sampler.own_seconds
        found = store.get(study.keys)
    ray_engine._perform = plain
    sampler.done.set()
    sampler.join()
    ray.shutdown()
    cluster.shutdown()
    runs = [json.loads(line) for line in file.read_text().splitlines()]
    return found, wall, {**sampler.by_kind(), "driver": driver}, runs


if __name__ == "__main__":
    main()
