"""The store: every run of a study, once, in a SQLite file."""

from __future__ import annotations

import errno
import gc
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ifmixup.errors import StoreError, known_name
from ifmixup.safe_io import has_locks
from ifmixup.values import as_dict, decode_number

if TYPE_CHECKING:  # which would import torch: a list of runs does not need it
    from ifmixup.study.record import Record
    from ifmixup.training.run_spec import RunSpec

STATUSES = ("done", "failed")
FILE_NAME = "runs.sqlite"
APPLICATION_ID = int.from_bytes(b"ifmx", "big")
SCHEMA = 3
BUSY_SECONDS = 60.0

_COLUMNS = {
    "key": "TEXT NOT NULL PRIMARY KEY",
    "dataset": "TEXT NOT NULL",
    "model": "TEXT NOT NULL",
    "method": "TEXT NOT NULL",
    "repeat": "INTEGER NOT NULL",
    "fold": "INTEGER NOT NULL",
    "spec": "TEXT NOT NULL",
    "status": "TEXT NOT NULL CHECK (status IN ('done', 'failed'))",
    "metrics": "TEXT",
    "error": "TEXT",
    "seconds": "REAL",
    "prepare_seconds": "REAL",
    "versions": "TEXT NOT NULL",
    "host": "TEXT NOT NULL",
    "finished_at": "TEXT NOT NULL",
    "curves": "BLOB",  # last: what lies behind it can be read only by passing all of it
}
# A done run stays as it is. A failed one gives way to a done one, and to another failure if that
# came later; :always says that this one did, whatever the clocks of two machines say.
_PUT = f"""
INSERT INTO runs ({", ".join(_COLUMNS)}) VALUES ({", ".join(f":{name}" for name in _COLUMNS)})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{n} = excluded.{n}" for n in [*_COLUMNS][1:])}
WHERE runs.status = 'failed'
    AND (:always OR excluded.status = 'done' OR excluded.finished_at > runs.finished_at)
"""
_AT_ONCE = 500  # keys in one query
_SHOWN = (
    "key", "dataset", "model", "method", "repeat", "fold", "status", "metrics", "seconds", "error",
)  # fmt: skip
_FILTERS = ("dataset", "model", "method", "status", "repeat", "fold")


