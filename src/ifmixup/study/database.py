"""The SQLite file of a study: made once, known again, and its troubles in plain words."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ifmixup.errors import StoreError

APPLICATION_ID = int.from_bytes(b"ifmx", "big")
SCHEMA = 1
BUSY_SECONDS = 60.0

_MAGIC = b"SQLite format 3\0"
_TABLE = """
CREATE TABLE runs (
    key TEXT NOT NULL PRIMARY KEY,
    spec TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    curves BLOB,
    metrics TEXT,
    error TEXT,
    seconds REAL,
    prepare_seconds REAL,
    versions TEXT NOT NULL,
    host TEXT NOT NULL,
    finished_at TEXT NOT NULL
)
"""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the database at ``path``; unless ``read_only``, make it where it is missing.

    Raises:
        StoreError: If the file is not a database of ours, which is then left as it is.
    """
    with explained(path):
        new = _is_new(path)
        if read_only and new:
            raise StoreError(f"{path} holds no runs: it does not exist or is empty.")
        connection = _connect_to_read(path) if read_only else _connect_to_write(path, new)
    connection.row_factory = sqlite3.Row
    # Text that is damaged comes out as such, so that the row can be named.
    connection.text_factory = lambda content: content.decode(errors="replace")
    return connection


def _connect_to_write(path: Path, new: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")  # an answer means: it is on the disk
        if new:
            _create(connection)
        _use_wal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_new(path: Path) -> bool:
    """Whether there is nothing yet. What is not ours is refused before SQLite touches it."""
    try:
        with path.open("rb") as stream:
            header = stream.read(100)
    except FileNotFoundError:
        return True
    if not header:  # SQLite makes an empty file first; a process may have been killed right then
        return True
    # Where SQLite's file format has the two numbers. Ours never change after the first commit.
    schema, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    if not header.startswith(_MAGIC) or application != APPLICATION_ID:
        raise StoreError(
            f"{path} is not a database of ifmixup's runs. It is left as it is; "
            f"choose another folder or move it away."
        )
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
    return False


def _create(connection: sqlite3.Connection) -> None:
    """Make table and marks in one transaction, unless another process has just done so."""
    connection.execute("BEGIN EXCLUSIVE")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Let reading and writing go on beside each other, where the file system can do that."""
    # Without it all is as safe, only slower: SQLite stays with its rollback journal.
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if "full" in str(error):
            raise


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open without writing, also where nothing can be written."""
    address = f"{path.resolve().as_uri()}?mode=ro"
    # A log that is not empty holds runs; without one the file itself is all there is.
    logs = (path.with_name(f"{path.name}-{kind}") for kind in ("wal", "journal"))
    whole = not any(log.exists() and log.stat().st_size for log in logs)
    for options in ("", "&immutable=1") if whole else ("",):
        connection = sqlite3.connect(
            address + options, uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        try:
            connection.execute("SELECT count(*) FROM runs WHERE key = ''").fetchone()
            return connection
        except sqlite3.Error as error:
            connection.close()
            trouble = error
    raise trouble


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
            "the disk is full. What was finished is kept. Free some space and give the same "
            "command again: it goes on where it stopped."
        )
    if "locked" in text:
        return (
            f"another process has held it for more than {BUSY_SECONDS:.0f} s. "
            "Give the same command again when that is done."
        )
    if "I/O" in text:
        return f"{text}. The disk may be full, over its quota or broken; what was finished is kept."
    if "malformed" in text or "not a database" in text:
        return f"the file is damaged ({text}). Bring back a copy, or move it away to begin anew."
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
