"""A run: one training of one model on one fold with one seed, known by what it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ifmixup.errors import unknown_name
from ifmixup.training.settings import Settings

PROTOCOLS = ("holdout", "paper")
VERSION = 2  # of the training: another one where the same spec gives other numbers than before


@dataclass(frozen=True)
class RunSpec:
    """What a run's numbers depend on, all of it.

    Attributes:
        dataset: The dataset's name.
        data: The fingerprint of its graphs.
        settings: How the model is trained.
        protocol: ``holdout`` keeps a tenth of the training graphs for validation; ``paper`` trains
            on all of them and has no validation.
        repeat: Which repetition of the cross-validation.
        fold: Which fold is the test fold.
        split: The fingerprint of the graphs that are trained on, validated on and tested on.
        seed: The seed of the study; a run's own draws follow from seed, repeat and fold.
    """

    dataset: str
    data: str
    settings: Settings
    protocol: str
    repeat: int
    fold: int
    split: str
    seed: int

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise unknown_name("protocol", self.protocol, PROTOCOLS)

    @property
    def key(self) -> str:
        """The name of this run: the same content has the same key, everywhere."""
        return digest([VERSION, self.to_dict()])

    @property
    def own_seed(self) -> int:
        """What the run's generators are seeded with: the same for every model and method."""
        return int(digest([self.seed, self.repeat, self.fold])[:15], 16)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, with the settings that make a difference."""
        return {
            "dataset": self.dataset,
            "data": self.data,
            "protocol": self.protocol,
            "repeat": self.repeat,
            "fold": self.fold,
            "split": self.split,
            "seed": self.seed,
            "settings": self.settings.relevant(),
        }

    @staticmethod
    def of(values: Mapping[str, Any]) -> RunSpec:
        """The inverse of :meth:`to_dict`."""
        return RunSpec(**{**values, "settings": Settings.of(values["settings"])})


def digest(value: Any) -> str:
    """A fingerprint of plain values, the same on every machine."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
