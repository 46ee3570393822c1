"""How much of an experiment is run: a taste, a part, or all that the paper ran."""

from __future__ import annotations

from dataclasses import dataclass

from ifmixup.errors import unknown_name

FOLDS = 10  # of every cross-validation; a smaller scale runs the first few of them


@dataclass(frozen=True)
class Scale:
    """A size of an experiment.

    Attributes:
        name: What ``--scale`` calls it.
        repeats: How many cross-validations.
        folds: How many of the ten folds of each are run.
        epochs: How many epochs.
        graphs: How many graphs of each dataset at most, the same share of each class; None: all.
    """

    name: str
    repeats: int
    folds: int
    epochs: int
    graphs: int | None = None


SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", repeats=1, folds=2, epochs=3, graphs=100),
        Scale("small", repeats=1, folds=3, epochs=100),
        Scale("paper", repeats=3, folds=FOLDS, epochs=350),
    )
}


def scale_of(name: str) -> Scale:
    """The scale called ``name``."""
    if name not in SCALES:
        raise unknown_name("scale", name, SCALES)
    return SCALES[name]
