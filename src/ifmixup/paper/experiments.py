"""The paper's tables and figures that are made of runs. To add one is to add an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ifmixup.data import NAMES
from ifmixup.errors import unknown_name

METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
MOLECULES = ("PTC_MR", "NCI109", "NCI1", "MUTAG", "ENZYMES", "PROTEINS")
NCI = ("NCI109", "NCI1")
RATIOS = ((1.0, 1.0), (2.0, 2.0), (5.0, 1.0), (10.0, 1.0), (20.0, 1.0))
# Where ``suspects`` starts from, for both methods and all datasets.
_BY_HAND: Mapping[str, Any] = {
    "layers": 5,
    "hidden": 64,
    "batch_size": 32,
    "learning_rate": 0.0005,
    "dropout": 0.5,
    "readout": "sum",
    "norm": "batch",
    "jk": "last",
    "weight_decay": 0.0,
}
_RATIO: Mapping[str, Any] = {"alpha": 20.0, "beta": 1.0}


@dataclass(frozen=True)
class Variant:
    """A column of a table, or a bar of a figure.

    Attributes:
        name: What it is called in tables and in the published numbers.
        model: The model.
        method: The method.
        changes: Settings that are what this variant is about.
        against: The variant that it is compared with; None where there is none.
    """

    name: str
    model: str
    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    against: str | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or a figure.

    Attributes:
        name: What ``ifmixup reproduce`` calls it.
        title: What it is.
        datasets: Its rows, or the panels of a figure.
        variants: Its columns, or the bars of a panel.
        is_figure: Whether the paper draws it as bars, and prints no numbers.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    variants: tuple[Variant, ...]
    is_figure: bool = False


def _every_method(model: str) -> tuple[Variant, ...]:
    return tuple(
        Variant(method, model, method, against=None if method == "none" else "none")
        for method in METHODS
    )


def _shuffled(
    name: str, layers: int, every: int | None, against: str | None, **changes: Any
) -> Variant:
    changes |= {"layers": layers, "shuffle_every": every}
    return Variant(name, "gcn", "ifmixup", changes, against)


def _suspected(name: str, **changes: Any) -> tuple[Variant, ...]:
    """``none`` and ``ifmixup`` with the same settings, whatever is recommended for a dataset."""
    settings = {**_BY_HAND, **changes}
    return (
        Variant(f"none, {name}", "gcn", "none", settings),
        Variant(f"ifmixup, {name}", "gcn", "ifmixup", {**_RATIO, **settings}, f"none, {name}"),
    )


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("gcn", "GCN with every method", NAMES, _every_method("gcn")),
        Experiment(
            "gat",
            "GAT and GATv2 against ifMixup with GCN",
            NAMES,
            (
                Variant("gat", "gat", "none"),
                Variant("gatv2", "gatv2", "none", against="gat"),
                Variant("gcn ifmixup", "gcn", "ifmixup", against="gat"),
            ),
        ),
        Experiment("gin", "GIN with every method", NAMES, _every_method("gin")),
        Experiment(
            "beta",
            "The distribution of λ",
            MOLECULES,
            tuple(
                Variant(
                    f"{method}, Beta({alpha:g}, {beta:g})",
                    "gcn",
                    method,
                    {"alpha": alpha, "beta": beta},
                )
                for method in ("mixup_graph", "ifmixup")
                for alpha, beta in RATIOS
            ),
            is_figure=True,
        ),
        Experiment(
            "depth",
            "The number of layers",
            MOLECULES,
            tuple(
                Variant(
                    f"{method}, {layers} layers",
                    "gcn",
                    method,
                    {"layers": layers},
                    None if method == "none" else f"none, {layers} layers",
                )
                for method in ("none", "ifmixup", "mixup_graph")
                for layers in (3, 5, 8)
            ),
            is_figure=True,
        ),
        Experiment(
            "shuffling",
            "The node order of the partner, shuffled every so many epochs",
            NCI,
            (
                _shuffled("never", 8, None, None),
                _shuffled("every 60 epochs", 8, 60, "never"),
                _shuffled("every 30 epochs", 8, 30, "never"),
                _shuffled("every 10 epochs", 8, 10, "never"),
                _shuffled("every 1 epoch", 8, 1, "never"),
            ),
        ),
        Experiment(
            "shuffling-depth",
            "Shuffling in deeper networks",
            NCI,
            (
                _shuffled("8 layers, never", 8, None, None),
                _shuffled("8 layers, every 1 epoch", 8, 1, "8 layers, never"),
                _shuffled("16 layers, never", 16, None, None),
                _shuffled("16 layers, every 1 epoch", 16, 1, "16 layers, never"),
            ),
        ),
        Experiment(
            "pairing",
            "Who is mixed with whom",
            NCI,
            (
                _shuffled("random", 8, None, None),
                _shuffled("same size, no shuffling", 8, None, "random", pairing="same-size"),
                _shuffled("same size, shuffling", 8, 1, "random", pairing="same-size"),
                _shuffled("self-paired, shuffling", 8, 1, "random", pairing="self"),
            ),
        ),
        Experiment(
            "suspects",
            "What the gain of ifMixup could depend on (not in the paper)",
            ("MUTAG", "PTC_MR", "NCI1", "ENZYMES"),
            (
                *_suspected("settings by hand"),
                *_suspected("learning rate 0.01", learning_rate=0.01),
                *_suspected("batches of 128", batch_size=128),
                *_suspected("no dropout", dropout=0.0),
                *_suspected("mean readout", readout="mean"),
                *_suspected("mean readout, no dropout", readout="mean", dropout=0.0),
                *_suspected(
                    "mean readout, no dropout, hidden 128",
                    readout="mean",
                    dropout=0.0,
                    hidden=128,
                ),
                *_suspected("no batch norm", norm="none"),
                *_suspected("exact batch norm", norm="exact"),
                *_suspected(
                    "learning rate 0.01, exact batch norm", learning_rate=0.01, norm="exact"
                ),
                *_suspected("learning rate 0.01, no dropout", learning_rate=0.01, dropout=0.0),
                *_suspected(
                    "learning rate 0.01, no dropout, exact batch norm",
                    learning_rate=0.01,
                    dropout=0.0,
                    norm="exact",
                ),
                *_suspected("a head on every layer", jk="sum"),
                *_suspected("weight decay 0.01", weight_decay=0.01),
                *_suspected("hidden 128", hidden=128),
                *_suspected("50 steps an epoch", steps_per_epoch=50),
                *(
                    Variant(
                        f"ifmixup, {name}",
                        "gcn",
                        "ifmixup",
                        {**_RATIO, **_BY_HAND, **changes},
                        "none, settings by hand",
                    )
                    for name, changes in (
                        ("one λ a batch", {"ratio": "batch"}),
                        ("Beta(1, 1)", {"alpha": 1.0, "beta": 1.0}),
                        ("half of the graphs", {"p": 0.5}),
                        ("pairs of the same size", {"pairing": "same-size"}),
                    )
                ),
            ),
        ),
    )
}


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
