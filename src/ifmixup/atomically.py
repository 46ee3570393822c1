"""Writing a file so that whoever looks sees the old one or the new one, never half of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A name to write to; what is written there takes the place of ``path`` when all went well.

    Otherwise it is removed, and what was at ``path`` is as it was.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
        >>> with atomically(path) as unfinished:
        ...     _ = unfinished.write_text("1 2 3")
        >>> path.read_text()
        '1 2 3'
    """
    # In the same folder, as a file cannot be moved between disks in one step.
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield unfinished
        with unfinished.open("r+b") as stream:  # on the disk before it has the name
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
