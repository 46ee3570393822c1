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
from sys import intern
from typing import Any

from ifmixup.errors import InputError, StoreError
from ifmixup.training.compact import StoredCurves, length_of
from ifmixup.training.run import RunResult, versions
from ifmixup.training.run_spec import RunSpec
from ifmixup.training.task import check_metric_name
from ifmixup.values import as_dict, decode, decode_fields, decode_number, encode_number, short

MAX_CURVES = 256 * 1024**2
"""The maximum number of bytes that the curves of one run may have."""

_IS_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{6}\+00:00")
_TEXTS = {"key": str, "error": str | None, "host": str, "finished_at": str}
_PARTS = ("key", "spec", "status", "result", "error", "versions", "host", "finished_at")


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
        values = self.to_dict()
        measured = values.pop("result") or dict.fromkeys(RunResult.__dataclass_fields__)
        if self.result is not None:
            measured["metrics"] = _json(measured["metrics"])
            measured["curves"] = zlib.compress(_json(measured["curves"]).encode())
            measured["seconds"] = float(self.result.seconds)
            measured["prepare_seconds"] = float(self.result.prepare_seconds)
        texts = {name: _json(values[name]) for name in ("spec", "versions")}
        # An error may quote bytes that are not text, as half characters, which SQLite refuses.
        for name in ("error", "host"):
            if values[name] is not None:
                texts[name] = values[name].encode(errors="backslashreplace").decode()
        spec = self.spec
        row = {
            **values,
            **measured,
            **texts,
            "dataset": spec.dataset,
            "model": spec.model.name,
            "method": spec.method.name,
            "repeat": spec.repeat,
            "fold": spec.fold,
        }
        if row["curves"] is not None:
            row["curves"] += _checksum(row)
        return row

    @staticmethod
    def of_row(row: Mapping[str, Any]) -> Record:
        """The inverse of :meth:`to_row`; without the column ``curves`` there are no curves."""
        with _as_store_error():
            result = None
            if row["status"] == "done":
                text = _unzip(row) if "curves" in row else b"{}"
                curves = StoredCurves(text, _numbers)
                given = as_dict(json.loads(row["metrics"]))
                metrics = {intern(name): decode_number(value) for name, value in given.items()}
                times = (decode_number(row[n]) for n in ("seconds", "prepare_seconds"))
                result = RunResult(curves, metrics, *times)
            for name, kinds in _TEXTS.items():
                if not isinstance(row[name], kinds):
                    raise StoreError(f"its {name} is {short(row[name])}")
            texts = {name: row[name] for name in _TEXTS}
            spec, found = RunSpec.of_json(row["spec"]), _versions(row["versions"])
            return _checked(
                row["status"], {**texts, "spec": spec, "versions": found, "result": result}
            )


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
    return Record(**{**found, "finished_at": _utc_of(found["finished_at"])})


@lru_cache(maxsize=256)
def _versions(text: str) -> dict[str, str]:
    """Versions as they are stored, once for the many runs that share them."""
    return decode("versions", json.loads(text), dict[str, str])


def _numbers(values: Any) -> list[float]:
    """The numbers of a curve, which are decoded when they are asked for."""
    if {float}.issuperset(map(type, values)):  # nearly always; a table reads many curves
        return values
    with _as_store_error():
        return decode("a curve", values, list[float])


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


def _checksum(row: Mapping[str, Any]) -> bytes:
    """Four bytes of all values of a row but the curves, which zlib has a checksum of."""
    values = (f"{name}={row[name]!r}" for name in sorted(row) if name != "curves")
    return zlib.crc32("\n".join(values).encode(errors="backslashreplace")).to_bytes(4, "big")


def _unzip(row: Mapping[str, Any]) -> bytes:
    """The curves of a row, if it is as it was stored; never more than a bound, because the file may
    be anybody's.

    The checksum of the other values lies behind the compressed curves, where an older ifmixup does
    not look. What an older one stored has none.
    """
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(row["curves"], MAX_CURVES)
    if not unpacker.eof:
        raise StoreError("its curves are cut off or too long")
    if unpacker.unused_data not in (b"", _checksum(row)):
        raise StoreError("its values are not those that were stored: their checksum differs")
    return text


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
