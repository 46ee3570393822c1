"""An epoch of training against the loops that a PyG user would write: `make bench`.

Four things are measured: our models against PyG's, a user's own model in our loop against PyG's
plain loop, simple methods against none, and ifmixup with node weights against without. One process,
one thread. The ways run in turn, and the median of five repeats counts. Before anything is timed,
every way is checked to have the same losses in its first steps from the same weights. Prints a
table and writes results/benchmark-epochs.json and its plot.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from epochs_plot import draw
from ifmixup import IfMixup
from ifmixup.components import Component, resolve
from ifmixup.data import load
from ifmixup.errors import DatasetError
from ifmixup.training.packed import PackedDataset, pack
from ifmixup.training.settings import Settings
from ifmixup.training.trainer import Trainer
from measure import RESULTS, Figure, in_turn, save, show, where_there_is_data
from peers import Epoch, PyGModel, UserGIN, peer1, peer2, plain_loop

HIDDEN, LAYERS, LEARNING_RATE = 64, 5, 0.001
EDGES = ("csr", "EdgeIndex", "edge_index")
# Those that should cost nearly nothing; benchmarks/methods.py has the others.
METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")


@dataclass(frozen=True)
class Case:
    """What is trained, and how many times as fast as peer 1 it should be."""

    dataset: str
    model: str
    batch_size: int
    epochs: int  # in one repeat, which must take long enough to be timed
    reach: float

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model.upper()} {LAYERS} x {HIDDEN}, batch {self.batch_size}"


CASES = (
    Case("NCI1", "gcn", 128, 1, 2.5),
    Case("MUTAG", "gcn", 32, 10, 3.5),
    Case("NCI1", "gin", 128, 1, 2.5),
    Case("MUTAG", "gin", 32, 10, 2.5),
)

USER_CASES = (Case("NCI1", "gin", 128, 1, 1.0), Case("MUTAG", "gin", 32, 20, 1.0))


def plain_graphs(name: str) -> list[Data]:
    return [Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in load(name)]


def our_model(name: str, *, dropout: float = 0.5) -> Component:
    options = {"hidden_channels": HIDDEN, "num_layers": LAYERS, "dropout": dropout}
    return resolve("model", name).with_options(readout="sum", jk="last", **options)


def our_training(
    data: PackedDataset,
    case: Case,
    method: str = "none",
    *,
    model: Component | None = None,
    dropout: float = 0.5,
    **options: Any,
) -> Trainer:
    """Our training of all graphs, with our model unless another one is given."""
    settings = Settings(batch_size=case.batch_size, learning_rate=LEARNING_RATE)
    return Trainer(
        settings,
        (model or our_model(case.model, dropout=dropout)).spec,
        resolve("method", method).with_options(**options).spec,
        data,
        train=torch.arange(len(data)),
    )


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
            model(normalize=edges != "csr"),  # which is normalised beforehand
            graphs,
            case.batch_size,
            LEARNING_RATE,
            shuffle=shuffle,
            edges=edges,
        )
    return ways


@contextlib.contextmanager
def one_batch(case: Case, graphs: list[Data]) -> Iterator[list[Data]]:
    """The graphs of a single batch, in double precision.

    In single precision the order of additions alone changes gradients of GIN by one part in a
    thousand.
    """
    index = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    index = index[: case.batch_size]
    torch.set_default_dtype(torch.double)
    try:
        yield [Data(**{**graphs[i].to_dict(), "x": graphs[i].x.double()}) for i in index.tolist()]
    finally:
        torch.set_default_dtype(torch.float)


def loss_difference(ours: Trainer, ways: dict[str, Epoch]) -> float:
    """The largest difference of the losses of three epochs, from the same weights."""
    for _ in range(3):
        ours.run_epoch()
    largest = 0.0
    for name, epoch in ways.items():
        losses = [loss for _ in range(3) for loss in epoch()]
        pairs = zip(losses, ours.curves["train_loss"], strict=True)
        largest = max(largest, *(abs(theirs - mine) for theirs, mine in pairs))
        if largest > 1e-4:
            raise AssertionError(f"{name}: losses {losses}, ours {ours.curves}")
    return largest


def check_losses(case: Case, graphs: list[Data]) -> float:
    """Three steps on one batch: the largest difference of the losses.

    Without dropout, because every way draws it in another order.
    """
    with one_batch(case, graphs) as batch:
        ours = our_training(pack(batch, case.dataset), case, dropout=0.0)
        return loss_difference(ours, their_epochs(ours, case, batch, shuffle=False, dropout=0.0))


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


def user_model(case: Case) -> dict[str, Any]:
    """Milliseconds of an epoch of a user's two-layer GIN: in our loop and in PyG's plain one."""
    graphs = plain_graphs(case.dataset)
    model = resolve("model", UserGIN)

    def plain(ours: Trainer, graphs: list[Data], *, shuffle: bool) -> Epoch:
        theirs = UserGIN(ours.data.num_features, ours.data.num_outputs)
        theirs.load_state_dict(ours.model.state_dict())
        return plain_loop(theirs, graphs, case.batch_size, LEARNING_RATE, shuffle=shuffle)

    with one_batch(case, graphs) as batch:
        ours = our_training(pack(batch, case.dataset), case, model=model)
        difference = loss_difference(ours, {"plain loop": plain(ours, batch, shuffle=False)})
    ours = our_training(pack(graphs, case.dataset), case, model=model)
    times = in_turn(
        {"ours": ours.run_epoch, "plain loop": plain(ours, graphs, shuffle=True)},
        times=case.epochs,
    )
    what = f"{case.dataset}, batch {case.batch_size}"
    ratio = times["plain loop"].median / times["ours"].median
    figure = Figure(
        f"{what}: PyG's plain loop / ours, a user's two-layer GIN", ratio, at_least=case.reach
    )
    return {
        "case": what,
        "loss_difference": difference,
        "milliseconds": times,
        "figures": [figure],
    }


def mixed_once(graphs: list[Data], num_classes: int) -> list[Data]:
    """As many graphs of the mixed size: each is mixed once, with another one."""
    mixed = IfMixup(num_classes)(Batch.from_data_list(graphs)).to_data_list()
    for graph in mixed:
        graph.y = graph.y.argmax(1)
    return mixed


def methods(case: Case) -> dict[str, Any]:
    """Milliseconds of our epoch with each method, and of what it is compared with.

    An epoch of ifmixup is compared with one of none on graphs of the mixed size, and one with node
    weights with one without.
    """
    graphs = plain_graphs(case.dataset)
    data = pack(graphs, case.dataset)
    mixed = pack(mixed_once(graphs, data.num_outputs), "mixed")
    ways: dict[str, Callable[[], object]] = {
        method: our_training(data, case, method).run_epoch for method in METHODS
    }
    ways["none, mixed graphs"] = our_training(mixed, case).run_epoch
    unweighted = our_training(data, case, "ifmixup", node_weight=False)
    ways["ifmixup without node weights"] = unweighted.run_epoch
    times = in_turn(ways, times=case.epochs)
    ratio = times["ifmixup"].median / times["ifmixup without node weights"].median
    figures = [Figure(f"{case}: ifmixup with node weights / without", ratio, at_most=1.15)]
    for method in METHODS:
        base = "none, mixed graphs" if method == "ifmixup" else "none"
        if method != "none":
            ratio = times[method].median / times[base].median
            figures.append(Figure(f"{case}: {method} / {base}", ratio, at_most=1.15))
    return {"case": str(case), "milliseconds": times, "figures": figures}


def preparing() -> dict[str, Any]:
    """A mixed batch of 128 graphs of NCI1, ready for the model, and one that PyG collates."""
    graphs = plain_graphs("NCI1")
    training = our_training(pack(graphs, "NCI1"), CASES[0], "ifmixup")
    loader = iter(())

    def ours() -> None:
        index = torch.randperm(len(graphs))[:128]
        assert training.graphs is not None
        (graphs_128,) = training.method.take(training.graphs, [index])
        training.training_model.inputs(graphs_128)

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
    measured: dict[str, list[dict[str, Any]]] = {
        "epochs": where_there_is_data(CASES, epochs, console),
        "user_model": where_there_is_data(USER_CASES, user_model, console),
        "methods": where_there_is_data(CASES, methods, console),
        "preparing": [],
    }
    with contextlib.suppress(DatasetError):  # printed above
        measured["preparing"].append(preparing())
    figures = [figure for rows in measured.values() for row in rows for figure in row["figures"]]
    show("An epoch of training, as a ratio of times", figures, console)
    path = save("epochs", **measured)
    draw(measured["epochs"], RESULTS / "benchmark-epochs.png")
    console.print(f"Written to results/{path.name} and results/benchmark-epochs.png")


if __name__ == "__main__":
    main()
