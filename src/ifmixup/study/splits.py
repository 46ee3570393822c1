"""Which graphs are trained on, validated on and tested on: made once and written down."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ifmixup.errors import InputError, StoreError
from ifmixup.safe_io import atomically
from ifmixup.training.compact import Indices
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import PARTS, Fold, digest
from ifmixup.values import check_seed

NEEDED = ("train", "test")  # parts that a split must have; without validation a tenth is drawn
MOST = 100_000  # folds, and repeats: each is made before the first run
TENTHS = 10  # of a single split: eight train, one validates, one tests


@dataclass(frozen=True)
class Splits:
    """All folds of all repeats of a cross-validation.

    Attributes:
        dataset: The dataset's name.
        data: The fingerprint of its graphs.
        seed: What the folds were drawn with.
        folds: The folds, repeat by repeat.
        notes: What must be said of them.
    """

    dataset: str
    data: str
    seed: int
    folds: tuple[Fold, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def are_one(self) -> bool:
        """Whether all are the same graphs in the same parts, such as a dataset's own split."""
        return len({each.fingerprint for each in self.folds}) == 1

    @property
    def repeat_themselves(self) -> bool:
        """Whether a repeat has the same graphs in the same parts as another one."""
        return len({each.fingerprint for each in self.folds}) < len(self.folds)

    @cached_property
    def test_ratio(self) -> float:
        """The mean of ``n_test / n_train``, as the corrected t-test needs it.

        Validation graphs count as training graphs: they, too, decide what is tested. On a single
        split it is 0: the runs differ in nothing but their seeds, which are independent.
        """
        if self.are_one:
            return 0.0
        ratios = [len(f.test) / (len(f.train) + len(f.validation)) for f in self.folds]
        return float(np.mean(ratios))

    def fold(self, repeat: int, fold: int) -> Fold:
        """One fold."""
        for each in self.folds:
            if (each.repeat, each.fold) == (repeat, fold):
                return each
        known = ", ".join(f"({each.repeat}, {each.fold})" for each in self.folds)
        raise InputError(f"There is no repeat {repeat}, fold {fold}. There are: {known}.")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, one line per list; an existing file stays whole until it is replaced."""
        target = Path(path)
        head = {"dataset": self.dataset, "data": self.data, "seed": self.seed}
        lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        folds = []
        for each in self.folds:
            parts = [f'   "{part}": {json.dumps(list(getattr(each, part)))}' for part in PARTS]
            start = f'  {{"repeat": {each.repeat}, "fold": {each.fold}'
            folds.append(",\n".join([start, *parts]) + "}")
        text = "\n".join(["{", *lines, ' "folds": [', ",\n".join(folds), " ]", "}", ""])
        try:
            with atomically(target) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"The splits cannot be written to {target}: {error}.") from error

    def save_in(self, folder: Path) -> Path:
        """Write into a study's folder, one file per choice of folds, where it is not there."""
        path = folder / f"splits-{len(self.folds)}-{self.folds[0].fingerprint[:8]}.json"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.save(path)
        return path


def make_splits(data: PackedDataset, *, folds: int = 10, repeats: int = 1, seed: int = 0) -> Splits:
    """Draw folds; the same seed gives the same folds on every machine.

    Folds of classes are stratified: each has its part of every class. Folds of labels and values
    are drawn at random. A tenth of the graphs that a fold does not test on validates.

    Args:
        folds: The number of folds; each is the test fold once per repeat. With 1, each repeat
            trains on 80 %, validates on 10 % and tests on 10 % of the graphs.
        repeats: How many times all graphs are shuffled anew and cut into folds.
        seed: Decides the shuffles.
    """
    from sklearn.model_selection import StratifiedKFold

    check_seed(seed)
    check_counts(folds, repeats)
    y = strata(data)
    parts = folds if folds > 1 else TENTHS
    _check_enough(data, y, parts)
    made = []
    for repeat in range(repeats):
        # Legacy generators of numpy, seeded by a number of 32 bits, are the same everywhere.
        start = int(digest(["splits", seed, repeat])[:8], 16)
        cut = StratifiedKFold(parts, shuffle=True, random_state=start).split(y, y)
        for number, (rest, test) in enumerate(islice(cut, folds)):  # one in memory at a time
            chance = np.random.RandomState((start + number + 1) % 2**32)
            validation = next(cut)[1] if folds == 1 else _stratified_tenth(rest, y, chance)
            made.append(fold_of(repeat, number, np.setdiff1d(rest, validation), validation, test))
    if any(not each.validation for each in made):
        raise InputError(
            f"{data.name} is too small for {folds} folds: with one training graph per class there "
            f"is none for validation. Add graphs."
        )
    return Splits(data.name, data.fingerprint, seed, tuple(made))


def own_splits(data: PackedDataset, *, repeats: int = 1, seed: int = 0) -> Splits:
    """The dataset's own split, as a single fold.

    Args:
        repeats: How many times it is trained on; each time with draws of its own.
        seed: Decides which tenth of the training graphs validates, where the split does not say.
    """
    if data.split is None:
        raise InputError(f"{data.name} does not come with a split. Use make_splits.")
    parts = {part: index.tolist() for part, index in data.split.items()}
    return given_splits(data, [parts], f"The split of {data.name}", repeats=repeats, seed=seed)


