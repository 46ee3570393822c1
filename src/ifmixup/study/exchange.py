"""Runs from elsewhere: results of two machines become one study."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ifmixup.errors import InputError, StoreError
from ifmixup.study.database import explained
from ifmixup.study.export import FORMAT, export
from ifmixup.study.record import Record
from ifmixup.study.store import Store

__all__ = ["Imported", "export", "import_runs"]

MAX_LINE = 16 * 1024**2
"""The most bytes that a line may have: over a hundred thousand epochs."""

MAX_FAILURES = 1000
"""After so many bad lines the file is taken for something else."""

_AT_ONCE = 200  # runs a transaction: few waits for the disk, and others get their turn to write


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes:
        added: How many runs are new.
        already_there: How many were there before, and stay as they were.
        failed_lines: What was refused, and why: a message for each line (of a file) or run (of a
            database). Nothing of these is stored.
    """

    added: int
    already_there: int
    failed_lines: tuple[str, ...]


def import_runs(store: Store, path: Path) -> Imported:
    """Add the runs of a file or of another study; what is done here already stays as it is.

    The file need not be trusted: every value is looked at, and a run's key must be that of its
    content. Importing twice is the same as importing once.

    Args:
        store: Where to.
        path: A ``.jsonl`` file that was exported, a ``runs.sqlite``, or the folder of a study.
    """
    if not path.exists():
        raise InputError(f"There is nothing at {str(path)!r} to import.")
    is_database = path.is_dir() or path.suffix.lower() == ".sqlite"
    if not is_database and path.suffix.lower() != ".jsonl":
        raise InputError(
            f"Runs can be imported from a .jsonl, a .sqlite or a study's folder; got {path.name!r}."
        )
    failures: list[str] = []

    def good() -> Iterator[Record]:
        for where, found in _of_database(path) if is_database else _of_lines(path):
            try:
                if isinstance(found, StoreError):
                    raise found
                yield _believed(found)
            except StoreError as error:
                failures.append(f"{where}: {error}")
                if len(failures) >= MAX_FAILURES:
                    raise StoreError(
                        f"{path} has {MAX_FAILURES} bad lines and is given up. "
                        f"The first is {failures[0]}"
                    ) from error

    records, added, count = good(), 0, 0
    while batch := list(islice(records, _AT_ONCE)):
        added += store.merge(batch)
        count += len(batch)
    return Imported(added, count - added, tuple(failures))


def _believed(record: Record) -> Record:
    """The record, if its parts agree with each other."""
    if record.spec.key != record.key:
        raise StoreError(
            f"the key {record.key!r} is not that of the spec ({record.spec.key}): it was changed, "
            f"or written by another version of ifmixup"
        )
    epochs = record.spec.settings.epochs
    for name, values in record.result.curves.items() if record.result else ():
        if len(values) not in (0, epochs):
            raise StoreError(f"the curve {name!r} has {len(values)} values for {epochs} epochs")
    return record


def _of_database(path: Path) -> Iterator[tuple[str, Record | StoreError]]:
    """What is in another study, run by run, without changing it."""
    with Store(path, read_only=True) as source:
        for key in sorted(source.keys(), key=repr):
            try:
                record = source.record(key)
            except StoreError as error:
                yield f"run {key}", error
            else:
                if record is not None:
                    yield f"run {key}", record


def _of_lines(path: Path) -> Iterator[tuple[str, Record | StoreError]]:
    """What is in a file, line by line."""
    with explained(path), path.open("rb") as stream:
        number = 0
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            where = f"line {number}"
            if len(line) > MAX_LINE:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_LINE)
                yield where, StoreError(f"it is longer than {MAX_LINE} bytes")
            elif line.strip():
                yield where, _parsed(line)


def _parsed(line: bytes) -> Record | StoreError:
    try:
        values: Any = json.loads(line)
        if type(values) is not dict or values.pop("format", None) != FORMAT:
            return StoreError(f"it is no run of ifmixup ('format' is not {FORMAT})")
        return Record.of(values)
    except StoreError as error:
        return error
    except (ValueError, RecursionError) as error:  # no JSON, no text, nested without end
        return StoreError(f"it is not JSON ({error})")
