"""How the cost of training grows, and how much memory it takes: `make bench`.

Graphs, batches and datasets of ten times the size should take about ten times as long. Peak
memory is measured in separate processes. Prints a table and writes results/benchmark-growth.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, to_undirected

from epochs import CASES, HIDDEN, LAYERS, LEARNING_RATE, Case, our_training, plain_graphs
from ifmixup.errors import DatasetError
from ifmixup.training.packed import pack
from measure import REPEATS, Figure, PeakMemory, in_turn, save, show
from peers import PyGModel, peer1

NODES, FEATURES = 30, 16


def random_graphs(count: int, num_nodes: int) -> list[Data]:
    """Undirected graphs with about two edges per node, as molecules have, and two classes."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for _ in range(count):
        edge_index = torch.randint(num_nodes, (2, num_nodes), generator=generator)
        edge_index = coalesce(to_undirected(edge_index, num_nodes=num_nodes))
        label = torch.randint(FEATURES, (num_nodes,), generator=generator)
        x = torch.eye(FEATURES)[label]
        y = torch.randint(2, (1,), generator=generator)
        graphs.append(Data(x=x, edge_index=edge_index, y=y))
    graphs[0].y, graphs[1].y = torch.tensor([0]), torch.tensor([1])
    return graphs


def growth(model: str, method: str) -> dict[str, Any]:
    """Milliseconds of a step or an epoch, and of one that is ten times as large."""
    base = Case("random", model, 32, 1, 0.0)
    large_batch = Case("random", model, 320, 1, 0.0)
    small, larger = random_graphs(320, NODES), random_graphs(320, 10 * NODES)
    more = [graph for graph in small for _ in range(10)]
    ways: dict[str, Callable[[], object]] = {
        "320 graphs of 30 nodes, batch 32": our_training(pack(small), base, method).run_epoch,
        "graphs of 300 nodes": our_training(pack(larger), base, method).run_epoch,
        "batch 320": our_training(pack(small), large_batch, method).run_epoch,
        "3,200 graphs": our_training(pack(more), base, method).run_epoch,
    }
    times = in_turn(ways)
    first = times["320 graphs of 30 nodes, batch 32"].median
    what = f"{model.upper()}, {method}"
    return {
        "case": what,
        "milliseconds": times,
        "figures": [
            Figure(
                f"{what}: graphs 10 times larger, time / 10 times the time",
                times["graphs of 300 nodes"].median / first / 10,
                at_most=1.2,
            ),
            # one step on 320 graphs against a tenth of ten steps on 32
            Figure(
                f"{what}: batch 10 times larger, time of a step / 10 times the time",
                times["batch 320"].median / first,
                at_most=1.2,
            ),
            Figure(
                f"{what}: dataset 10 times larger, time / 10 times the time",
                times["3,200 graphs"].median / first / 10,
                at_most=1.2,
            ),
        ],
    }


def peak_memory(number: int, way: str) -> dict[str, float]:
    """Megabytes: the peak of this process, which must be new, and how much training added."""
    case = CASES[number]
    graphs = plain_graphs(case.dataset)
    epoch: Callable[[], object]
    if way == "ours":
        epoch = our_training(pack(graphs, case.dataset), case).run_epoch
        del graphs
    else:
        model = PyGModel(case.model, graphs[0].x.size(1), HIDDEN, LAYERS, 2)
        epoch = peer1(model, graphs, case.batch_size, LEARNING_RATE, shuffle=True)
    with PeakMemory() as memory:
        for _ in range(2):
            epoch()
    return {"peak": memory.peak / 2**20, "added": (memory.peak - memory.before) / 2**20}


def memory(number: int) -> dict[str, Any]:
    """Peak memory of training, ours and peer 1's, each in a process of its own."""
    case = CASES[number]
    peaks: dict[str, list[dict[str, float]]] = {"ours": [], "peer 1": []}
    for _ in range(REPEATS):
        for way, found in peaks.items():
            command = [sys.executable, __file__, "--memory", str(number), way]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout))
    middle = {
        way: {key: statistics.median(one[key] for one in found) for key in ("peak", "added")}
        for way, found in peaks.items()
    }
    return {
        "case": str(case),
        "megabytes": middle,
        "figures": [
            Figure(
                f"{case}: peak memory / peer 1's",
                middle["ours"]["peak"] / middle["peer 1"]["peak"],
                at_most=1.0,
            ),
            Figure(
                f"{case}: memory that training adds / peer 1's",
                middle["ours"]["added"] / middle["peer 1"]["added"],
                at_most=1.0,
            ),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", nargs=2, help="case and way: print its peak memory as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.memory:
        number, way = arguments.memory
        print(json.dumps(peak_memory(int(number), way)))
        return

    console = Console()
    measured: dict[str, list[dict[str, Any]]] = {
        "growth": [
            growth(model, method) for model in ("gcn", "gin") for method in ("none", "ifmixup")
        ],
        "memory": [],
    }
    for number, case in enumerate(CASES):
        try:
            plain_graphs(case.dataset)
            measured["memory"].append(memory(number))
        except DatasetError as error:
            console.print(f"{case} is left out: {str(error).splitlines()[0]}", highlight=False)
    figures = [figure for rows in measured.values() for row in rows for figure in row["figures"]]
    show("Growth and memory", figures, console)
    console.print(f"Written to results/{save('growth', **measured).name}")


if __name__ == "__main__":
    main()
