"""What the field's methods cost on NCI1, beside PyG's collate and the public code: `make bench`.

Three things are measured: one new graph, an epoch of the methods that work inside the model as a
ratio to an epoch of none, and the fit to the training graphs of a fold. One process, one thread,
and its processor time, because other processes must not count. The ways run in turn, and the median
counts. The public code is not run here: its cost is quoted, measured on one core of such a machine
beside a collate of 0.06 ms. Prints tables and writes results/benchmark-methods.json.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Batch

from epochs import Case, our_training, plain_graphs
from ifmixup.augment import Method, cache
from ifmixup.components import resolve
from ifmixup.errors import DatasetError
from ifmixup.graphs import select
from ifmixup.training.packed import PackedDataset, pack
from measure import Figure, PeakMemory, in_turn, save, show

DATASET, BATCH, REPEATS = "NCI1", 128, 9


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one new graph: at most so many here, and what the public code takes."""

    method: str
    at_most: float
    public: str = "–"
    least_public: float | None = None  # as a number, for the ratio
    options: tuple[tuple[str, float], ...] = ()


COSTS = (
    Cost("g_mixup", 0.06, "0.21", 0.21, (("add_ratio", 1.0),)),  # as many new graphs as old ones
    Cost("submix", 0.12, "0.66 (5.0 uncached)", 0.66),
    Cost("nodesam", 0.12, "0.81", 0.81),
    Cost("subgraph", 0.10),
    Cost("edge_perturbation", 0.10),
    Cost("s_mixup", 0.6, "6 to 31", 6.0),
)
# ifmixup for comparison: its mixed graphs are larger than those of none, as Manifold Mixup's are.
INSIDE = (("manifold_mixup", 1.3), ("graph_transplant", 3.0), ("ifmixup", None))
CASES = tuple(Case(DATASET, model, size, 1, 0) for model in ("gcn", "gin") for size in (BATCH, 32))


def fits(data: PackedDataset) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Each method, fitted to nine tenths of the graphs; the time and the memory of the fits."""
    train = torch.arange(len(data))[torch.arange(len(data)) % 10 != 0]
    methods, rows = {}, []
    for cost in COSTS:
        found = resolve("method", cost.method).with_options(**dict(cost.options))
        generator = torch.Generator().manual_seed(0)
        method = found.build(num_classes=data.num_classes, generator=generator)
        graphs = method._prepare(replace(select(data.graphs, train), index=train))
        if type(method).fit is not Method.fit:
            with PeakMemory() as memory:
                start = time.process_time()
                method.fit(graphs, seed=0)
                seconds = time.process_time() - start
            most = 60.0 if cost.method == "s_mixup" else None
            what = f"{cost.method}: the fit to {len(train)} graphs of {DATASET}, seconds"
            rows.append(
                {
                    "method": cost.method,
                    "seconds": seconds,
                    "megabytes": (memory.peak - memory.before) / 2**20,
                    "figures": [Figure(what, seconds, at_most=most)],
                }
            )
        methods[cost.method] = method, graphs
    return methods, rows


def new_graphs(methods: dict[str, Any]) -> tuple[dict[str, Any], Table]:
    """Milliseconds of one new graph of each method, drawn and changed in batches of 128."""
    listed = plain_graphs(DATASET)[:BATCH]
    ways: dict[str, Callable[[], object]] = {"collate": lambda: Batch.from_data_list(listed)}
    for name, (method, graphs) in methods.items():
        batch = select(graphs, torch.arange(BATCH))
        ways[name] = lambda m=method, b=batch: m.change(b, m.draw(b))  # type: ignore[misc]
    times = in_turn(ways, REPEATS, times=5, clock=time.process_time)
    each = {name: found.median / BATCH for name, found in times.items()}
    table = Table(title=f"Milliseconds of one new graph of {DATASET}, batches of {BATCH}")
    for column in ("method", "ours", "at most", "/ collate", "public code", "public / ours"):
        table.add_column(column, justify="left" if column == "method" else "right")
    table.add_row("PyG's collate", f"{each['collate']:.3f}", "", "1.0", "", "")
    rows = []
    for cost in COSTS:
        mine = each[cost.method]
        ratio = None if cost.least_public is None else cost.least_public / mine
        table.add_row(
            cost.method,
            f"{mine:.3f}",
            f"{cost.at_most:g}",
            f"{mine / each['collate']:.1f}",
            cost.public,
            "–" if ratio is None else f"{ratio:.0f}",
        )
        rows.append(
            {
                "method": cost.method,
                "ms": mine,
                "over_collate": mine / each["collate"],
                "public_ms": cost.public,
                "public_over_ours": ratio,
                "figures": [Figure(f"{cost.method}: ms per graph", mine, at_most=cost.at_most)],
            }
        )
    return {"milliseconds_per_batch": times, "collate_ms": each["collate"], "rows": rows}, table


def epochs(data: PackedDataset, case: Case) -> dict[str, Any]:
    """Milliseconds of an epoch of none and of the methods that work inside the model."""
    ways: dict[str, Callable[[], object]] = {
        method: our_training(data, case, method).run_epoch
        for method in ("none", *(name for name, _ in INSIDE))
    }
    times = in_turn(ways, clock=time.process_time)
    figures = [
        Figure(f"{case}: {name} / none", times[name].median / times["none"].median, at_most=most)
        for name, most in INSIDE
    ]
    return {"case": str(case), "milliseconds": times, "figures": figures}


def main() -> None:
    torch.set_num_threads(1)
    os.environ[cache.VARIABLE] = cache.OFF
    console = Console()
    try:
        data = pack(plain_graphs(DATASET), DATASET)
    except DatasetError as error:
        console.print(f"{DATASET} is left out: {str(error).splitlines()[0]}", highlight=False)
        return
    methods, fitted = fits(data)
    each, table = new_graphs(methods)
    inside = [epochs(data, case) for case in CASES]
    console.print(table)
    figures = [f for row in (*each["rows"], *inside, *fitted) for f in row["figures"]]
    show("The field's methods", figures, console)
    path = save("methods", new_graphs=each, epochs=inside, fits=fitted)
    console.print(f"Written to results/{path.name}")


if __name__ == "__main__":
    main()
