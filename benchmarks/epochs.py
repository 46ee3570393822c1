"""An epoch of training against the loops that a PyG user would write: `make bench`.

One process, one thread. The ways run in turn; the median of five repeats counts. Before anything
is timed, every way is seen to have the same losses in its first steps from the same weights.
Prints a table and writes results/benchmark-epochs.json and its plot.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from epochs_plot import draw
from ifmixup import IfMixup, augment
from ifmixup.data import load
from ifmixup.errors import DatasetError
from ifmixup.training import PackedDataset, Settings, Trainer, pack
from ifmixup.training.trainer import model_inputs
from measure import RESULTS, Figure, in_turn, save, show
from peers import Epoch, PyGModel, peer1, peer2

HIDDEN, LAYERS, LEARNING_RATE = 64, 5, 0.001
EDGES = ("csr", "EdgeIndex", "edge_index")


@dataclass(frozen=True)
class Case:
    """What is trained, and how many times faster than peer 1 it is to be."""

    dataset: str
    model: str
    batch_size: int
    epochs: int  # in one repeat, so that it takes long enough to be timed
    reach: float

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model.upper()} {LAYERS} x {HIDDEN}, batch {self.batch_size}"


CASES = (
    Case("NCI1", "gcn", 128, 1, 2.5),
    Case("MUTAG", "gcn", 32, 10, 3.5),
    Case("NCI1", "gin", 128, 1, 2.5),
    Case("MUTAG", "gin", 32, 10, 2.5),
)


def plain_graphs(name: str) -> list[Data]:
    return [Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in load(name)]


def our_training(
    data: PackedDataset, case: Case, method: str = "none", *, dropout: float = 0.5
) -> Trainer:
    settings = Settings(
        model=case.model,
        method=method,
        batch_size=case.batch_size,
        hidden=HIDDEN,
        layers=LAYERS,
        learning_rate=LEARNING_RATE,
        dropout=dropout,
    )
    return Trainer(settings, data, train=torch.arange(len(data)))


def their_epochs(
    ours: Trainer, case: Case, graphs: list[Data], *, shuffle: bool, dropout: float = 0.5
) -> dict[str, Epoch]:
    """Peer 1, and peer 2 with each kind of edges, from our weights."""

    def model(*, normalize: bool = True) -> PyGModel:
        data = ours.data
        theirs = PyGModel(
            case.model,
            data.num_features,
            HIDDEN,
            LAYERS,
            data.num_outputs,
            dropout=dropout,
            normalize=normalize,
        )
        theirs.take_weights(ours.model)
        return theirs

    ways = {"peer 1": peer1(model(), graphs, case.batch_size, LEARNING_RATE, shuffle=shuffle)}
    for edges in EDGES:
        ways[f"peer 2, {edges}"] = peer2(
            model(normalize=edges != "csr"),  # which comes normalised
            graphs,
            case.batch_size,
            LEARNING_RATE,
            shuffle=shuffle,
            edges=edges,
        )
    return ways


def check_losses(case: Case, graphs: list[Data]) -> float:
    """Three steps on one batch, from the same weights: the largest difference of the losses.

    Without dropout, which everyone draws in an order of its own, and in double precision: in single
    precision the order of additions alone changes gradients of GIN by one part in a thousand.
    """
    torch.set_default_dtype(torch.double)
    index = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    index = index[: case.batch_size]
    batch = [Data(**{**graphs[i].to_dict(), "x": graphs[i].x.double()}) for i in index.tolist()]
    ours = our_training(pack(batch, case.dataset), case, dropout=0.0)
    ways = their_epochs(ours, case, batch, shuffle=False, dropout=0.0)
    for _ in range(3):
        ours.run_epoch()
    largest = 0.0
    for name, epoch in ways.items():
        losses = [loss for _ in range(3) for loss in epoch()]
        pairs = zip(losses, ours.curves["train_loss"], strict=True)
        largest = max(largest, *(abs(theirs - mine) for theirs, mine in pairs))
        if largest > 1e-4:
            raise AssertionError(f"{case}, {name}: losses {losses}, ours {ours.curves}")
    torch.set_default_dtype(torch.float)
    return largest


def epochs(case: Case) -> dict[str, Any]:
    """Milliseconds of an epoch: ours and each peer's."""
    graphs = plain_graphs(case.dataset)
    data = pack(graphs, case.dataset)
    difference = check_losses(case, graphs)
    ours = our_training(data, case)
    ways: dict[str, Callable[[], object]] = {"ours": ours.run_epoch}
    ways |= their_epochs(ours, case, graphs, shuffle=True)
    times = in_turn(ways, times=case.epochs)
    fastest = min((f"peer 2, {edges}" for edges in EDGES), key=lambda way: times[way].median)
    return {
        "case": str(case),
        "steps": -(-len(graphs) // case.batch_size),
        "loss_difference": difference,
        "milliseconds": times,
        "fastest_peer_2": fastest,
        "figures": [
            Figure(
                f"{case}: peer 1 / ours",
                times["peer 1"].median / times["ours"].median,
                at_least=case.reach,
            ),
            Figure(
                f"{case}: {fastest} / ours",
                times[fastest].median / times["ours"].median,
                at_least=1.3,
            ),
        ],
    }


def mixed_once(graphs: list[Data], num_classes: int) -> list[Data]:
    """As many graphs of the mixed size: each mixed with another one, once and for all."""
    mixed = IfMixup(num_classes)(Batch.from_data_list(graphs)).to_data_list()
    for graph in mixed:
        graph.y = graph.y.argmax(1)
    return mixed


def methods(case: Case) -> dict[str, Any]:
    """Milliseconds of our epoch with each method, and with none on graphs of the mixed size."""
    graphs = plain_graphs(case.dataset)
    data = pack(graphs, case.dataset)
    mixed = pack(mixed_once(graphs, data.num_outputs), "mixed")
    ways: dict[str, Callable[[], object]] = {
        method: our_training(data, case, method).run_epoch for method in augment.names()
    }
    ways["none, mixed graphs"] = our_training(mixed, case).run_epoch
    times = in_turn(ways, times=case.epochs)
    figures = []
    for method in augment.names():
        base = "none, mixed graphs" if method == "ifmixup" else "none"
        if method != "none":
            ratio = times[method].median / times[base].median
            figures.append(Figure(f"{case}: {method} / {base}", ratio, at_most=1.15))
    return {"case": str(case), "milliseconds": times, "figures": figures}


def preparing() -> dict[str, Any]:
    """A mixed batch of 128 graphs of NCI1, everything included, and one that PyG collates."""
    graphs = plain_graphs("NCI1")
    training = our_training(pack(graphs, "NCI1"), CASES[0], "ifmixup")
    loader = iter(())

    def ours() -> None:
        index = torch.randperm(len(graphs))[:128]
        (graphs_128,) = training.method.take(training.graphs, [index])
        model_inputs(graphs_128, training.mirrored)

    def theirs() -> None:
        nonlocal loader
        batch = next(loader, None)
        if batch is None or batch.num_graphs < 128:  # a new epoch
            loader = iter(DataLoader(graphs, 128, shuffle=True))
            next(loader)

    times = in_turn({"ours": ours, "DataLoader": theirs}, times=30)
    ratio = times["ours"].median / times["DataLoader"].median
    figure = Figure("a mixed batch of 128 NCI1 graphs / DataLoader unmixed", ratio, at_most=1.0)
    return {"milliseconds": times, "figures": [figure]}


def main() -> None:
    torch.set_num_threads(1)
    console = Console()
    measured: dict[str, list[dict[str, Any]]] = {"epochs": [], "methods": [], "preparing": []}
    for case in CASES:
        try:
            measured["epochs"].append(epochs(case))
            measured["methods"].append(methods(case))
        except DatasetError as error:
            console.print(f"{case} is left out: {str(error).splitlines()[0]}", highlight=False)
    with contextlib.suppress(DatasetError):  # said above
        measured["preparing"].append(preparing())
    figures = [figure for rows in measured.values() for row in rows for figure in row["figures"]]
    show("An epoch of training, as a ratio of times", figures, console)
    path = save("epochs", **measured)
    draw(measured["epochs"], RESULTS / "benchmark-epochs.png")
    console.print(f"Written to results/{path.name} and results/benchmark-epochs.png")


if __name__ == "__main__":
    main()
