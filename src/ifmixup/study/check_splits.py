"""Whether splits from a file can be used: right dataset, right graphs, nothing trained on twice."""

from __future__ import annotations

from typing import Any

from ifmixup.errors import InputError
from ifmixup.training import PackedDataset

_HEAD = {"dataset": str, "data": str, "seed": int, "folds": list}
PARTS = ("train", "validation", "test")


def check_splits(values: Any, data: PackedDataset, source: str) -> None:
    """Raise an :class:`InputError` that names the fold and says what is wrong with it.

    Args:
        values: What was read, of any shape.
        data: The dataset it must belong to.
        source: Where it was read, for the message.
    """
    if not isinstance(values, dict):
        raise InputError(f"{source} is no splits file: it must hold an object with {_names()}.")
    for name, kind in _HEAD.items():
        if type(values.get(name)) is not kind:
            raise InputError(
                f"{source} is no splits file: {name!r} must be there and be a {kind.__name__}. "
                f"Needed are {_names()}."
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
    for place, fold in enumerate(values["folds"]):
        where = _check_numbers(fold, f"{source}, entry {place} of 'folds'")
        name = f"{source}, repeat {where[0]}, fold {where[1]}"
        if where in seen:
            raise InputError(f"{name} is there twice. Number the folds of a repeat 0, 1, 2 ...")
        seen.add(where)
        _check_parts(fold, len(data), name)
        for graph in fold["test"]:
            other = tested.setdefault((where[0], graph), where[1])
            if other != where[1]:
                raise InputError(
                    f"{name}: test graph {graph} is a test graph of fold {other} of that repeat, "
                    f"too. The test folds of a repeat must not overlap."
                )


def _check_numbers(fold: Any, name: str) -> tuple[int, int]:
    if not isinstance(fold, dict):
        raise InputError(f"{name} must be an object with repeat, fold, {', '.join(PARTS)}.")
    for key in ("repeat", "fold"):
        if type(fold.get(key)) is not int or fold[key] < 0:
            raise InputError(f"{name}: {key!r} must be a number from 0; got {fold.get(key)!r}.")
    return fold["repeat"], fold["fold"]


def _check_parts(fold: dict[str, Any], graphs: int, name: str) -> None:
    owner: dict[int, str] = {}
    for part in PARTS:
        places = fold.get(part)
        if not isinstance(places, list) or not places:
            raise InputError(f"{name}: {part!r} must be a list of at least one graph.")
        for place in places:
            if type(place) is not int or not 0 <= place < graphs:
                raise InputError(
                    f"{name}: {place!r} in {part!r} is no graph of the dataset; they are numbered "
                    f"0 to {graphs - 1}."
                )
            if place in owner:
                raise InputError(
                    f"{name}: graph {place} is in {owner[place]!r} and in {part!r}. Each graph may "
                    f"be in one of {', '.join(PARTS)}, once."
                )
            owner[place] = part


def _names() -> str:
    return ", ".join(_HEAD)
