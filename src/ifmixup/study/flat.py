"""Runs as a flat table: a row a run, a column a value, without the curves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_type_hints

from ifmixup.study.record import Record
from ifmixup.training import Settings

_KINDS = ("accuracy", "balanced_accuracy", "nll", "ece")
METRICS = (*_KINDS, *(f"chosen_{kind}" for kind in _KINDS))
"""The metrics that always have a column, so that tables of two studies fit together."""

_MARKS = {
    "key": str,
    "dataset": str,
    "model": str,
    "method": str,
    "protocol": str,
    "repeat": int,
    "fold": int,
    "seed": int,
    "status": str,
}
_SETTINGS = {name: hint for name, hint in get_type_hints(Settings).items() if name not in _MARKS}
_REST = {"data": str, "split": str, "host": str, "finished_at": str, "error": str}


def flat(record: Record) -> dict[str, Any]:
    """The values of a run by column; what it does not have is not there.

    Settings that make no difference to its model and method are such values.
    """
    spec, result = record.spec, record.result
    row = {**vars(record), **vars(spec), **spec.settings.relevant()}
    if result is not None:
        row |= {"seconds": result.seconds, "prepare_seconds": result.prepare_seconds}
        row |= {_metric(name): value for name, value in result.metrics.items()}
    for name in ("spec", "settings", "result", "versions"):
        del row[name]
    return row


def columns(records: Iterable[Record]) -> dict[str, type]:
    """The columns of a table of these runs, and the type of each."""
    given = {name for record in records if record.result for name in record.result.metrics}
    metrics = [*METRICS, *sorted(_metric(name) for name in given - {*METRICS})]
    return {
        **_MARKS,
        **dict.fromkeys([*metrics, "seconds", "prepare_seconds"], float),
        **{name: _type(hint) for name, hint in _SETTINGS.items()},
        **_REST,
    }


def _metric(name: str) -> str:
    """The column of a metric: its name, and something before it where that is taken."""
    taken = {*_MARKS, *_SETTINGS, *_REST, "seconds", "prepare_seconds"}
    return f"metric_{name}" if name in taken else name


def _type(hint: Any) -> type:
    """``int`` for ``int | None``: every column may be empty."""
    return next(kind for kind in getattr(hint, "__args__", (hint,)) if kind is not type(None))
