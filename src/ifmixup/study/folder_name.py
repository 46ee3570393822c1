"""The name of a folder for the results of a dataset."""

from __future__ import annotations

_ALLOWED = "_.-"
_MOST = 100  # signs; file systems have an end


def folder_name(name: str) -> str:
    """``name`` as one folder: letters, digits and ``_ . -``, not hidden and never empty.

    The name of a dataset may come from a file, and must not lead out of the folder of results.
    """
    safe = "".join(sign if sign.isalnum() or sign in _ALLOWED else "_" for sign in name)
    return safe.lstrip(".")[:_MOST] or "graphs"
