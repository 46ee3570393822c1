"""The store: every run of a study, once, in a SQLite file that outlives whatever happens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ifmixup.errors import StoreError, unknown_name
from ifmixup.study.database import connect, explained
from ifmixup.study.engines.engine import Outcome
from ifmixup.study.record import STATUSES, Record
from ifmixup.study.rows import COLUMNS, of_row, to_row

FILE_NAME = "runs.sqlite"

# A done run stays as it is. A failed one gives way to a done one, and to another failure if that
# came later; :always says that this one did, whatever the clocks of two machines say.
_PUT = f"""
INSERT INTO runs ({COLUMNS}, curves)
VALUES (:key, :spec, :status, :metrics, :error, :seconds, :prepare_seconds, :versions, :host,
        :finished_at, :curves)
ON CONFLICT (key) DO UPDATE SET
    spec = excluded.spec, status = excluded.status, metrics = excluded.metrics,
    error = excluded.error, seconds = excluded.seconds,
    prepare_seconds = excluded.prepare_seconds, versions = excluded.versions,
    host = excluded.host, finished_at = excluded.finished_at, curves = excluded.curves
WHERE runs.status = 'failed'
    AND (:always OR excluded.status = 'done' OR excluded.finished_at > runs.finished_at)
"""


class Store:
    """The runs of a study.

    A run that was added is on the disk when :meth:`add` returns. Several processes of one machine
    may use the same folder at once, each with a store of its own; what several machines ran is
    brought together by export and import.

    Args:
        folder: The study's folder, made where it is missing. To read only, also the file itself.
        read_only: Nothing is made or changed.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder if read_only and folder.is_file() else folder / FILE_NAME
        if not read_only:
            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
        self._connection = connect(self.path, read_only=read_only)

    def add(self, outcome: Outcome) -> bool:
        """Keep what became of a run, at once and for good.

        Returns:
            Whether something was stored: a run that is done stays as it is.
        """
        with explained(self.path):
            row = to_row(Record.of_outcome(outcome))
            return self._connection.execute(_PUT, {**row, "always": True}).rowcount > 0

    def merge(self, records: Iterable[Record]) -> int:
        """Keep records from elsewhere, all or none; returns how many were new.

        The same records again, or in another order, change nothing.
        """
        with explained(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            return sum(
                self._connection.execute(_PUT, {**to_row(record), "always": False}).rowcount
                for record in records
            )

    def forget_failed(self, keys: Iterable[str]) -> int:
        """Remove those of the runs ``keys`` that failed; returns how many."""
        with explained(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            command = "DELETE FROM runs WHERE key = ? AND status = 'failed'"
            return sum(self._connection.execute(command, (key,)).rowcount for key in keys)

    def keys(self, status: str | None = None) -> set[str]:
        """The keys of all runs, or of those that are ``done`` or ``failed``."""
        if status is not None and status not in STATUSES:
            raise unknown_name("status", status, STATUSES)
        with explained(self.path):
            found = self._connection.execute(
                "SELECT key FROM runs WHERE ? IN (status, '')", (status or "",)
            )
            return {key for (key,) in found}

    def record(self, key: str, *, curves: bool = True) -> Record | None:
        """What is known of a run, or None.

        Args:
            key: The run's key.
            curves: False leaves the curves empty, which is faster.
        """
        columns = f"{COLUMNS}, curves" if curves else COLUMNS
        with explained(self.path):
            row = self._connection.execute(
                f"SELECT {columns} FROM runs WHERE key = ?", (key,)
            ).fetchone()
        try:
            return None if row is None else of_row(dict(row))
        except StoreError as error:
            raise self._damaged(key, error) from error

    def records(
        self,
        *,
        dataset: str | None = None,
        model: str | None = None,
        method: str | None = None,
        status: str | None = None,
        protocol: str | None = None,
        repeat: int | None = None,
        fold: int | None = None,
        curves: bool = True,
    ) -> Iterator[Record]:
        """The runs that agree with all that is given, sorted by what they are."""
        wanted = (dataset, model, method, protocol, repeat, fold)
        kept = self.keys(status)
        with explained(self.path):
            specs = self._connection.execute("SELECT key, spec FROM runs").fetchall()
        # By its text, since in somebody's file a key may be anything.
        places = [(self._place(key, spec), key) for key, spec in specs if key in kept]
        places.sort(key=lambda entry: (entry[0], repr(entry[1])))
        for place, key in places:
            if all(want in (None, value) for want, value in zip(wanted, place, strict=True)):
                record = self.record(key, curves=curves)
                if record is not None:  # it may have been a failed one, forgotten meanwhile
                    yield record

    def close(self) -> None:
        """Let go of the file."""
        with explained(self.path):
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _place(self, key: str, spec: str) -> tuple[Any, ...]:
        """What a run is sorted and chosen by."""
        try:
            values = json.loads(spec)
            settings = values["settings"]
            texts = (values["dataset"], settings["model"], settings["method"], values["protocol"])
            return (*map(str, texts), int(values["repeat"]), int(values["fold"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._damaged(key, error) from error

    def _damaged(self, key: str, error: Exception) -> StoreError:
        return StoreError(
            f"Run {key!r} in {self.path} is damaged ({error}). To keep the others, import this "
            f"file into a new study: ifmixup runs NEW --import {self.path}"
        )
