"""A run as it is stored: what was run, what came out, where and when, as plain values.

Records come from files that nobody vouches for, so that every value is looked at on the way in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, get_type_hints

import torch

from ifmixup.errors import InputError, StoreError
from ifmixup.study.engines.engine import Outcome
from ifmixup.study.plain_values import (
    a_list,
    check,
    mapping,
    number,
    plain,
    same_names,
    seconds,
    utc,
)
from ifmixup.training import RunResult, RunSpec, Settings

STATUSES = ("done", "failed")

_SPEC = {name: hint for name, hint in get_type_hints(RunSpec).items() if name != "settings"}
_SETTINGS = get_type_hints(Settings)


@dataclass(frozen=True)
class Record:
    """What is known of a run.

    Attributes:
        key: The key of the spec's content.
        spec: The run.
        status: ``done`` or ``failed``.
        result: What it measured; None if it failed.
        error: Why it failed; None if it did not.
        versions: What was installed where it ran.
        host: The machine that ran it.
        finished_at: When, in UTC, as ISO 8601.
    """

    key: str
    spec: RunSpec
    status: str
    result: RunResult | None
    error: str | None
    versions: dict[str, str]
    host: str
    finished_at: str

    @staticmethod
    def of_outcome(outcome: Outcome) -> Record:
        """The record of a run that has finished just now."""
        if (outcome.result is None) == (outcome.error is None):
            raise InputError("An outcome has either a result or an error; got both or neither.")
        return Record(
            key=outcome.spec.key,
            spec=outcome.spec,
            status="failed" if outcome.result is None else "done",
            result=outcome.result,
            error=outcome.error,
            versions=outcome.versions,
            host=outcome.host,
            finished_at=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        )

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has: numbers that are not finite become ``"nan"`` or ``"inf"``."""
        result = None
        if self.result is not None:
            result = {
                "metrics": {name: plain(value) for name, value in self.result.metrics.items()},
                "seconds": self.result.seconds,
                "prepare_seconds": self.result.prepare_seconds,
                "curves": {
                    name: [plain(value) for value in values]
                    for name, values in self.result.curves.items()
                },
            }
        return {**vars(self), "spec": self.spec.to_dict(), "result": result}

    @staticmethod
    def of(values: Any) -> Record:
        """The inverse of :meth:`to_dict`.

        Raises:
            StoreError: If a value is missing, unknown, of the wrong type or out of range.
        """
        try:
            same_names("the record", mapping(values), Record.__dataclass_fields__)
            for name in ("key", "host", "finished_at"):
                check(name, values[name], str)
            check("error", values["error"], str | None)
            for name, version in mapping(values["versions"]).items():
                check(f"the version of {name}", version, str)
            status, result = values["status"], values["result"]
            if status not in STATUSES or (status == "done") != (result is not None):
                raise StoreError(f"the status {status!r} does not go with what it has")
            return Record(
                **{
                    **values,
                    "spec": _spec(values["spec"]),
                    "result": None if result is None else _result(result),
                    "finished_at": utc(values["finished_at"]),
                }
            )
        except StoreError:
            raise
        # Settings and numbers that nobody vouches for: TypeError, OverflowError, RuntimeError, ...
        except Exception as error:
            raise StoreError(f"{type(error).__name__}: {error}") from error


def _spec(values: Any) -> RunSpec:
    settings = mapping(mapping(values).get("settings"))
    same_names("the spec", values, {**_SPEC, "settings": Any})
    for name, hint in _SPEC.items():
        check(name, values[name], hint)
    for name, value in settings.items():
        if name in _SETTINGS:  # a name that is not known is answered by the settings themselves
            check(name, value, _SETTINGS[name])
    return RunSpec(**{**values, "settings": _settings(json.dumps(settings))})


@lru_cache(maxsize=4096)
def _settings(text: str) -> Settings:
    """Settings, once for the many runs that share them.

    Settings build a model to see whether its options are right. On the device ``meta`` that takes
    no memory, however wide the model of a hostile file, and leaves the random state alone.
    """
    with torch.device("meta"):
        return Settings.of(json.loads(text))


def _result(values: Any) -> RunResult:
    same_names("the result", mapping(values), RunResult.__dataclass_fields__)
    return RunResult(
        curves={
            name: [number(value) for value in a_list(curve)]
            for name, curve in mapping(values["curves"]).items()
        },
        metrics={name: number(value) for name, value in mapping(values["metrics"]).items()},
        seconds=seconds(values["seconds"]),
        prepare_seconds=seconds(values["prepare_seconds"]),
    )
