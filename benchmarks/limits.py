"""How near a step of training is to what this processor can do: `make bench`.

The kernels that a step needs are timed one by one on warm memory, at the sizes of a real batch:
matrix products, the sum over neighbours, batch norm and so on. Their sum is about the least that a
step could take without a compiler that fuses them. The rest of a step is dispatch, Python, and
memory that is not warm. Prints a table and writes results/benchmark-limits.json.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from epochs import CASES, HIDDEN, LAYERS, Case, our_training, plain_graphs
from ifmixup.graphs import select
from ifmixup.nn.aggregate import Neighbours, weighted_sum
from ifmixup.training.packed import pack
from measure import Time, in_turn, save, where_there_is_data


def kernels(case: Case, neighbours: Neighbours) -> dict[str, tuple[int, Callable[[], object]]]:
    """Each kernel of a step, how often it is needed, and a call of it on ``[N, 64]``."""
    h, grad = torch.randn(2, neighbours.num_nodes, HIDDEN)
    weight, scale = torch.randn(HIDDEN, HIDDEN), torch.ones(HIDDEN)
    edge_weight, self_weight = torch.rand(neighbours.num_edges), torch.rand(len(h), 1)
    mean, deviation = torch.zeros(HIDDEN), torch.ones(HIDDEN)
    dense = LAYERS * (1 if case.model == "gcn" else 2)  # linear layers, each with batch norm
    aten = torch.ops.aten

    def norm_backward() -> object:
        return aten.native_batch_norm_backward(
            grad, h, scale, None, None, mean, deviation, True, 1e-5, [True, True, True]
        )

    return {
        "matrix product, forward": (dense, lambda: h @ weight.t()),
        "matrix product, for the weights": (dense, lambda: grad.t() @ h),
        "matrix product, for the input": (dense - 1, lambda: grad @ weight),
        "sum over neighbours": (
            2 * LAYERS - 1,
            lambda: weighted_sum(h, neighbours, edge_weight, self_weight),
        ),
        "batch norm": (
            dense,
            lambda: torch.native_batch_norm(h, scale, scale, mean, deviation, True, 0.1, 1e-5),
        ),
        "batch norm, backward": (dense, norm_backward),
        "ReLU": (dense, h.relu),
        "ReLU, backward": (dense, lambda: aten.threshold_backward(grad, h, 0)),
        "skip connection": (2 * LAYERS if case.model == "gcn" else 0, lambda: h + grad),
    }


def limit(case: Case) -> dict[str, Any]:
    """The kernels of a step of ``case``, and the step."""
    data = pack(plain_graphs(case.dataset), case.dataset)
    training = our_training(data, case)
    batch = select(data.graphs, torch.arange(case.batch_size) * len(data) // case.batch_size)
    neighbours = Neighbours.mirrored(batch.edge_index, batch.num_nodes)
    steps = -(-len(data) // case.batch_size)
    with torch.inference_mode():
        parts = kernels(case, neighbours)
        alone = in_turn({name: call for name, (_, call) in parts.items()}, times=200)
    epoch = in_turn({"epoch": training.run_epoch}, times=case.epochs)["epoch"]
    step = Time(*(value / steps for value in (epoch.median, epoch.least, epoch.most)))
    least = sum(count * alone[name].median for name, (count, _) in parts.items())
    products = [name for name in parts if name.startswith("matrix")]
    multiply = sum(parts[name][0] * alone[name].median for name in products)
    operations = sum(parts[name][0] for name in products) * 2 * batch.num_nodes * HIDDEN**2
    return {
        "case": str(case),
        "nodes": batch.num_nodes,
        "edges": neighbours.num_edges,
        "kernels": {
            name: {"calls": count, "milliseconds": alone[name]}
            for name, (count, _) in parts.items()
        },
        "kernels_milliseconds": least,
        "matrix_milliseconds": multiply,
        "matrix_gigaflops": operations / multiply / 1e6,
        "step_milliseconds": step,
        "share_of_kernels": least / step.median,
    }


def main() -> None:
    torch.set_num_threads(1)
    console = Console()
    rows = where_there_is_data(CASES, limit, console)
    big = torch.randn(2048, 2048)
    peak = 2 * 2048**3 / in_turn({"product": lambda: big @ big})["product"].least / 1e6
    table = Table(title=f"A step against its kernels alone; this processor: {peak:.0f} GFLOP/s")
    for column in ("case", "matrix products", "GFLOP/s", "all kernels", "step", "kernels / step"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for row in rows:
        table.add_row(
            row["case"],
            f"{row['matrix_milliseconds']:.2f} ms",
            f"{row['matrix_gigaflops']:.0f}",
            f"{row['kernels_milliseconds']:.2f} ms",
            f"{row['step_milliseconds'].median:.2f} ms",
            f"{row['share_of_kernels']:.2f}",
        )
    console.print(table)
    console.print(f"Written to results/{save('limits', peak_gigaflops=peak, cases=rows).name}")


if __name__ == "__main__":
    main()
