"""Ten folds of MUTAG at full length on two cores, against peer 1 in two processes: `make bench`.

Both train 350 epochs per fold and evaluate the test fold after each; starting the processes counts.
Prints a table and writes results/benchmark-folds.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any

import torch
from rich.console import Console
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from epochs import HIDDEN, LAYERS, LEARNING_RATE, our_model, plain_graphs
from ifmixup.components import resolve
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.splits import Splits, make_splits
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.settings import Settings
from measure import Figure, Time, save, show
from peers import PyGModel, peer1
from study import tasks_of

FOLDS, EPOCHS, BATCH, PROCESSES, REPEATS = 10, 350, 32, 2, 3


def dataset() -> tuple[list[Data], PackedDataset, Splits]:
    graphs = plain_graphs("MUTAG")
    data = pack(graphs, "MUTAG")
    return graphs, data, make_splits(data, folds=FOLDS, repeats=1)


def train_peer(part: int) -> None:
    """Every second fold, the way a PyG user trains."""
    torch.set_num_threads(1)
    graphs, data, splits = dataset()
    for number in range(part, FOLDS, PROCESSES):
        fold = splits.fold(0, number).without_validation
        train = [graphs[i] for i in fold.train]
        test = DataLoader([graphs[i] for i in fold.test], 256)
        model = PyGModel("gcn", data.num_features, HIDDEN, LAYERS, data.num_outputs)
        epoch = peer1(model, train, BATCH, LEARNING_RATE, shuffle=True)
        right = []
        for _ in range(EPOCHS):
            epoch()
            model.eval()
            with torch.inference_mode():
                for batch in test:
                    out = model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
                    right.append(int((out.argmax(1) == batch.y).sum()))


def peers() -> None:
    commands = [[sys.executable, __file__, "--part", str(part)] for part in range(PROCESSES)]
    processes = [subprocess.Popen(command) for command in commands]
    if any(process.wait() != 0 for process in processes):
        raise RuntimeError("A process of peer 1 failed.")


def ours() -> None:
    _, data, splits = dataset()
    settings = Settings(epochs=EPOCHS, batch_size=BATCH, learning_rate=LEARNING_RATE)
    model, method = our_model("gcn"), resolve("method", "none")
    tasks = tasks_of(data, splits, settings, model, method, protocol="paper")
    done = list(LocalEngine(PROCESSES).execute(tasks, data))
    if len(done) != FOLDS or any(outcome.error for outcome in done):
        raise RuntimeError("A run failed.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, help="train one process's folds as peer 1")
    arguments = parser.parse_args()
    if arguments.part is not None:
        train_peer(arguments.part)
        return

    console = Console()
    measured: dict[str, list[float]] = {"ours": [], "peer 1": []}
    for _ in range(REPEATS):
        for name, way in (("ours", ours), ("peer 1", peers)):
            start = time.perf_counter()
            way()
            measured[name].append(1e3 * (time.perf_counter() - start))
    times: dict[str, Any] = {name: Time.of(values) for name, values in measured.items()}
    ratio = times["peer 1"].median / times["ours"].median
    what = f"{FOLDS} folds of MUTAG, {EPOCHS} epochs, batch {BATCH}, GCN, two processes"
    figures = [Figure(f"{what}: peer 1 / ours", ratio, at_least=3.5)]
    show("A cross-validation", figures, console)
    path = save("folds", milliseconds=times, repeats=REPEATS, figures=figures)
    console.print(f"Written to results/{path.name}")


if __name__ == "__main__":
    main()
