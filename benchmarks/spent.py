"""Where the time of a step goes, ours and peer 1's: `make bench`.

The parts of a step are timed inside the loop, over whole epochs in turn. Prints a table and writes
results/benchmark-spent.json.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.nn import functional as F
from torch_geometric.loader import DataLoader

from epochs import CASES, HIDDEN, LAYERS, LEARNING_RATE, Case, our_training, plain_graphs
from ifmixup.training.packed import pack
from measure import REPEATS, Time, save, where_there_is_data
from peers import PyGModel

PARTS = ("prepare", "forward", "loss", "backward", "optimiser")


class Clock:
    """Adds up the time between calls under the name of what was done in between."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.last = time.perf_counter()

    def __call__(self, part: str) -> None:
        now = time.perf_counter()
        self.seconds[part] += now - self.last
        self.last = now


def our_steps(case: Case) -> Callable[[Clock], None]:
    """Our loop in parts; :meth:`ifmixup.training.trainer.Trainer.run_epoch` is the whole."""
    training = our_training(pack(plain_graphs(case.dataset), case.dataset), case)
    model: Any = training.model.train()
    optimizer: Any = training.optimizer
    optimizer.param_groups[0]["lr"] = LEARNING_RATE

    def epoch(clock: Clock) -> None:
        optimizer.prepare()
        for graphs in training._training_batches():
            inputs = training.training_model.inputs(graphs)
            clock("prepare")
            h = model.embed(**inputs)
            clock("forward")
            loss = F.cross_entropy(model.classify(h), graphs.graphs["y"])
            clock("loss")
            optimizer.zero_grad()
            clock("optimiser")
            loss.backward()
            clock("backward")
            optimizer.step()
            clock("optimiser")

    return epoch


def their_steps(case: Case) -> Callable[[Clock], None]:
    """The loop of peer 1 in parts."""
    graphs = plain_graphs(case.dataset)
    model = PyGModel(case.model, graphs[0].x.size(1), HIDDEN, LAYERS, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    loader = DataLoader(graphs, case.batch_size, shuffle=True)

    def epoch(clock: Clock) -> None:
        for batch in loader:
            clock("prepare")
            h = model.embed(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            clock("forward")
            loss = F.cross_entropy(model.head(h), batch.y)
            clock("loss")
            optimizer.zero_grad()
            clock("optimiser")
            loss.backward()
            clock("backward")
            optimizer.step()
            clock("optimiser")

    return epoch


def spent(case: Case) -> dict[str, Any]:
    """Milliseconds of each part of a step: the median over repeats."""
    ways = {"peer 1": their_steps(case), "ours": our_steps(case)}
    steps = case.epochs * -(-len(plain_graphs(case.dataset)) // case.batch_size)
    times: dict[str, dict[str, list[float]]] = {way: {part: [] for part in PARTS} for way in ways}
    for repeat in range(1 + REPEATS):
        for way, epoch in ways.items():
            clock = Clock()
            for _ in range(case.epochs):
                epoch(clock)
            if repeat > 0:
                for part in PARTS:
                    times[way][part].append(1e3 * clock.seconds[part] / steps)
    return {
        "case": str(case),
        "milliseconds": {
            way: {part: Time.of(values) for part, values in parts.items()}
            for way, parts in times.items()
        },
    }


def main() -> None:
    torch.set_num_threads(1)
    console = Console()
    rows = where_there_is_data(CASES, spent, console)
    table = Table(title="Milliseconds of a step")
    for column in ("case", "way", *PARTS, "all"):
        table.add_column(column, justify="left" if column in ("case", "way") else "right")
    for row in rows:
        for way, parts in row["milliseconds"].items():
            values = [parts[part].median for part in PARTS]
            cells = [f"{value:.2f}" for value in (*values, sum(values))]
            table.add_row(row["case"], way, *cells)
    console.print(table)
    console.print(f"Written to results/{save('spent', cases=rows).name}")


if __name__ == "__main__":
    main()
