"""A run: one training of one model on one fold with one seed, identified by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

import numpy as np

from ifmixup.components import ClassSpec
from ifmixup.training.compact import Indices
from ifmixup.training.settings import Settings
from ifmixup.values import as_dict, decode, decode_fields, field_types, same_names

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 3  # of the training: another one where the same spec gives other numbers than before
PARTS = ("train", "validation", "test")
_HASHED = 1 << 16  # numbers of a fold that are hashed at once
_LATER: dict[str, Any] = {"metrics": []}  # that an older spec has not


def digest(value: Any) -> str:
    """A fingerprint of plain values, the same on every machine."""
    return _hash(_json(value))


def digest_of_lists(lists: Iterable[Sequence[int]]) -> str:
    """:func:`digest` of lists of numbers, of a few of them at a time: they may be millions."""
    hasher, before = hashlib.sha256(b"["), b"["
    for numbers in lists:
        hasher.update(before)
        for start in range(0, len(numbers), _HASHED):
            text = ",".join(map(str, numbers[start : start + _HASHED]))
            hasher.update(("," * (start > 0) + text).encode())
        before = b"],["
    hasher.update(b"]]")
    return hasher.hexdigest()[:24]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _hash(text: str) -> str:
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
    train: Sequence[int]
    validation: Sequence[int]
    test: Sequence[int]

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, Indices(np.sort(Indices(getattr(self, part)).array)))

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same graphs in the same parts."""
        return digest_of_lists([getattr(self, part) for part in PARTS])

    @cached_property
    def without_validation(self) -> Fold:
        """The same fold with the validation graphs among those to train on."""
        both = np.concatenate([np.asarray(self.train), np.asarray(self.validation)])
        return Fold(self.repeat, self.fold, Indices(both), (), self.test)

    def indices(self, part: str) -> Tensor:
        """The graphs of ``"train"``, ``"validation"`` or ``"test"`` as a tensor."""
        return Indices(getattr(self, part)).tensor()

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
        return self._key(_recipe(self.settings, self.model, self.method, self.metrics))

    def _key(self, recipe: str) -> str:
        data, split = (encode_basestring_ascii(text) for text in (self.data, self.split))
        own = f"{data},{split},{self.seed:d},{self.repeat:d},{self.fold:d}"  # as JSON
        return _hash(f"[{VERSION},[{own}],{recipe}]")

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
        return RunSpec(**decode_fields("the spec", {**_LATER, **as_dict(values)}, RunSpec))

    @staticmethod
    def of_json(text: str) -> RunSpec:
        """The spec that is stored as JSON, from an untrusted file."""
        # All runs of a candidate end in the same text, which is decoded once. Quotes within texts
        # are escaped, so what is looked for cannot be part of a value.
        head, found, tail = text.partition(',"settings":')
        if not found:
            return RunSpec.of(json.loads(text))
        values = as_dict(json.loads(head + "}"))
        shared, recipe = _shared(f'{{"settings":{tail}')
        same_names("the spec", {**_LATER, **values, **shared}, RunSpec.__dataclass_fields__)
        hints = field_types(RunSpec)
        own = {name: decode(name, value, hints[name]) for name, value in values.items()}
        spec = RunSpec(**{**own, **shared})
        if recipe is not None:
            vars(spec)["key"] = spec._key(recipe)
        return spec


def specs_on(
    folds: Iterable[tuple[int, int, str]],
    settings: Settings,
    model: ClassSpec,
    method: ClassSpec,
    metrics: tuple[ClassSpec, ...] = (),
    **parts: Any,
) -> list[RunSpec]:
    """The runs of one candidate on folds, each (repeat, fold, fingerprint); ``parts`` is the rest.

    What the runs share is hashed once: a large grid on many folds has many keys.
    """
    recipe, found = _recipe(settings, model, method, metrics), []
    for repeat, fold, split in folds:
        spec = RunSpec(
            split=split,
            repeat=repeat,
            fold=fold,
            settings=settings,
            model=model,
            method=method,
            metrics=metrics,
            **parts,
        )
        vars(spec)["key"] = spec._key(recipe)
        found.append(spec)
    return found


def _recipe(
    settings: Settings, model: ClassSpec, method: ClassSpec, metrics: tuple[ClassSpec, ...]
) -> str:
    """The part of a key that all folds of a candidate share, as JSON."""
    plain = {name: value for name, value in settings.to_dict().items() if value is not None}
    # A metric by its name too, which is what the curves are called.
    asked = ([each.name, *each.identity] for each in metrics)
    return ",".join(map(_json, (plain, model.identity, method.identity, *asked)))


@lru_cache(maxsize=4096)
def _shared(text: str) -> tuple[dict[str, Any], str | None]:
    """Some parts of a spec from their JSON, once for the many runs that share them, and what a key
    has of them; None where they are not all there.
    """
    values, hints = as_dict(json.loads(text)), field_types(RunSpec)
    known = {name: hints[name] for name in hints if name in values}
    same_names("the spec", values, known)
    found = {name: decode(name, values[name], hint) for name, hint in known.items()}
    parts = {"metrics": (), **found}
    whole = parts.keys() == {"settings", "model", "method", "metrics"}
    return found, _recipe(**parts) if whole else None
