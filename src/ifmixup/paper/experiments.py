"""The paper's tables and figures that are made of runs. To add one is to add an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ifmixup.data import NAMES
from ifmixup.errors import choose

METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
MOLECULES = ("PTC_MR", "NCI109", "NCI1", "MUTAG", "ENZYMES", "PROTEINS")
NCI = ("NCI109", "NCI1")
RATIOS = ((1.0, 1.0), (2.0, 2.0), (5.0, 1.0), (10.0, 1.0), (20.0, 1.0))


@dataclass(frozen=True)
class Variant:
    """A column of a table, or a bar of a figure.

    Attributes:
        name: What it is called in tables and in the published numbers.
        model: The model.
        method: The method.
        changes: Settings that are what this variant is about.
    """

    name: str
    model: str
    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure.

    Attributes:
        name: What ``ifmixup reproduce`` calls it.
        title: What it is.
        datasets: Its rows, or the panels of a figure.
        variants: Its columns, or the bars of a panel.
        baseline: The variant that the others are compared with; None where there is none.
        is_figure: Whether the paper draws it as bars, and prints no numbers.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    variants: tuple[Variant, ...]
    baseline: str | None = None
    is_figure: bool = False


def _every_method(model: str) -> tuple[Variant, ...]:
    return tuple(Variant(method, model, method) for method in METHODS)


def _shuffled(name: str, layers: int, every: int | None, **changes: Any) -> Variant:
    return Variant(name, "gcn", "ifmixup", {"layers": layers, "shuffle_every": every, **changes})


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("gcn", "GCN with every method", NAMES, _every_method("gcn"), "none"),
        Experiment(
            "gat",
            "GAT and GATv2 against ifMixup with GCN",
            NAMES,
            (
                Variant("gat", "gat", "none"),
                Variant("gatv2", "gatv2", "none"),
                Variant("gcn ifmixup", "gcn", "ifmixup"),
            ),
            "gat",
        ),
        Experiment("gin", "GIN with every method", NAMES, _every_method("gin"), "none"),
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
                Variant(f"{method}, {layers} layers", "gcn", method, {"layers": layers})
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
                _shuffled("never", 8, None),
                _shuffled("every 60 epochs", 8, 60),
                _shuffled("every 30 epochs", 8, 30),
                _shuffled("every 10 epochs", 8, 10),
                _shuffled("every 1 epoch", 8, 1),
            ),
            "never",
        ),
        Experiment(
            "shuffling-depth",
            "Shuffling in deeper networks",
            NCI,
            tuple(
                _shuffled(f"{layers} layers, {name}", layers, every)
                for layers in (8, 16)
                for name, every in (("never", None), ("every 1 epoch", 1))
            ),
            "8 layers, never",
        ),
        Experiment(
            "pairing",
            "Who is mixed with whom",
            NCI,
            (
                _shuffled("random", 8, None),
                _shuffled("same size, no shuffling", 8, None, pairing="same-size"),
                _shuffled("same size, shuffling", 8, 1, pairing="same-size"),
                _shuffled("self-paired, shuffling", 8, 1, pairing="self"),
            ),
            "random",
        ),
    )
}


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    if name not in EXPERIMENTS:
        raise choose("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
