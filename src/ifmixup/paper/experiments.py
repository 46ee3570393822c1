"""The paper's tables and figures, and experiments of ours, as data. To add one, add an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ifmixup.data import NAMES
from ifmixup.errors import known_name

# The rows of the paper's tables; ifmixup itself has more methods.
METHODS = ("none", "ifmixup", "mixup_graph", "drop_edge", "drop_node", "attribute_masking")
MOLECULES = ("PTC_MR", "NCI109", "NCI1", "MUTAG", "ENZYMES", "PROTEINS")
NCI = ("NCI109", "NCI1")
WHOLE_NODES = "ifmixup, whole nodes"  # the other reading of the paper: a node of READOUT is whole
SHARES = (0.05, 0.1, 0.25, 1.0)
NOISES = (0.0, 0.2, 0.4)
SMOOTHED = {"label_smoothing": 0.05}  # the mean of 1 - λ where λ ~ Beta(20, 1) is 0.048
RATIOS = ((1.0, 1.0), (2.0, 2.0), (5.0, 1.0), (10.0, 1.0), (20.0, 1.0))


# An epoch of NCI1 in batches of 128; with fewer graphs to train on as many steps are made.
_STEPS = {"steps_per_epoch": 26}


@dataclass(frozen=True)
class Variant:
    """A column of a table, or a bar of a figure."""

    name: str
    model: str
    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)  # what it is about: not searched
    against: str | None = None  # the variant that it is compared with
    seed: int = 0  # added to that of the runs; the folds stay the same


@dataclass(frozen=True)
class Experiment:
    """A table, or a figure: the paper draws it as bars and prints no numbers.

    The variants of a figure are named ``"method, value"``.
    """

    name: str
    title: str
    datasets: tuple[str, ...]  # its rows, or the panels of a figure
    variants: tuple[Variant, ...]  # its columns, or the bars of a panel
    is_figure: bool = False
    protocol: str | None = None  # the only one that answers its question; None: any
    grid: bool = False  # whether every setting of the paper's grid is run
    ours: bool = False  # whether it goes beyond the paper


def _every_method(model: str) -> tuple[Variant, ...]:
    found = [
        Variant(method, model, method, against=None if method == "none" else "none")
        for method in METHODS
    ]
    found.insert(2, Variant(WHOLE_NODES, model, "ifmixup", {"node_weight": False}, "none"))
    return tuple(found)


def _where(values: Mapping[str, Mapping[str, Any]]) -> tuple[Variant, ...]:
    """The methods whose behaviour we study on NCI1, each with all changes, by their names."""
    pairs = [("gin", method) for method in ("none", "ifmixup", "mixup_graph", "drop_edge")]
    pairs += [("gcn", method) for method in ("none", "ifmixup")]
    return tuple(
        Variant(
            f"{model} {method}, {name}",
            model,
            method,
            changes,
            None if method == "none" else f"{model} none, {name}",
        )
        for name, changes in values.items()
        for model, method in pairs
    )


def _shuffled(
    name: str, layers: int, every: int | None, against: str | None, **changes: Any
) -> Variant:
    changes |= {"num_layers": layers, "shuffle_every": every}
    return Variant(name, "gcn", "ifmixup", changes, against)


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
                    {"num_layers": layers},
                    None if method == "none" else f"none, {layers} layers",
                )
                for method in ("none", "ifmixup", "mixup_graph")
                for layers in (3, 5, 8)
            ),
            is_figure=True,
        ),
        Experiment(
            "shuffling",
            "The node order of the partner, shuffled every few epochs",
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
            "Which graphs are mixed with each other",
            NCI,
            (
                _shuffled("random", 8, None, None),
                _shuffled("same size, no shuffling", 8, None, "random", pairing="same-size"),
                _shuffled("same size, shuffling", 8, 1, "random", pairing="same-size"),
                _shuffled("self-paired, shuffling", 8, 1, "random", pairing="self"),
            ),
        ),
        Experiment(
            "selection",
            "What choosing a setting and an epoch on the test folds is worth",
            ("MUTAG", "PTC_MR"),
            tuple(Variant(f"none, seed {seed}", "gcn", "none", seed=seed) for seed in range(3)),
            protocol="paper",
            grid=True,
            ours=True,
        ),
        Experiment(
            "few-labels",
            "Few labels",
            ("NCI1",),
            _where({f"{share:.0%}": {"train_share": share, **_STEPS} for share in SHARES}),
            is_figure=True,
            protocol="holdout",
            ours=True,
        ),
        Experiment(
            "label-noise",
            "Wrong labels",
            ("NCI1",),
            _where({f"{noise:.0%} wrong": {"label_noise": noise, **_STEPS} for noise in NOISES}),
            is_figure=True,
            protocol="holdout",
            ours=True,
        ),
        Experiment(
            "calibration",
            "How far probabilities can be trusted",
            ("NCI1",),
            (
                *_where({"as it is": _STEPS}),
                *(
                    Variant(
                        f"{model} none, label smoothing",
                        model,
                        "none",
                        {**SMOOTHED, **_STEPS},
                        f"{model} none, as it is",
                    )
                    for model in ("gin", "gcn")
                ),
            ),
            protocol="holdout",
            ours=True,
        ),
    )
}


def find(name: str) -> Experiment:
    """The experiment called ``name``."""
    return EXPERIMENTS[known_name("experiment", name, EXPERIMENTS)]
