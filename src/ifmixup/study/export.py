"""Runs as a file: JSONL with everything, CSV and Parquet as a flat table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ifmixup.errors import InputError, import_extra
from ifmixup.safe_io import atomically
from ifmixup.study.database import explained
from ifmixup.study.flat import columns, flat
from ifmixup.study.record import Record

FORMAT = 1
"""Stands in every line of JSONL, for the versions to come."""


def export(records: Iterable[Record], path: Path) -> int:
    """Write runs into a file, whole or not at all; what was there before is replaced.

    Args:
        records: The runs, such as :meth:`Store.records` gives.
        path: Where to. ``.jsonl`` has all of a run, curves too, and can be imported; ``.csv`` and
            ``.parquet`` (which needs ``ifmixup[parquet]``) have a row a run and no curves.

    Returns:
        How many runs were written.
    """
    check_output(path)
    with explained(path), atomically(path) as unfinished:
        return _WRITERS[path.suffix.lower()](records, unfinished)


def thinned(record: Record) -> Record:
    """A run to be kept in a repository: with the curves that numbers are read from, in five digits.

    Losses on training and test graphs are left out, as no protocol looks at them, and so is the
    name of the machine.
    """
    if record.result is None:
        return replace(record, host="")
    curves = {
        name: [float(f"{value:.5g}") for value in values]
        for name, values in record.result.curves.items()
        if name not in ("train_loss", "test_loss")
    }
    return replace(record, host="", result=replace(record.result, curves=curves))


def check_output(path: Path) -> None:
    """See that runs can be written to ``path``, before the work of reading them."""
    if path.suffix.lower() not in _WRITERS:
        kinds = ", ".join(_WRITERS)
        raise InputError(f"Runs can be exported as {kinds}; got {path.name!r}. Change its ending.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {str(path.parent)!r} does not exist. Make it first.")
    if path.suffix.lower() == ".parquet":
        import_extra("pyarrow", "parquet")


def _write_jsonl(records: Iterable[Record], path: Path) -> int:
    count = 0
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for record in records:
            stream.write(json.dumps({"format": FORMAT, **record.to_dict()}) + "\n")
            count += 1
    return count


def _write_csv(records: Iterable[Record], path: Path) -> int:
    kept = list(records)
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.DictWriter(stream, list(columns(kept)), restval="")
        writer.writeheader()
        writer.writerows(flat(record) for record in kept)
    return len(kept)


def _write_parquet(records: Iterable[Record], path: Path) -> int:
    arrow = import_extra("pyarrow", "parquet")
    parquet = import_extra("pyarrow.parquet", "parquet")
    kept = list(records)
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    schema = arrow.schema([(name, types[kind]) for name, kind in columns(kept).items()])
    parquet.write_table(arrow.Table.from_pylist([flat(record) for record in kept], schema), path)
    return len(kept)


_WRITERS: dict[str, Callable[[Iterable[Record], Path], int]] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
