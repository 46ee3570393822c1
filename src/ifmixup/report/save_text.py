"""Saving text: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from ifmixup.errors import InputError
from ifmixup.safe_io import atomically


def save_text(text: str, path: Path) -> None:
    """Write ``text`` to ``path``, replacing what is there.

    Raises:
        InputError: If that cannot be; what was there is then as it was.
    """
    try:
        with atomically(path) as unfinished:
            # Text from a file may hold what UTF-8 cannot say: half of a pair of surrogates.
            unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error
