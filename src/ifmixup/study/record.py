"""A run as it is stored: what was run, what it measured, where and when, as plain values.

Records may come from untrusted files: every value is checked on the way in.
"""

from __future__ import annotations

import json
import math
import re
import socket
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import Any

from ifmixup.errors import InputError, StoreError
from ifmixup.training.compact import StoredCurves, length_of
from ifmixup.training.run import RunResult, versions
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.task import check_metric_name
from ifmixup.values import as_dict, decode, decode_fields, decode_number, encode_number, short

_IS_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}\+00:00")
_TEXTS = {"key": str, "error": str | None, "host": str, "finished_at": str}
_PARTS = ("key", "spec", "status", "result", "error", "versions", "host", "finished_at")
_but_curves = itemgetter(
    "key", "dataset", "model", "method", "repeat", "fold", "spec", "status", "metrics", "error",
    "seconds", "prepare_seconds", "versions", "host", "finished_at",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """What became of a run: a result, or the reason why there is none.

    Attributes:
        spec: The run.
        result: What it measured; None if it failed.
        error: Why it failed; None if it did not.
        versions: What was installed where it ran.
        host: The machine that ran it.
        finished_at: When, in UTC, as ISO 8601.
        key: The key of the spec's content, as it was when it ran.
    """

    spec: RunSpec
    result: RunResult | None = None
    error: str | None = None
    versions: dict[str, str] = field(default_factory=versions)
    host: str = field(default_factory=socket.gethostname)
    finished_at: str = field(default_factory=lambda: _utc(datetime.now(timezone.utc)))
    key: str = ""

    def __post_init__(self) -> None:
        if (self.result is None) == (self.error is None):
            raise InputError("A run has either a result or an error; got both or neither.")
        if not self.key:
            object.__setattr__(self, "key", self.spec.key)

    @property
    def status(self) -> str:
        """``done`` or ``failed``."""
        return "failed" if self.result is None else "done"

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has: numbers that are not finite become ``"nan"`` or ``"inf"``."""
        found, result = self.result, None
        if found is not None:
            result = {
                "metrics": {name: encode_number(v) for name, v in found.metrics.items()},
                "seconds": found.seconds,
                "prepare_seconds": found.prepare_seconds,
                "curves": {name: list(map(encode_number, v)) for name, v in found.curves.items()},
            }
        values = {name: getattr(self, name) for name in _PARTS}
        return values | {"spec": self.spec.to_dict(), "result": result}

    @staticmethod
    def of(values: Any) -> Record:
        """The inverse of :meth:`to_dict`.

        Raises:
            StoreError: If a value is missing, unknown, of the wrong type or out of range.
        """
        with _as_store_error():
            values = dict(as_dict(values))
            status = values.pop("status", None)
            return _checked(status, decode_fields("the record", values, Record))

    def to_row(self) -> dict[str, Any]:
        """The values of the columns of the database, by name."""
        spec, result = self.spec, self.result
        row = {name: getattr(self, name) for name in _PARTS if name != "result"}
        row |= {
            "spec": _json(spec.to_dict()),
            "versions": _json(self.versions),
            "dataset": spec.dataset,
            "model": spec.model.name,
            "method": spec.method.name,
            "repeat": spec.repeat,
            "fold": spec.fold,
        }
        # An error may quote bytes that are not text, as half characters, which SQLite refuses.
        for name in ("error", "host"):
            if row[name] is not None:
                row[name] = row[name].encode(errors="backslashreplace").decode()
        if result is None:
            return row | dict.fromkeys(RunResult.__dataclass_fields__)
        row["metrics"] = _json({name: encode_number(v) for name, v in result.metrics.items()})
        row["seconds"] = float(result.seconds)
        row["prepare_seconds"] = float(result.prepare_seconds)
        curves = StoredCurves.pack(result.curves)
        row["curves"] = curves + _checksum(row, curves)
        return row

    @staticmethod
    def of_row(row: Mapping[str, Any], spec: RunSpec | None = None) -> Record:
        """The inverse of :meth:`to_row`; without the column ``curves`` there are no curves.

        Where the ``spec`` that has the row's key is known, the one in the row is not decoded.
        """
        with _as_store_error():
            result = None
            if row["status"] == "done":
                curves = StoredCurves(_whole_curves(row)) if "curves" in row else {}
                given = as_dict(json.loads(row["metrics"]))
                metrics = {intern(name): decode_number(value) for name, value in given.items()}
                times = decode_number(row["seconds"]), decode_number(row["prepare_seconds"])
                result = RunResult(curves, metrics, *times)
            for name, kinds in _TEXTS.items():
                if not isinstance(row[name], kinds):
                    raise StoreError(f"its {name} is {short(row[name])}")
            found = {name: row[name] for name in _TEXTS}
            found["spec"] = spec or RunSpec.of_json(row["spec"])
            found["versions"] = _versions(row["versions"])
            found["result"] = result
            return _checked(row["status"], found)


@contextmanager
def _as_store_error() -> Iterator[None]:
    """Whatever the values of an untrusted file raise (TypeError, OverflowError, ...) is ours."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"{type(error).__name__}: {error}") from error


def _checked(status: Any, found: dict[str, Any]) -> Record:
    """The record with these values, whose types were checked."""
    result = found["result"]
    if status != ("failed" if result is None else "done"):
        raise StoreError(f"the status {short(status)} does not go with what it has")
    for seconds in () if result is None else (result.seconds, result.prepare_seconds):
        if not 0 <= seconds < math.inf:
            raise StoreError(f"{seconds} is not a number of seconds")
    found["finished_at"] = _utc_of(found["finished_at"])
    return Record(**found)


@lru_cache(maxsize=256)
def _versions(text: str) -> dict[str, str]:
    """Versions as they are stored, once for the many runs that share them."""
    return decode("versions", json.loads(text), dict[str, str])


def _utc(time: datetime) -> str:
    """A time in the one form that sorts as text."""
    if time.tzinfo is None:
        raise StoreError(f"the time {time} has no time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="microseconds")


def _utc_of(text: str) -> str:
    """A stored time in that form, which it nearly always has."""
    time = datetime.fromisoformat(text)
    return text if _IS_UTC.fullmatch(text) else _utc(time)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _checksum(row: Mapping[str, Any], curves: bytes) -> bytes:
    """Four bytes of all values of a row, which lie behind its curves."""
    text = repr(_but_curves(row)).encode(errors="backslashreplace")
    return zlib.crc32(curves, zlib.crc32(text)).to_bytes(4, "big")


def _whole_curves(row: Mapping[str, Any]) -> bytes:
    """The curves of a row, if all of it is as it was stored."""
    curves, checksum = row["curves"][:-4], row["curves"][-4:]
    if checksum != _checksum(row, curves):
        raise StoreError("its values are not those that were stored: their checksum differs")
    return curves


def check_result(record: Record, *, validated: bool | None = None) -> None:
    """Check that a run's curves can be read by the protocols: one value per epoch, of one metric.

    Args:
        record: The run; one that failed has nothing to be checked.
        validated: Whether its fold has validation graphs; None where that is not known.

    Raises:
        StoreError: If they cannot.
    """
    if record.result is None:
        return
    curves, epochs = record.result.curves, record.spec.settings.epochs
    measured = [name for name in curves if name.startswith("test_") and name != "test_loss"]
    if not measured:
        raise StoreError("it has no test curve")
    metric = check_metric_name(measured[0].removeprefix("test_"))
    judged = {name for name in curves if name.startswith("validation_")}
    if judged and not judged >= {f"validation_{metric}", "validation_loss"}:
        raise StoreError(f"its validation curves are {short(sorted(judged))}, not of {metric}")
    if validated and not judged:
        raise StoreError("it has no validation curves, but its fold has validation graphs")
    read = [measured[0]]  # by the protocols
    if validated:
        read += [f"validation_{metric}", "validation_loss"]
    for name in curves if validated is None else read:
        if (count := length_of(curves, name)) != epochs:
            raise StoreError(f"the curve {short(name)} has {count} values for {epochs} epochs")
