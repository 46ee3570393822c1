"""Which graphs are trained on, validated on and tested on: made once, written down, read back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold

from ifmixup.errors import InputError, StoreError
from ifmixup.safe_io import atomically
from ifmixup.study.check_splits import PARTS, check_splits
from ifmixup.training import Fold, PackedDataset
from ifmixup.training.run_spec import digest


@dataclass(frozen=True)
class SplitFold:
    """The graphs of one fold, as their places in the dataset, in rising order.

    The order matters to a training, so that there is one order, whoever wrote the fold down.

    Attributes:
        repeat: Which repetition of the cross-validation.
        fold: Which fold of it.
        train: Trained on.
        validation: Chooses epoch and setting under ``holdout``; trained on under ``paper``.
        test: Judged on.
    """

    repeat: int
    fold: int
    train: tuple[int, ...]
    validation: tuple[int, ...]
    test: tuple[int, ...]

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, tuple(sorted(getattr(self, part))))


@dataclass(frozen=True)
class Splits:
    """All folds of all repeats of a cross-validation.

    Attributes:
        dataset: The dataset's name.
        data: The fingerprint of its graphs.
        seed: What the folds were drawn with.
        folds: The folds, repeat by repeat.
    """

    dataset: str
    data: str
    seed: int
    folds: tuple[SplitFold, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The (repeat, fold) of every fold."""
        return [(each.repeat, each.fold) for each in self.folds]

    @property
    def are_one(self) -> bool:
        """Whether all are the same graphs in the same parts, such as a dataset's own split."""
        return len({(each.train, each.validation, each.test) for each in self.folds}) == 1

    @property
    def test_ratio(self) -> float:
        """The mean of ``n_test / n_train``, as the corrected t-test needs it.

        Validation graphs count as training graphs: they, too, decide what is tested.
        """
        ratios = [len(f.test) / (len(f.train) + len(f.validation)) for f in self.folds]
        return float(np.mean(ratios))

    def fold(self, repeat: int, fold: int) -> Fold:
        """One fold, as training takes it."""
        found = self._find(repeat, fold)
        return Fold(*(torch.tensor(getattr(found, part), dtype=torch.long) for part in PARTS))

    def fingerprint(self, repeat: int, fold: int) -> str:
        """The same for the same graphs in the same parts."""
        found = self._find(repeat, fold)
        return digest([list(getattr(found, part)) for part in PARTS])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, a line a list; a file that was there stays whole until it is replaced."""
        target = Path(path)
        head = {"dataset": self.dataset, "data": self.data, "seed": self.seed}
        lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        body = ",\n".join(_fold_text(each) for each in self.folds)
        text = "\n".join(["{", *lines, ' "folds": [', body, " ]", "}", ""])
        try:
            with atomically(target) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"The splits cannot be written to {target}: {error}.") from error

    def _find(self, repeat: int, fold: int) -> SplitFold:
        for each in self.folds:
            if (each.repeat, each.fold) == (repeat, fold):
                return each
        known = ", ".join(f"({r}, {f})" for r, f in self.pairs)
        raise InputError(f"There is no repeat {repeat}, fold {fold}. There are: {known}.")


def make_splits(data: PackedDataset, *, folds: int = 10, repeats: int = 1, seed: int = 0) -> Splits:
    """Draw folds; the same seed gives the same folds on every machine.

    Those of classes are stratified: each has its part of every class. Those of labels and values
    are drawn at random.

    Args:
        data: The packed dataset.
        folds: How many folds; each is the test fold once a repeat.
        repeats: How many times all graphs are shuffled anew and cut into folds.
        seed: Decides the shuffles.
    """
    if folds < 2 or repeats < 1:
        raise InputError(f"At least 2 folds and 1 repeat are needed; got {folds} and {repeats}.")
    y = _strata(data)
    _check_enough(data, y, folds)
    made = []
    for repeat in range(repeats):
        # Legacy generators of numpy, seeded by a number of 32 bits, are the same everywhere.
        start = int(digest(["splits", seed, repeat])[:8], 16)
        cut = StratifiedKFold(folds, shuffle=True, random_state=start).split(y, y)
        for number, (rest, test) in enumerate(cut):
            chance = np.random.RandomState((start + number + 1) % 2**32)
            validation = _stratified_tenth(rest, y, chance)
            train = np.setdiff1d(rest, validation)
            made.append(
                SplitFold(repeat, number, *(tuple(p.tolist()) for p in (train, validation, test)))
            )
    if any(not each.validation for each in made):
        raise InputError(
            f"{data.name} is too small for {folds} folds: with one training graph a class there is "
            f"none for validation. Add graphs."
        )
    return Splits(data.name, data.fingerprint, seed, tuple(made))


def own_splits(data: PackedDataset, *, repeats: int = 1, seed: int = 0) -> Splits:
    """The dataset's own split, as a single fold.

    Args:
        data: The packed dataset, which has a ``split``.
        repeats: How many times it is trained on; each time with draws of its own.
        seed: Decides which tenth of the training graphs validates, where the split does not say.
    """
    if data.split is None:
        raise InputError(f"{data.name} has no split of its own. Use make_splits.")
    if repeats < 1:
        raise InputError(f"At least 1 repeat is needed; got {repeats}.")
    parts = {part: data.split.get(part, torch.empty(0)).long().tolist() for part in PARTS}
    if not parts["validation"]:
        rest = np.array(parts["train"])
        chance = np.random.RandomState(int(digest(["splits", seed, 0])[:8], 16))
        parts["validation"] = _stratified_tenth(rest, _strata(data), chance).tolist()
        parts["train"] = np.setdiff1d(rest, parts["validation"]).tolist()
    folds = [{"repeat": repeat, "fold": 0, **parts} for repeat in range(repeats)]
    values = {"dataset": data.name, "data": data.fingerprint, "seed": seed, "folds": folds}
    check_splits(values, data, f"The split of {data.name}")
    made = (SplitFold(r, 0, *(tuple(parts[part]) for part in PARTS)) for r in range(repeats))
    return Splits(data.name, data.fingerprint, seed, tuple(made))


def load_splits(path: str | os.PathLike[str], data: PackedDataset) -> Splits:
    """Read splits that :meth:`Splits.save` or anyone else wrote; nothing in the file is trusted.

    Args:
        path: The JSON file.
        data: The dataset it must belong to.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The splits {path} cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"The splits {path} are not JSON: {error}.") from error
    check_splits(values, data, str(path))
    found = (
        SplitFold(e["repeat"], e["fold"], *(tuple(e[p]) for p in PARTS)) for e in values["folds"]
    )
    folds = sorted(found, key=lambda each: (each.repeat, each.fold))
    return Splits(values["dataset"], values["data"], values["seed"], tuple(folds))


def _strata(data: PackedDataset) -> np.ndarray:
    """The class of each graph; where there are no classes, all are of one."""
    return data.y.cpu().numpy() if data.task == "classes" else np.zeros(len(data), dtype=int)


def _check_enough(data: PackedDataset, y: np.ndarray, folds: int) -> None:
    """See that there is a graph of every class for every fold to test on."""
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
        f"{folds} folds and each tests on every class. {cure}, or add graphs of that class."
    )


def _stratified_tenth(
    places: np.ndarray, y: np.ndarray, chance: np.random.RandomState
) -> np.ndarray:
    """A tenth of each class, at least one graph of it, but never its last one."""
    taken = []
    for number in np.unique(y[places]):
        members = places[y[places] == number]
        count = min(max(1, round(len(members) / 10)), len(members) - 1)
        taken.append(chance.permutation(members)[:count])
    return np.concatenate(taken)


def _fold_text(each: SplitFold) -> str:
    lists = ",\n".join(f'   "{part}": {json.dumps(getattr(each, part))}' for part in PARTS)
    return f'  {{"repeat": {each.repeat}, "fold": {each.fold},\n{lists}}}'
