"""A record as a row of the database, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from ifmixup.errors import StoreError
from ifmixup.study.record import Record

COLUMNS = "key, spec, status, metrics, error, seconds, prepare_seconds, versions, host, finished_at"
"""All columns but ``curves``, which are large."""

MAX_CURVES = 256 * 1024**2
"""The most bytes that the curves of one run may have."""


def to_row(record: Record) -> dict[str, Any]:
    """The values of the columns, by name."""
    values = record.to_dict()
    result = values.pop("result")
    measured: dict[str, Any] = dict.fromkeys(("metrics", "seconds", "prepare_seconds", "curves"))
    if result is not None:
        measured = {
            **result,
            "metrics": _json(result["metrics"]),
            "curves": zlib.compress(_json(result["curves"]).encode()),
        }
    texts = {name: _json(values[name]) for name in ("spec", "versions")}
    # An error may quote bytes that are no text, as half characters, which SQLite does not take.
    for name in ("error", "host"):
        if values[name] is not None:
            texts[name] = values[name].encode(errors="backslashreplace").decode()
    return {**values, **measured, **texts}


def of_row(row: Mapping[str, Any]) -> Record:
    """The inverse of :func:`to_row`; without the column ``curves`` there are no curves.

    Raises:
        StoreError: If the row is damaged.
    """
    try:
        result = None
        if row["status"] == "done":
            result = {
                "curves": json.loads(_unzip(row["curves"])) if "curves" in row else {},
                "metrics": json.loads(row["metrics"]),
                "seconds": row["seconds"],
                "prepare_seconds": row["prepare_seconds"],
            }
        texts = {name: json.loads(row[name]) for name in ("spec", "versions")}
        whole = {name: row[name] for name in ("key", "status", "error", "host", "finished_at")}
        return Record.of({**whole, **texts, "result": result})
    except StoreError:
        raise
    except (ValueError, TypeError, RecursionError, zlib.error) as error:
        raise StoreError(f"{type(error).__name__}: {error}") from error


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _unzip(content: bytes) -> bytes:
    """Unpack, but never more than a bound: the file may be anybody's."""
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(content, MAX_CURVES)
    if not unpacker.eof:
        raise StoreError("its curves are cut off or too long")
    return text
