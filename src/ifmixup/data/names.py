"""The names of datasets: the paper's eight, how the paper shortens them, and what a name may be."""

from __future__ import annotations

import difflib
import re

from ifmixup.errors import DatasetError

NAMES = (
    "PTC_MR",
    "NCI109",
    "NCI1",
    "MUTAG",
    "ENZYMES",
    "PROTEINS",
    "IMDB-MULTI",
    "IMDB-BINARY",
)
"""The paper's eight datasets, in the order of its tables."""

_KNOWN = {name.lower(): name for name in NAMES} | {
    "imdb-m": "IMDB-MULTI",
    "imdb-b": "IMDB-BINARY",
}
# A name becomes part of paths and of an address: it starts with a letter or a digit, so "..",
# "/" and "-x" are not names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def canonical(name: str) -> str:
    """The collection's spelling of ``name``: one of the eight in any case, else as given.

    Raises:
        DatasetError: If ``name`` cannot be the name of a dataset.
    """
    return _KNOWN.get(check_name(name).lower(), name)


def is_name(text: str) -> bool:
    """Whether ``text`` can be the name of a dataset."""
    return bool(_NAME.fullmatch(text))


def check_name(name: str) -> str:
    """``name`` if it can be the name of a dataset."""
    if not isinstance(name, str) or not is_name(name):
        raise DatasetError(
            f"{name!r} cannot be the name of a dataset: a name has letters, digits, '_', '.' and "
            f"'-' only. The paper's are {', '.join(NAMES)}."
        )
    return name


def suggestion(name: str) -> str:
    """`` Did you mean 'NCI1'?`` for a name that is almost one of the eight, else nothing."""
    if name in NAMES:
        return ""
    near = difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.7)
    return f" Did you mean {_KNOWN[near[0]]!r}?" if near else ""
