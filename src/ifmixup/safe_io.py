"""Files that are there whole or not at all, names that are safe, and text that is safe to print."""

from __future__ import annotations

import errno
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ifmixup.errors import DatasetError, InputError, StoreError

VARIABLE = "IFMIXUP_MAX_BYTES"

_IN_NAMES = "_.-"
_LONGEST_NAME = 100  # characters; file systems have a limit


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A temporary path to write to; the file replaces ``path`` if the block ends without an error.

    Otherwise it is removed, and ``path`` is unchanged.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
        >>> with atomically(path) as unfinished:
        ...     _ = unfinished.write_text("1 2 3")
        >>> path.read_text()
        '1 2 3'
    """
    # In the same folder, because a file cannot be moved between disks in one step.
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield unfinished
        with unfinished.open("r+b") as stream:  # on the disk before it has the name
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, patience: float = 60.0) -> Iterator[None]:
    """Only one process at a time changes ``path``; the others wait.

    The lock is a hidden file beside it, and ends with the process that holds it. Where the file
    system has no locks nobody waits.

    Raises:
        StoreError: If another process has held the lock for ``patience`` seconds.
    """
    try:
        import fcntl

        stream = path.with_name(f".{path.name}.lock").open("ab")
    except (ImportError, OSError):  # Windows, or a folder that cannot be written: said elsewhere
        yield
        return
    with stream:
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise StoreError(
                        f"{path}: another process has held it for more than {patience:.0f} s. Run "
                        f"the same command again when it is done."
                    ) from error
                time.sleep(0.02)
                continue
            except OSError:  # a file system without locks
                pass
            break
        yield


def has_locks(folder: Path) -> bool:
    """Whether files in ``folder`` can be locked: some network file systems cannot.

    Where that cannot be tried, as in a folder that cannot be written, the answer is yes.
    """
    try:
        import fcntl
        import tempfile
    except ImportError:  # Windows, where SQLite has locks of another kind
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as stream:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
    return True


def max_bytes(usual: int) -> int:
    """How many bytes a part of an untrusted file may have in memory: what is ``usual`` for it, or
    the number in the environment variable ``IFMIXUP_MAX_BYTES``.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return usual
    if not text.isdecimal() or len(text) > 18:
        raise InputError(f"{VARIABLE} must be a number of bytes, such as {usual}; got {text!r}.")
    return int(text)


def allow_bytes(most: int | None) -> None:
    """Set that number for this process and those that it starts; None leaves it as it is."""
    if most is None:
        return
    if not 0 < most < 10**18:
        raise InputError(f"max_bytes must be a number of bytes, such as 8000000000; got {most}.")
    os.environ[VARIABLE] = str(most)


def check_size(what: str, size: int, usual: int) -> None:
    """Refuse what is too large to be read, before it is read; the message says how to allow it."""
    most = max_bytes(usual)
    if size > most:
        raise DatasetError(
            f"{what} holds {size} bytes, more than the {most} allowed. If you trust it, allow more "
            f"with the option --max-bytes or the environment variable {VARIABLE}."
        )


def cache_folder() -> Path:
    """The user's folder for what can be downloaded or computed again."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification says to ignore relative ones
        base = os.path.expanduser("~/.cache")
    return Path(base) / "ifmixup"


def folder_name(name: str) -> str:
    """``name`` as the name of one folder: letters, digits and ``_ . -``, not hidden, never empty.

    The name of a dataset may come from an untrusted file, and must not lead out of the folder of
    results.
    """
    safe = "".join(sign if sign.isalnum() or sign in _IN_NAMES else "_" for sign in name)
    return safe.lstrip(".")[:_LONGEST_NAME] or "graphs"


def printable(value: object, most: int | None = 200) -> str:
    """``value`` as one line of at most ``most`` characters, None for any number.

    There is a ? for every character that a terminal would obey.
    """
    text = str(value)
    short = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
    return "".join(sign if sign.isprintable() else "?" for sign in short)


def printable_lines(value: object) -> str:
    """The same for text of several lines, which stay lines."""
    return "\n".join(printable(line, None) for line in str(value).split("\n"))
