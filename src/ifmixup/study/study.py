"""A study: the trials that are compared with each other, written down as ``study.json``.

The table, the verdict, the report and the exports all read a study from here and compare its
trials by one function (:mod:`ifmixup.study.comparison`). Nothing is guessed from stored runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifmixup.components import ClassSpec
from ifmixup.errors import InputError, StoreError
from ifmixup.safe_io import atomically, locked
from ifmixup.study.baselines import Baseline
from ifmixup.study.protocols import Pair, needs_validation
from ifmixup.training.run_spec import Fold, RunSpec, specs_on
from ifmixup.training.settings import Settings
from ifmixup.training.task import check_metric_name, check_metric_spec, higher_is_better
from ifmixup.values import as_dict, as_list, decode_fields, short

if TYPE_CHECKING:  # a list of runs is there before torch is imported
    from ifmixup.study.splits import Splits
    from ifmixup.training.packed import PackedDataset

FILE_NAME = "study.json"
FORMAT = 1
MAX_BYTES = 200_000_000
_LATER: dict[str, Any] = {
    "metrics": [],
    "baselines": [],
    "margin": 1.0,
    "origins": {},
}  # that an older study.json has not


@dataclass(frozen=True)
class Candidate:
    """One setting of a trial; a grid has many, of which the protocol chooses one."""

    settings: Settings
    model: ClassSpec
    method: ClassSpec

    def values(self) -> dict[str, Any]:
        """Settings and options by name; an option that both classes have is the method's."""
        return {
            **self.settings.to_dict(),
            **dict(self.model.options),
            **dict(self.method.options),
        }

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        return {name: part.to_dict() for name, part in vars(self).items()}

    @staticmethod
    def of(values: Any) -> Candidate:
        """The inverse of :meth:`to_dict`."""
        return Candidate(**decode_fields("A candidate", values, Candidate))


@dataclass(frozen=True)
class Trial:
    """All folds and repeats of one model with one method on one dataset.

    Attributes:
        name: What it is called; unique among the trials of a dataset and protocol.
        model: The model's name in tables.
        method: The method's name in tables.
        dataset: The dataset's name.
        data: The fingerprint of its graphs.
        protocol: How its number is read: ``holdout``, ``paper`` or ``last``.
        against: The name of the trial that it is compared with; None: with none.
        seed: The seed of its runs.
        candidates: Its settings: one, or the grid to choose from.
        folds: (repeat, fold, fingerprint of the fold) of every fold.
        test_ratio: Test graphs by training graphs, which the corrected t-test needs.
        keys: The keys of its runs, by candidate and fold.
        metrics: What its runs measure besides what every run has; see
            :class:`~ifmixup.training.run_spec.RunSpec`.
    """

    name: str
    model: str
    method: str
    dataset: str
    data: str
    protocol: str
    against: str | None
    seed: int
    candidates: tuple[Candidate, ...]
    folds: tuple[tuple[int, int, str], ...]
    test_ratio: float
    keys: tuple[tuple[str, ...], ...] = ()
    metrics: tuple[ClassSpec, ...] = ()

    def __post_init__(self) -> None:
        if not self.keys:  # of a trial that is read they are what was stored
            keys = tuple(tuple(spec.key for spec in specs) for specs in self._specs)
            object.__setattr__(self, "keys", keys)

    @property
    def pairs(self) -> list[Pair]:
        """The (repeat, fold) of every fold."""
        return [(repeat, fold) for repeat, fold, _ in self.folds]

    @property
    def epochs(self) -> int:
        """How many epochs its runs have."""
        return max(each.settings.epochs for each in self.candidates)

    def specs(self) -> list[list[RunSpec]]:
        """Its runs, by candidate and fold."""
        return self._specs

    @cached_property
    def _specs(self) -> list[list[RunSpec]]:
        parts: dict[str, Any] = {"dataset": self.dataset, "data": self.data, "seed": self.seed}
        return [
            specs_on(self.folds, metrics=self.metrics, **vars(each), **parts)
            for each in self.candidates
        ]

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        values = {name: getattr(self, name) for name in Trial.__dataclass_fields__}
        return values | {
            name: [each.to_dict() for each in values[name]] for name in ("candidates", "metrics")
        }

    @staticmethod
    def of(values: Any) -> Trial:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        found = decode_fields("A trial", {"metrics": [], **as_dict(values)}, Trial)
        needs_validation(found["protocol"])
        folds, keys, ratio = found["folds"], found["keys"], found["test_ratio"]
        if not all(0 <= number < 2**31 for fold in folds for number in fold[:2]):
            raise InputError(f"{short(folds)} are not all folds")
        per_fold = {len(each) for each in keys} == {len(folds)}
        if not folds or not per_fold or len(keys) != len(found["candidates"]):
            raise InputError(f"the trial {short(found['name'])} has not one key per run")
        if not 0 <= ratio < math.inf:
            raise InputError(f"{short(ratio)} is not a number of test graphs by training graphs")
        return Trial(**found)


