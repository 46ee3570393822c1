"""A run: one training of one model on one fold with one seed, identified by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
from torch import Tensor

from ifmixup.components import ClassSpec
from ifmixup.training.settings import Settings
from ifmixup.values import as_dict, decode, field_types, same_names

VERSION = 3  # of the training: another one where the same spec gives other numbers than before
PARTS = ("train", "validation", "test")


def digest(value: Any) -> str:
    """A fingerprint of plain values, the same on every machine."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Fold:
    """The graphs of one fold, as sorted indices into the dataset.

    The order matters to a training, so there is one order, whoever wrote the fold down.

    Attributes:
        repeat: Which repetition of the cross-validation.
        fold: Which fold of it.
        train: The graphs to train on.
        validation: The graphs that choose the epoch and the setting; may be empty.
        test: The graphs to judge on.
    """

    repeat: int
    fold: int
    train: tuple[int, ...]
    validation: tuple[int, ...]
    test: tuple[int, ...]

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, tuple(sorted(getattr(self, part))))

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same graphs in the same parts."""
        return digest([list(getattr(self, part)) for part in PARTS])

    @cached_property
    def without_validation(self) -> Fold:
        """The same fold with the validation graphs among those to train on."""
        return Fold(self.repeat, self.fold, (*self.train, *self.validation), (), self.test)

    def indices(self, part: str) -> Tensor:
        """The graphs of ``"train"``, ``"validation"`` or ``"test"`` as a tensor."""
        return torch.tensor(getattr(self, part), dtype=torch.long)

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        lists = {part: list(getattr(self, part)) for part in PARTS}
        return {"repeat": self.repeat, "fold": self.fold, **lists}

    @staticmethod
    def of(values: Mapping[str, Any]) -> Fold:
        """The inverse of :meth:`to_dict`, of values that were checked."""
        return Fold(values["repeat"], values["fold"], *(values[part] for part in PARTS))


@dataclass(frozen=True)
class RunSpec:
    """Everything that a run's numbers depend on.

    Attributes:
        dataset: The dataset's name, which makes no difference to the numbers.
        data: The fingerprint of its graphs.
        split: The fingerprint of the :class:`Fold`.
        seed: The seed of the study; a run's own draws follow from seed, repeat and fold.
        repeat: Which repetition of the cross-validation.
        fold: Which fold is the test fold.
        settings: How the model is trained.
        model: The model and its options.
        method: The method and its options.
        metrics: What to measure besides what every run of the task has: first the metric of the
            curves, then those that are not ours; empty for the usual metric and nothing else.
    """

    dataset: str
    data: str
    split: str
    seed: int
    repeat: int
    fold: int
    settings: Settings
    model: ClassSpec
    method: ClassSpec
    metrics: tuple[ClassSpec, ...] = ()

    @cached_property
    def key(self) -> str:
        """The name of this run: the same content has the same key on every machine.

        What is None is left out, so a new option that is off by default keeps the runs there are.
        """
        return digest(
            [
                VERSION,
                [self.data, self.split, self.seed, self.repeat, self.fold],
                {name: v for name, v in self.settings.to_dict().items() if v is not None},
                self.model.identity,
                self.method.identity,
                # by name too: it is what the curves are called
                *([each.name, *each.identity] for each in self.metrics),
            ]
        )

    @property
    def run_seed(self) -> int:
        """What the run's generators are seeded with: the same for every model and method."""
        return int(digest([self.seed, self.repeat, self.fold])[:15], 16)

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        values = {name: getattr(self, name) for name in RunSpec.__dataclass_fields__}
        values |= {name: values[name].to_dict() for name in ("settings", "model", "method")}
        metrics = [each.to_dict() for each in values.pop("metrics")]
        return {**values, "metrics": metrics} if metrics else values

    @staticmethod
    def of(values: Any) -> RunSpec:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        values = {"metrics": [], **as_dict(values)}
        same_names("the spec", values, RunSpec.__dataclass_fields__)
        return RunSpec(**{name: _part(name, json.dumps(value)) for name, value in values.items()})


@lru_cache(maxsize=4096)
def _part(name: str, text: str) -> Any:
    """A part of a spec, once for the many runs that share it."""
    return decode(name, json.loads(text), field_types(RunSpec)[name])
