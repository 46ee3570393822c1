"""500 short runs over three Ray nodes, one lost and one joined on the way: `make scale`.

The nodes are processes of this machine, each with one CPU. The table must be that of the local
engine, and what Ray adds at most 5 % of the work: the processor time of the driver by that of the
runs. Writes results/benchmark-ray.json.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from rich.console import Console

from ifmixup.data import load
from ifmixup.study.compare import plan
from ifmixup.study.comparison import Comparison
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
        self.times: list[float] = []

    def finished(self, record: Record) -> None:
        self.done += 1
        self.times.append(time.monotonic())
        if self.done == self.total // 3:
            self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
        if self.done == self.total // 2:
            self.nodes.append(self.cluster.add_node(num_cpus=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()
    import ray
    from ray.cluster_utils import Cluster

    data = pack(load("MUTAG"))
    splits = make_splits(data, folds=10, repeats=-(-given.runs // 20))
    study = plan(data, splits, ["gcn"], ["none", "ifmixup"], changes={"epochs": given.epochs})
    specs = study.specs()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    tables, seconds = {}, 0.0
    with tempfile.TemporaryDirectory() as folder:
        ray.init(address=cluster.address, log_to_driver=False)
        events = Events(cluster, len(specs))
        with Store(Path(folder) / "ray") as store:
            runner = Runner(store, RayEngine(), [(data, splits)], progress=False)
            tasks = runner.pending(specs)
            began, cpu = time.monotonic(), time.process_time()
            for record in runner.engine.execute(tasks, data, events):
                store.add(record)
            wall, driver = time.monotonic() - began, time.process_time() - cpu
            found = store.get(study.keys)
            tables["ray"] = Comparison(study, list(found.values())).table("csv")
            work = sum(r.result.seconds for r in found.values() if r.result is not None)
            failed = sum(r.result is None for r in found.values())
        ray.shutdown()
        cluster.shutdown()
        with Store(Path(folder) / "local") as store:
            began = time.monotonic()
            Runner(store, LocalEngine(2), [(data, splits)], progress=False).execute(specs)
            seconds = time.monotonic() - began
            found = store.get(study.keys)
            tables["local"] = Comparison(study, list(found.values())).table("csv")
    figures = [
        Figure("runs", len(specs), at_least=given.runs),
        Figure("runs that failed", failed, at_most=0),
        Figure("the table is that of the local engine", tables["ray"] == tables["local"], 1),
        Figure("the driver's processor time / the runs' time, %", 100 * driver / work, at_most=5),
    ]
    show("Three Ray nodes on this machine, one lost and one joined", figures, Console())
    save(
        "ray", figures=figures, runs=len(specs), wall_seconds=wall, local_wall_seconds=seconds,
        driver_cpu_seconds=driver, run_seconds=work, milliseconds_per_run=1e3 * driver / len(specs),
    )  # fmt: skip


if __name__ == "__main__":
    main()