@dataclass(frozen=True)
class Study:
    """Trials that are compared with each other.

    Attributes:
        name: What it is called: the name of a dataset, or of an experiment.
        title: What it is, in words.
        metric: What decides: epochs, settings and verdicts follow from it.
        trials: What is compared, in the order of the table.
        notes: What must be said with the numbers.
        config: The resolved options of the command that made it.
        metrics: Every metric that is shown; the first is ``metric``.
        baselines: What guesses without the graphs' structure get on the same folds.
        margin: The largest difference that does not matter, in points, or in per cent of the
            baseline's mean for a metric that is not a fraction.
        origins: By the name of a trial, where its settings come from, in words.
    """

    name: str
    title: str
    metric: str
    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict, compare=False)
    metrics: tuple[str, ...] = ()
    baselines: tuple[Baseline, ...] = field(default=(), compare=False)
    margin: float = 1.0
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.margin < math.inf:
            raise InputError(f"The margin must be a number of at least 0; got {self.margin}.")
        object.__setattr__(self, "metrics", tuple(dict.fromkeys((self.metric, *self.metrics))))
        for spec in {spec for trial in self.trials for spec in trial.metrics}:
            check_metric_spec(spec)
        names = [(each.dataset, each.protocol, each.name) for each in self.trials]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"Two trials are called {' '.join(twice)!r}. Give one another name.")

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all its runs."""
        return frozenset(k for trial in self.trials for keys in trial.keys for k in keys)

    @cached_property
    def higher_is_better(self) -> bool:
        """Whether more of its metric is better."""
        specs = (spec for trial in self.trials for spec in trial.metrics)
        return higher_is_better(self.metric, specs)

    @property
    def of_values(self) -> bool:
        """Whether its targets are values, which follows from its metrics."""
        return not {"rmse", "mae", "r2", "spearman"}.isdisjoint(self.metrics)

    @property
    def datasets(self) -> list[str]:
        """The names of its datasets, in the order of its trials."""
        return list(dict.fromkeys(trial.dataset for trial in self.trials))

    @property
    def protocols(self) -> list[str]:
        """Its protocols, in the order of its trials."""
        return list(dict.fromkeys(trial.protocol for trial in self.trials))

    def against(self, trial: Trial) -> Trial | None:
        """The trial that another one is compared with."""
        wanted = (trial.data, trial.protocol, trial.against)
        found = (each for each in self.trials if (each.data, each.protocol, each.name) == wanted)
        return next(found, None)

    def specs(self) -> list[RunSpec]:
        """Every run once, fold by fold, so methods can be compared before all are done."""
        candidates = [specs for trial in self.trials for specs in trial.specs()]
        found: dict[str, RunSpec] = {}
        for spec in chain.from_iterable(zip_longest(*candidates)):
            if spec is not None:
                found.setdefault(spec.key, spec)
        return list(found.values())

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        values = {name: getattr(self, name) for name in Study.__dataclass_fields__}
        return values | {
            name: [each.to_dict() for each in values[name]] for name in ("trials", "baselines")
        }

    @staticmethod
    def of(values: Any) -> Study:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        found = Study(**decode_fields("A study", {**_LATER, **as_dict(values)}, Study))
        for metric in found.metrics:
            check_metric_name(metric)
        return found


def make_trial(
    data: PackedDataset,
    splits: Splits,
    candidates: Sequence[Candidate],
    *,
    protocol: str,
    seed: int = 0,
    name: str | None = None,
    against: str | None = None,
    metrics: Sequence[ClassSpec] = (),
) -> Trial:
    """A :class:`Trial` on the folds of ``splits``; its name is by default by model and method."""
    model, method = candidates[0].model.name, candidates[0].method.name
    return Trial(
        name=name or f"{model} {method}",
        model=model,
        method=method,
        dataset=data.name,
        data=data.fingerprint,
        protocol=protocol,
        against=against,
        seed=seed,
        candidates=tuple(candidates),
        folds=tuple((f.repeat, f.fold, f.fingerprint) for f in folds_of(splits, protocol)),
        test_ratio=splits.test_ratio,
        metrics=tuple(metrics),
    )


def folds_of(splits: Splits, protocol: str) -> list[Fold]:
    """The folds as a protocol trains on them."""
    if needs_validation(protocol):
        return list(splits.folds)
    return [fold.without_validation for fold in splits.folds]


def save_studies(folder: Path, studies: Iterable[Study], instead_of: Iterable[Study] = ()) -> None:
    """Write studies into a folder's ``study.json``, beside those that are there.

    The same study again replaces itself, and so does one of the same name that has all trials and
    runs of an earlier one: with more folds or methods it is the same question, answered better.

    Args:
        folder: Where they go.
        studies: What to write.
        instead_of: Studies to be removed, such as that of a search which these have ended.
    """
    path = folder / FILE_NAME
    gone = [(each.name, each.trials) for each in instead_of]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(path):  # read and written by one process at a time: no study is lost
            kept = [each for each in load_studies(folder) if (each.name, each.trials) not in gone]
            for study in studies:
                kept = [*(each for each in kept if not covers(study, each)), study]
            content = {"format": FORMAT, "studies": [each.to_dict() for each in kept]}
            with atomically(path) as unfinished:
                unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}.") from error


def load_studies(folder: Path) -> list[Study]:
    """The studies of a folder, first to last; none where there is no ``study.json``.

    Raises:
        StoreError: If the file is damaged or of a later version. It is left as it is.
    """
    path = folder / FILE_NAME
    try:
        if path.stat().st_size > MAX_BYTES:
            raise StoreError(f"{path} is too large for a {FILE_NAME}.")
        return list(_studies_of(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, TypeError) as error:
        raise StoreError(
            f"{path} cannot be read: {error}. Move the file away and run the command that made "
            f"the study again: it continues from the stored runs and writes a new file."
        ) from error


@lru_cache(maxsize=1)
def _studies_of(text: str) -> tuple[Study, ...]:
    """The studies of a ``study.json``, decoded once where a command reads it several times."""
    content = json.loads(text)
    written = content.get("format") if isinstance(content, dict) else None
    if type(written) is int and written > FORMAT:
        raise InputError(f"a newer ifmixup wrote it (format {written}): upgrade ifmixup")
    if written != FORMAT:
        raise InputError(f"it is not a {FILE_NAME} of ifmixup (format {FORMAT})")
    return tuple(Study.of(values) for values in as_list(content.get("studies")))


def covers(study: Study, earlier: Study) -> bool:
    """Whether a study has every trial of an earlier one, with all its runs."""
    runs = {_question(trial): {k for keys in trial.keys for k in keys} for trial in study.trials}
    return study.name == earlier.name and all(
        runs.get(_question(trial), set()).issuperset(k for keys in trial.keys for k in keys)
        for trial in earlier.trials
    )


def _question(trial: Trial) -> tuple[str | None, ...]:
    return trial.data, trial.protocol, trial.model, trial.method, trial.name, trial.against
