"""Which graphs are trained on, validated on and tested on: made once, written down, read back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ifmixup.errors import InputError, StoreError
from ifmixup.safe_io import atomically
from ifmixup.training.packed import PackedDataset
from ifmixup.training.run_spec import PARTS, Fold, digest

_HEAD = {"dataset": str, "data": str, "seed": int, "folds": list}


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
    folds: tuple[Fold, ...]

    @property
    def are_one(self) -> bool:
        """Whether all are the same graphs in the same parts, such as a dataset's own split."""
        return len({each.fingerprint for each in self.folds}) == 1

    @cached_property
    def test_ratio(self) -> float:
        """The mean of ``n_test / n_train``, as the corrected t-test needs it.

        Validation graphs count as training graphs: they, too, decide what is tested.
        """
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
    are drawn at random.

    Args:
        folds: The number of folds; each is the test fold once per repeat.
        repeats: How many times all graphs are shuffled anew and cut into folds.
        seed: Decides the shuffles.
    """
    from sklearn.model_selection import StratifiedKFold

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
            parts = (tuple(part.tolist()) for part in (train, validation, test))
            made.append(Fold(repeat, number, *parts))
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
    return _checked(values, data, f"The split of {data.name}")


def load_splits(path: str | os.PathLike[str], data: PackedDataset) -> Splits:
    """Read splits of ``data`` that :meth:`Splits.save` or anyone wrote; they are not trusted."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The splits {path} cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"The splits {path} are not JSON: {error}.") from error
    return _checked(values, data, str(path))


def _checked(values: Any, data: PackedDataset, source: str) -> Splits:
    """Splits from untrusted values; an error names the fold and says what is wrong with it."""
    for name, kind in _HEAD.items():
        if not isinstance(values, dict) or type(values.get(name)) is not kind:
            raise InputError(
                f"{source} is not a splits file: {name!r} must be there and be a {kind.__name__}. "
                f"Needed are {', '.join(_HEAD)}."
            )
    if values["data"] != data.fingerprint:
        raise InputError(
            f"{source} was made for other graphs: {values['dataset']!r} with fingerprint "
            f"{values['data']!r}, not {data.name!r} with {data.fingerprint!r}. Use the splits of "
            f"this dataset, or make new ones."
        )
    if not values["folds"]:
        raise InputError(f"{source} has no folds.")
    tested: dict[tuple[int, int], int] = {}  # (repeat, graph) -> the fold that tests on it
    seen = set()
    for number, fold in enumerate(values["folds"]):
        name = f"{source}, entry {number} of 'folds'"
        if not isinstance(fold, dict):
            raise InputError(f"{name} must be an object with repeat, fold, {', '.join(PARTS)}.")
        for key in ("repeat", "fold"):
            if type(fold.get(key)) is not int or not 0 <= fold[key] < 2**31:
                raise InputError(f"{name}: {key!r} must be a number from 0; got {fold.get(key)!r}.")
        pair = fold["repeat"], fold["fold"]
        name = f"{source}, repeat {pair[0]}, fold {pair[1]}"
        if pair in seen:
            raise InputError(f"{name} is there twice. Number the folds of a repeat 0, 1, 2 ...")
        seen.add(pair)
        _check_parts(fold, len(data), name)
        for graph in fold["test"]:
            other = tested.setdefault((pair[0], graph), pair[1])
            if other != pair[1]:
                raise InputError(
                    f"{name}: test graph {graph} is a test graph of fold {other} of that repeat, "
                    f"too. The test folds of a repeat must not overlap."
                )
    folds = sorted(map(Fold.of, values["folds"]), key=lambda each: (each.repeat, each.fold))
    return Splits(values["dataset"], values["data"], values["seed"], tuple(folds))


def _check_parts(fold: dict[str, Any], graphs: int, name: str) -> None:
    owner: dict[int, str] = {}
    for part in PARTS:
        indices = fold.get(part)
        if not isinstance(indices, list) or not indices:
            raise InputError(f"{name}: {part!r} must be a list of at least one graph.")
        for index in indices:
            if type(index) is not int or not 0 <= index < graphs:
                raise InputError(
                    f"{name}: {index!r} in {part!r} is not a graph of the dataset; they are "
                    f"numbered 0 to {graphs - 1}."
                )
            if index in owner:
                raise InputError(
                    f"{name}: graph {index} is in {owner[index]!r} and in {part!r}. Each graph may "
                    f"be in one of {', '.join(PARTS)}, once."
                )
            owner[index] = part


def _strata(data: PackedDataset) -> np.ndarray:
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
        f"{folds} folds and each tests on every class. {cure}, or add graphs of that class."
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