class Store:
    """The runs of a study.

    A run that was added is on the disk when :meth:`add` returns. Several processes of one machine
    may use the same folder at once, each with a store of its own; what several machines ran is
    brought together by export and import.

    Args:
        folder: The study's folder, made where it is missing. To read only, also the file itself.
        read_only: Nothing is made or changed.

    Attributes:
        damaged: By key, what is wrong with runs that were to be read and could not: they are left
            out of what is read.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder if read_only and folder.is_file() else folder / FILE_NAME
        if not read_only:
            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
        self.read_only = read_only
        self.damaged: dict[str, str] = {}
        self._connection = _connect(self.path, read_only=read_only)

    def add(self, record: Record) -> bool:
        """Keep what became of a run, at once and for good; returns whether something was stored: a
        run that is done stays as it is.
        """
        with explained(self.path):
            row = {**record.to_row(), "always": True}
            return self._connection.execute(_PUT, row).rowcount > 0

    def merge(self, records: Iterable[Record]) -> int:
        """Keep records from elsewhere, all or none; returns how many were new.

        The same records again, or in another order, change nothing.
        """
        with explained(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            return sum(
                self._connection.execute(_PUT, {**record.to_row(), "always": False}).rowcount
                for record in records
            )

    def set_aside(self, record: Record) -> None:
        """Replace a run that cannot be used by its failure, to be tried again like any other."""
        with explained(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM runs WHERE key = ?", (record.key,))
            self._connection.execute(_PUT, {**record.to_row(), "always": True})

    def keys(self, status: str | None = None) -> set[str]:
        """The keys of all runs, or of those that are ``done`` or ``failed``."""
        known_name("status", "done" if status is None else status, STATUSES)
        with explained(self.path):
            found = self._connection.execute(
                "SELECT key FROM runs WHERE ? IN (status, '')", (status or "",)
            )
            return {key for (key,) in found}

    def get(
        self,
        keys: Iterable[str],
        *,
        curves: bool = True,
        specs: Mapping[str, RunSpec] = MappingProxyType({}),
    ) -> dict[str, Record]:
        """Those of the runs ``keys`` that are there, by key; without ``curves`` it is faster.

        What ``specs`` has by key is taken from there instead of decoding it for every run.
        """
        found: dict[str, Record] = {}
        wanted = iter(dict.fromkeys(keys))
        with _no_collection():
            while some := list(islice(wanted, _AT_ONCE)):
                where = f"key IN ({', '.join('?' * len(some))})"
                for record in self._records(where, some, curves, specs):
                    found[record.key] = record
        return found

    def records(self, *, curves: bool = True, **wanted: str | int) -> Iterator[Record]:
        """The runs that agree with all that is ``wanted``, sorted by what they are: a ``dataset``,
        ``model``, ``method``, ``status``, ``repeat`` or ``fold``. Without ``curves`` it is faster.
        """
        yield from self._records(_where(wanted), wanted, curves)

    def overview(self, **wanted: str | int) -> Iterator[dict[str, Any]]:
        """What a list shows of the same runs, as values by name: ``key``, ``dataset``, ``model``,
        ``method``, ``repeat``, ``fold``, ``status``, ``metrics``, ``seconds`` and ``error``.

        Nothing else is read, so tens of thousands of runs take a second.
        """
        for row in self._rows(_SHOWN, _where(wanted), wanted):
            try:
                known_name("status", str(row["status"]), STATUSES)
                metrics = {} if row["metrics"] is None else json.loads(row["metrics"])
                numbers = {name: decode_number(value) for name, value in as_dict(metrics).items()}
                seconds = None if row["seconds"] is None else decode_number(row["seconds"])
                yield {**dict(row), "metrics": numbers, "seconds": seconds}
            except (ValueError, TypeError, RecursionError) as error:
                self.damaged[row["key"]] = str(error)

    def values(self, column: str) -> list[str]:
        """The values that there are of what runs can be filtered by, sorted."""
        known_name("filter", column, _FILTERS)
        found = self._rows((column,), "1 GROUP BY 1", ())
        return sorted(str(value) for (value,) in found)

    def rows(self) -> Iterator[tuple[str, Record | StoreError]]:
        """Every run, or what is wrong with it, by key: to save what can be saved of a store."""
        for key in sorted(self.keys(), key=repr):
            try:
                found = self.get([key])
                if key not in found:
                    raise StoreError(self.damaged.get(key, "its key is not text"))
                yield key, found[key]
            except StoreError as error:
                yield key, error

    def damage(self) -> list[str]:
        """What to say of the runs that could not be read, one line for each."""
        return [f"Run {key} in {self.path} is damaged: {why}" for key, why in self.damaged.items()]

    def close(self) -> None:
        """Let go of the file."""
        with explained(self.path):
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _records(
        self,
        where: str,
        values: Any,
        curves: bool,
        specs: Mapping[str, RunSpec] = MappingProxyType({}),
    ) -> Iterator[Record]:
        from ifmixup.study.record import Record

        columns = [name for name in _COLUMNS if curves or name != "curves"]  # which are large
        for row in self._rows(columns, where, values):
            try:
                yield Record.of_row(dict(row), specs.get(row["key"]))
            except StoreError as error:
                self.damaged[row["key"]] = str(error)

    def _rows(self, columns: Iterable[str], where: str, values: Any) -> Iterator[sqlite3.Row]:
        with explained(self.path):
            query = f"SELECT {', '.join(columns)} FROM runs WHERE {where}"
            yield from self._connection.execute(query, values)


def _where(wanted: Mapping[str, str | int]) -> str:
    """The condition of a query for runs that agree with what is wanted, and their order."""
    for name in wanted:
        known_name("filter", name, _FILTERS)
    known_name("status", str(wanted.get("status", "done")), STATUSES)
    where = " AND ".join(f"{name} = :{name}" for name in wanted) or "1"
    return f"{where} ORDER BY dataset, model, method, repeat, fold, key"


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open the database at ``path``, and make it where it is missing unless ``read_only``; a file
    that is not ours is left as it is.
    """
    with explained(path):
        new = not path.exists() or not path.stat().st_size
        if read_only and new:
            raise StoreError(f"{path} holds no runs: it does not exist or is empty.")
        # Without locks nobody waits; SQLite would wait for them, and in vain.
        locks = "" if has_locks(path.parent) else "&nolock=1"
        if not new and not read_only:
            _roll_back(path, locks)
            new = not path.stat().st_size
        if not new:
            _connect_to_read(path, locks).close()  # what is not ours is refused untouched
        if read_only:
            connection = _connect_to_read(path, locks)
        else:
            connection = _connect_to_write(path, locks, new)
    connection.row_factory = sqlite3.Row
    # Text that is damaged is read as such, so that the row can be named.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


