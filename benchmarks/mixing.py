"""Speed of mixing against what a user would do instead: `make bench`.

One process, one thread. The ways run in turn, because a busy moment then hits all of them, and the
median of the repeats counts. Before anything is timed, all ways are checked to give the same
graphs. Prints a table and writes results/benchmark-mixing.json.

The ratio of the loop by hand to IfMixup is not a constant. It depends on

- the batch size: the loop takes a fixed time per pair, IfMixup mostly one per batch, so the ratio
  grows with the batch;
- the sizes of the graphs: the loop builds matrices of nodes by nodes, IfMixup only edges;
- the machine: the loop spends its time in Python and in many small calls, IfMixup in few large
  ones;
- how the loop is written: ours pads densely (``to_dense_adj``), goes back to edges
  (``dense_to_sparse``) and collates the result. A loop that works on edge lists, or does not
  collate, is faster.

So quote the ratio with the batch size, the dataset and the loop.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import torch
from rich.console import Console
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import coalesce, dense_to_sparse, to_dense_adj

from ifmixup import IfMixup, mix
from ifmixup.data import load
from measure import Figure, PeakMemory, in_turn, save, show, where_there_is_data

DATASETS = ("MUTAG", "NCI1", "PROTEINS", "IMDB-BINARY")
BATCH, REPEATS = 128, 11
SMALL, LARGE = 100_000, 1_000_000  # nodes; five times as many edges


def mix_by_hand(batch: list[Data], partner: Tensor, lam: Tensor, num_classes: int) -> Batch:
    """The loop that a user writes: a dense λA + (1 − λ)B per pair, made sparse again."""
    mixed = []
    for a, index, ratio in zip(batch, partner.tolist(), lam.tolist(), strict=True):
        b = batch[index]
        n = max(a.num_nodes, b.num_nodes)
        x = torch.zeros(n, a.x.size(1))
        x[: a.num_nodes] += ratio * a.x
        x[: b.num_nodes] += (1 - ratio) * b.x
        edges = ratio * to_dense_adj(a.edge_index, max_num_nodes=n)[0]
        edges += (1 - ratio) * to_dense_adj(b.edge_index, max_num_nodes=n)[0]
        edge_index, edge_weight = dense_to_sparse(edges)
        y = torch.zeros(1, num_classes)
        y[0, a.y] += ratio
        y[0, b.y] += 1 - ratio
        mixed.append(Data(x=x, edge_index=edge_index, edge_weight=edge_weight, y=y))
    return Batch.from_data_list(mixed)


def batch_row(name: str) -> dict[str, Any]:
    """A batch of 128 graphs: IfMixup, the loop by hand, and PyG's DataLoader without any mixing."""
    dataset = load(name)
    graphs = [Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in dataset[:BATCH]]
    mixup = IfMixup(dataset.num_classes, coalesce=False)
    batch = Batch.from_data_list(graphs)

    plan = mixup.plan(batch)
    ours = mixup.augment(batch, plan)
    theirs = mix_by_hand(graphs, plan.partner, plan.lam, dataset.num_classes)
    edge_index, weight = coalesce(ours.edge_index, ours.edge_weight)
    torch.testing.assert_close(ours.x, theirs.x)
    torch.testing.assert_close(ours.y, theirs.y)
    torch.testing.assert_close((edge_index, weight), (theirs.edge_index, theirs.edge_weight))

    def by_hand() -> Batch:
        lam = torch.distributions.Beta(20.0, 1.0).sample((len(graphs),))
        return mix_by_hand(graphs, torch.randperm(len(graphs)), lam, dataset.num_classes)

    loader = DataLoader(graphs, batch_size=BATCH)
    times = in_turn(
        {"ifmixup": lambda: mixup(batch), "by_hand": by_hand, "loader": lambda: next(iter(loader))},
        REPEATS,
        times=3,
    )
    return {
        "dataset": name,
        "graphs": len(graphs),
        "milliseconds": times,
        "figures": [
            Figure(
                f"{name}, batch of {len(graphs)}: the loop by hand / IfMixup",
                times["by_hand"].median / times["ifmixup"].median,
                at_least=30.0,
            ),
            Figure(
                f"{name}, batch of {len(graphs)}: DataLoader without mixing / IfMixup",
                times["loader"].median / times["ifmixup"].median,
                at_least=1.0,
            ),
        ],
    }


def random_graph(num_nodes: int, seed: int) -> Data:
    """A random directed graph with 5 edges per node, sorted as PyG's datasets are."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(num_nodes, (2, 5 * num_nodes), generator=generator)
    x = torch.rand(num_nodes, 16, generator=generator)
    return Data(x=x, edge_index=coalesce(edge_index, num_nodes=num_nodes), y=torch.tensor([seed]))


def mix_large(num_nodes: int) -> dict[str, float]:
    """Seconds and peak memory of one mix of two random graphs."""
    a, b = random_graph(num_nodes, 0), random_graph(num_nodes, 1)
    size = sum(value.nbytes for graph in (a, b) for value in (graph.x, graph.edge_index))
    with PeakMemory() as memory:
        start = time.perf_counter()
        mix(a, b, 0.7, num_classes=2)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "peak_over_inputs": (memory.peak - memory.before + size) / size,
    }


# Tells glibc to keep memory that was freed instead of returning it to the kernel.
KEEP_MEMORY = "glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=8589934592"


def growth(keep_memory: bool) -> dict[str, Any]:
    """How time and memory grow with the size of two graphs; each mix runs in its own process.

    The kernel hands out new memory page by page, zeroed, which costs more than the arithmetic.
    Small tensors reuse memory, large ones do not unless the allocator is told to keep it.
    ``keep_memory`` therefore measures how the work itself grows.
    """
    environment = {**os.environ, **({"GLIBC_TUNABLES": KEEP_MEMORY} if keep_memory else {})}
    runs: dict[int, list[dict[str, float]]] = {SMALL: [], LARGE: []}
    for _ in range(7):
        for size, results in runs.items():
            command = [sys.executable, __file__, "--large", str(size)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            results.append(json.loads(done.stdout))
    seconds = {
        size: statistics.median(run["seconds"] for run in results) for size, results in runs.items()
    }
    how = "freed memory kept" if keep_memory else "as it is"
    what = f"two random graphs of {LARGE:,} nodes and {5 * LARGE:,} edges, {how}"
    return {
        "keep_memory": keep_memory,
        "nodes": [SMALL, LARGE],
        "seconds": list(seconds.values()),
        "all_seconds": [[run["seconds"] for run in results] for results in runs.values()],
        "figures": [
            Figure(
                f"{what}: time / that of a tenth", seconds[LARGE] / seconds[SMALL], at_most=12.0
            ),
            Figure(
                f"{what}: peak memory / inputs",
                max(run["peak_over_inputs"] for run in runs[LARGE]),
                at_most=6.0,
            ),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", type=int, help="mix two graphs of so many nodes, print JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.large:
        print(json.dumps(mix_large(arguments.large)))
        return

    console = Console()
    rows = where_there_is_data(DATASETS, batch_row, console)
    growths = [growth(keep_memory) for keep_memory in (False, True)]
    figures = [figure for row in (*rows, *growths) for figure in row["figures"]]
    show("Mixing", figures, console)
    console.print(f"Written to results/{save('mixing', batches=rows, large_graphs=growths).name}")


if __name__ == "__main__":
    main()