def given_splits(
    data: PackedDataset,
    folds: Sequence[Mapping[str, Sequence[int]]],
    source: str,
    *,
    repeats: int = 1,
    seed: int = 0,
    needed: Sequence[str] = NEEDED,
) -> Splits:
    """Splits of parts that were given, each with ``train``, ``test`` and maybe ``validation``.

    Where test graphs of two of them overlap, each is a repeat of its own; else they are the folds
    of one repeat.

    Args:
        folds: The graphs of each part, by its name; they are checked.
        source: Where they come from, for messages.
        repeats: How many times each is trained on; each time with draws of its own.
        seed: Decides which tenth of the training graphs validates, where that is not said.
        needed: The parts that must not be empty.
    """
    check_seed(seed)
    check_counts(2, repeats)
    if not folds:
        raise InputError(f"{source} has no folds.")
    y = strata(data)
    tested: set[int] = set()
    total = 0
    made, drawn = [], 0
    for number, given in enumerate(folds):
        name = source if len(folds) == 1 else f"{source}, split {number}"
        checked = check_parts(given, len(data), name, needed)
        rest, validation = checked["train"], checked["validation"]
        if not len(validation):
            chance = np.random.RandomState(int(digest(["splits", seed, number])[:8], 16))
            validation = _stratified_tenth(rest, y, chance)
            rest = np.setdiff1d(rest, validation)
            drawn += 1
            if not len(validation):
                raise InputError(
                    f"{name} has no validation graphs, and too few to train on to take a tenth of "
                    f"them. Add 'val'."
                )
        made.append((rest, validation, checked["test"]))
        tested.update(checked["test"].tolist())
        total += len(checked["test"])
    overlap = len(tested) < total
    notes = []
    if drawn:
        notes.append(
            f"{source} has no validation graphs: a tenth of the training graphs, drawn with the "
            f"seed {seed}, is used for validation."
        )
    if overlap:
        notes.append(
            f"The {len(made)} splits of {source} share test graphs, so they are treated as "
            f"repeats, not as folds of one cross-validation."
        )
    numbered = [fold_of(i * overlap, i * (not overlap), *parts) for i, parts in enumerate(made)]
    return Splits(
        data.name, data.fingerprint, seed, repeated(numbered, repeats), notes=tuple(notes)
    )


def repeated(folds: Sequence[Fold], repeats: int) -> tuple[Fold, ...]:
    """The same folds so many times: runs of a later repeat train with other seeds."""
    span = 1 + max(each.repeat for each in folds)
    return tuple(replace(f, repeat=f.repeat + span * r) for r in range(repeats) for f in folds)


def fold_of(repeat: int, fold: int, *parts: np.ndarray) -> Fold:
    """A fold of the arrays of its training, validation and test graphs."""
    return Fold(repeat, fold, *(Indices(part) for part in parts))


def check_counts(folds: int, repeats: int) -> None:
    """Check the numbers of folds and repeats."""
    if folds < 1 or repeats < 1:
        raise InputError(f"At least 1 fold and 1 repeat are needed; got {folds} and {repeats}.")
    if max(folds, repeats) > MOST:
        raise InputError(f"At most {MOST} folds and repeats are possible; got {folds}, {repeats}.")


def check_parts(
    given: Mapping[str, Any], graphs: int, name: str, needed: Sequence[str] = NEEDED
) -> dict[str, np.ndarray]:
    """The graphs of each part, sorted; an error says what is wrong with the split ``name``."""
    found = {}
    owner = np.full(graphs, -1)
    for number, part in enumerate(PARTS):
        indices = given.get(part, ())
        if isinstance(indices, np.ndarray):
            indices = indices.tolist()
        if not isinstance(indices, list | tuple | range) or not (indices or part not in needed):
            raise InputError(f"{name}: {part!r} must be a list of at least one graph.")
        wrong = next((i for i in indices if type(i) is not int or not 0 <= i < graphs), None)
        if wrong is not None:
            raise InputError(
                f"{name}: {wrong!r} in {part!r} is not a graph of the dataset; they are numbered "
                f"0 to {graphs - 1}."
            )
        index = np.sort(np.array(indices, dtype=np.int64))
        twice = index[1:][index[1:] == index[:-1]]
        other = index[owner[index] >= 0]
        if len(twice) or len(other):
            graph = int(twice[0] if len(twice) else other[0])
            where = f"{part!r} twice" if len(twice) else f"{PARTS[owner[graph]]!r} and in {part!r}"
            raise InputError(
                f"{name}: graph {graph} is in {where}. Each graph may be in one of "
                f"{', '.join(PARTS)}, once."
            )
        owner[index] = number
        found[part] = index
    return found


def strata(data: PackedDataset) -> np.ndarray:
    """The class of each graph; where there are no classes, all are of one."""
    return data.y.cpu().numpy() if data.task == "classes" else np.zeros(len(data), dtype=int)


def _check_enough(data: PackedDataset, y: np.ndarray, folds: int) -> None:
    """Check that there is a graph of every class for every fold to test on."""
    classes, counts = np.unique(y, return_counts=True)
    rarest, least = int(classes[counts.argmin()]), int(counts.min())
    if least >= folds:
        return
    if data.task != "classes":
        raise InputError(
            f"{data.name} has {least} graphs, but there are {folds} folds. Use at most {least}."
        )
    cure = f"Use at most {least} folds" if least > 1 else "Leave that class out"
    raise InputError(
        f"Class {rarest} of {data.name} has {least} graph{'s' * (least > 1)}, but there are "
        f"{folds} folds and each tests on every class. {cure}, or add graphs of that class. If the "
        f"labels are numbers to predict and not classes: --task values (task='values')."
    )


def _stratified_tenth(
    indices: np.ndarray, y: np.ndarray, chance: np.random.RandomState
) -> np.ndarray:
    """A tenth of each class, at least one graph of it, but never its last one."""
    taken = []
    for number in np.unique(y[indices]):
        members = indices[y[indices] == number]
        count = min(max(1, round(len(members) / 10)), len(members) - 1)
        taken.append(chance.permutation(members)[:count])
    return np.concatenate(taken)
