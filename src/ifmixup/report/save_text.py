"""Saving text: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ifmixup.errors import InputError


def save_text(text: str, path: Path) -> None:
    """Write ``text`` to ``path``, replacing what is there.

    Raises:
        InputError: If that cannot be; what was there is then as it was.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # Text from a file may hold what UTF-8 cannot say, such as half of a pair of surrogates.
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