def _roll_back(path: Path, locks: str) -> None:
    """Undo what a process had half written when it was killed, if it left a journal of that.

    Nothing can be read before; to do it SQLite needs the right to write.
    """
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists() and journal.stat().st_size:
        connection = sqlite3.connect(_address(path, "rw", locks), uri=True, timeout=BUSY_SECONDS)
        with suppress(sqlite3.DatabaseError):  # what is wrong is said when it is opened
            connection.execute("PRAGMA application_id").fetchone()
        connection.close()


def _connect_to_write(path: Path, locks: str, new: bool) -> sqlite3.Connection:
    address = _address(path, "rwc", locks)
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")  # an answer means: it is on the disk
        if new:
            # One transaction, unless another process has just done so.
            connection.execute("BEGIN EXCLUSIVE")
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
                connection.execute(f"CREATE TABLE runs ({columns})")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute("COMMIT")
        # Lets reading and writing go on beside each other, where the file system can do that.
        # Without it all is as safe, only slower: SQLite stays with its rollback journal.
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise
    except BaseException:
        connection.close()
        raise
    return connection


def _address(path: Path, mode: str, options: str) -> str:
    return f"{path.resolve().as_uri()}?mode={mode}{options}"


def _connect_to_read(path: Path, options: str) -> sqlite3.Connection:
    """Open without writing, also where nothing can be written, and check that it is ours."""
    address = _address(path, "ro", options)
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _check_ours(connection, path)
    except BaseException as error:
        connection.close()
        # A log that is not empty holds runs; without one the file itself is all there is.
        logs = (path.with_name(f"{path.name}-{kind}") for kind in ("wal", "journal"))
        whole = not any(log.exists() and log.stat().st_size for log in logs)
        if "immutable" in options or not whole or not isinstance(error, sqlite3.Error):
            raise
        return _connect_to_read(path, f"{options}&immutable=1")
    return connection


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if "not a database" not in str(error):
            raise
        application = None
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is not a database of ifmixup's runs. It is left as it is; "
            f"choose another folder or move it away."
        )
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if schema != SCHEMA:
        age, advice = (
            ("a newer", "Upgrade ifmixup")
            if schema > SCHEMA
            else ("an older", "Export it as .jsonl with that version and import it here")
        )
        raise StoreError(
            f"{path} was written by {age} ifmixup (schema {schema}; this one has {SCHEMA}). "
            f"It is left as it is. {advice}, or choose another folder."
        )
    connection.execute("SELECT count(*) FROM runs WHERE key = ''").fetchone()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector, which would look at all runs again and again as they are read:
    a sixth of the time. There are no cycles in them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or of the disk into a :class:`StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: {_what_to_do(path, error)}") from error


def _what_to_do(path: Path, error: Exception) -> str:
    text = str(error)
    if "full" in text or _is_full(path, error):
        return (
            "the disk is full. What was finished is kept. Free some space and run the same "
            "command again: it continues where it stopped."
        )
    if "locked" in text:
        return (
            f"another process has held it for more than {BUSY_SECONDS:.0f} s. Run the same "
            f"command again when it is done."
        )
    if "I/O" in text:
        return f"{text}. The disk may be full, over its quota or broken; what was finished is kept."
    if "readonly" in text and path.with_name(f"{path.name}-journal").exists():
        return (
            "a process was killed while it wrote. Run the command that writes to this folder "
            "again: it undoes the unfinished write."
        )
    if "malformed" in text or "not a database" in text:
        return f"the file is damaged ({text}). Restore a copy, or move it away to start again."
    return f"cannot be used ({text})."


def _is_full(path: Path, error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    # On a full disk SQLite cannot make its helper files either, and then speaks of an I/O error
    # or of a file that it cannot open.
    try:
        lacking = shutil.disk_usage(path.parent).free < 65536
    except OSError:
        return False
    return lacking and ("I/O" in str(error) or "unable to open" in str(error))
