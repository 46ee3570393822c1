"""Runs out of a store and into it: JSONL with everything, CSV and Parquet as a flat table."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ifmixup.errors import InputError, StoreError, import_extra
from ifmixup.safe_io import atomically
from ifmixup.study.record import Record, check_result
from ifmixup.study.store import Store, explained
from ifmixup.training.task import is_fraction
from ifmixup.values import short

FORMAT = 2
"""Stands in every line of JSONL, for the versions to come."""

MAX_LINE = 16 * 1024**2
"""The maximum number of bytes in a line: over a hundred thousand epochs."""

MAX_FAILURES = 1000
"""After so many bad lines the file is taken for something else."""

_ROUNDING = 1e-6  # by which a fraction may be below 0 or above 1
_AT_ONCE = 200  # runs per transaction: few waits for the disk, and others get their turn to write
_FIRST = ("key", "dataset", "model", "method", "repeat", "fold", "seed", "status")
_LAST = ("data", "split", "host", "finished_at", "error")


@dataclass(frozen=True)
class Imported:
    """How many runs an import added, how many were there before and stay as they were, and why each
    line of a file or run of a database that was not stored was refused.
    """

    added: int
    already_there: int
    failed_lines: tuple[str, ...]


def import_runs(store: Store, path: Path) -> Imported:
    """Add the runs of a file or of another study; what is done already stays as it is.

    The file is not trusted: every value is checked, and a run's key must be that of its content.
    Importing twice is the same as importing once. It is a ``.jsonl`` file that was exported, a
    ``runs.sqlite``, or the folder of a study.
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
                yield _consistent(found)
            except StoreError as error:
                failures.append(f"{where}: {error}")
                if len(failures) >= MAX_FAILURES:
                    raise StoreError(
                        f"{path} has {MAX_FAILURES} bad lines, so the import was stopped. The "
                        f"first is {failures[0]}"
                    ) from error

    records, added, count = good(), 0, 0
    while batch := list(islice(records, _AT_ONCE)):
        added += store.merge(batch)
        count += len(batch)
    return Imported(added, count - added, tuple(failures))


def export(records: Iterable[Record], path: Path) -> int:
    """Write runs into a file, whole or not at all, and return how many; an old file is replaced.

    ``.jsonl`` has everything of a run, curves too, and can be imported; ``.csv`` and ``.parquet``
    (which needs ``ifmixup[parquet]``) have one row per run and no curves.
    """
    check_output(path)
    with explained(path), atomically(path) as unfinished:
        return _WRITERS[path.suffix.lower()](records, unfinished)


def check_output(path: Path) -> None:
    """Check that runs can be written to ``path``, before the work of reading them."""
    if path.suffix.lower() not in _WRITERS:
        kinds = ", ".join(_WRITERS)
        raise InputError(f"Runs can be exported as {kinds}; got {path.name!r}. Change its ending.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Make it first.")
    if path.suffix.lower() == ".parquet":
        import_extra("pyarrow", "parquet")


def thinned(record: Record) -> Record:
    """A run to be kept in a repository: its curves with a few digits, without the machine's name.

    The training loss is left out, because no protocol reads it.
    """
    if record.result is None:
        return replace(record, host="")
    curves = {
        name: [float(f"{value:.4g}") for value in values]
        for name, values in record.result.curves.items()
        if name != "train_loss"
    }
    return replace(record, host="", result=replace(record.result, curves=curves))


def flat(record: Record) -> dict[str, Any]:
    """The values of a run by column: what it is, what it measured, its settings and options.

    An option has its class in front (``model.num_layers``, ``method.alpha``).
    """
    spec, result = record.spec, record.result
    row: dict[str, Any] = {name: getattr(spec, name) for name in ("dataset", "repeat", "fold")}
    row |= {"key": record.key, "status": record.status, "seed": spec.seed}
    row |= {"model": spec.model.name, "method": spec.method.name}
    row |= spec.settings.to_dict()
    for kind, each in (("model", spec.model), ("method", spec.method)):
        row |= {f"{kind}.{name}": _cell(value) for name, value in each.options}
        if each.source is not None:
            row[f"{kind}.source"] = each.source
    if result is not None:
        row |= {"seconds": result.seconds, "prepare_seconds": result.prepare_seconds}
        row |= {n if n not in row else f"metric_{n}": v for n, v in result.metrics.items()}
    row |= {"data": spec.data, "split": spec.split, "host": record.host}
    return row | {"finished_at": record.finished_at, "error": record.error}


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    """The columns of a table of these runs: what they are first, where they ran last."""
    middle = dict.fromkeys(name for row in rows for name in row if name not in (*_FIRST, *_LAST))
    return [*_FIRST, *middle, *_LAST]


def _write_jsonl(records: Iterable[Record], path: Path) -> int:
    count = 0
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for record in records:
            stream.write(json.dumps({"format": FORMAT, **record.to_dict()}) + "\n")
            count += 1
    return count


def _write_csv(records: Iterable[Record], path: Path) -> int:
    rows = [flat(record) for record in records]
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.DictWriter(stream, _columns(rows), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def _write_parquet(records: Iterable[Record], path: Path) -> int:
    arrow = import_extra("pyarrow", "parquet")
    parquet = import_extra("pyarrow.parquet", "parquet")
    rows = [flat(record) for record in records]
    # A column of several types, such as an option that is a number or a text, becomes text.
    columns = {name: [row.get(name) for row in rows] for name in _columns(rows)}
    for name, values in columns.items():
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            columns[name] = [None if value is None else str(value) for value in values]
    parquet.write_table(arrow.table(columns), path)
    return len(rows)


_WRITERS: dict[str, Callable[[Iterable[Record], Path], int]] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}


def _consistent(record: Record) -> Record:
    """The record, if its parts agree with each other."""
    if record.spec.key != record.key:
        raise StoreError(
            f"the key {record.key!r} is not that of the spec ({record.spec.key}): it was changed, "
            f"or written by another version of ifmixup"
        )
    try:
        check_result(record)
    except InputError as error:  # a metric that is not known
        raise StoreError(str(error)) from error
    for name, values in ({} if record.result is None else record.result.curves).items():
        if is_fraction(name.partition("_")[2]):  # after "test_" or "validation_"
            # NaN: the metric is not defined on these graphs.
            wrong = [value for value in values if not (-_ROUNDING <= value <= 1 + _ROUNDING)]
            if not all(map(math.isnan, wrong)):
                raise StoreError(f"the curve {short(name)} has values that are not from 0 to 1")
    return record


def _of_database(path: Path) -> Iterator[tuple[str, Record | StoreError]]:
    """What is in another study, run by run, without changing it."""
    with Store(path, read_only=True) as source:
        for key, found in source.rows():
            yield f"run {key}", found


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
            return StoreError(f"it is not a run of ifmixup ('format' is not {FORMAT})")
        return Record.of(values)
    except StoreError as error:
        return error
    except (ValueError, RecursionError) as error:  # not JSON, not text, nested without end
        return StoreError(f"it is not JSON ({error})")
