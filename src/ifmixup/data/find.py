"""Where datasets are looked for. Nothing here touches the network."""

from __future__ import annotations

import os
from pathlib import Path

from ifmixup.errors import DatasetError

VARIABLE = "IFMIXUP_DATA"
"""The environment variable that names a folder of datasets."""

PathLike = str | os.PathLike[str]


def find(name: str, root: PathLike | None = None) -> Path | None:
    """The zip or folder that holds dataset ``name``, or ``None``; nothing is downloaded."""
    for place in places(root):
        # The zip first: unlike a folder it has checksums. "NAME/raw" is how PyG unpacks it.
        if os.path.isfile(place / f"{name}.zip"):
            return place / f"{name}.zip"
        for folder in (place / name / "raw", place / name, place / "raw", place):
            if os.path.isfile(folder / f"{name}_A.txt"):
                return folder
    return None


def places(root: PathLike | None = None) -> list[Path]:
    """The folders to look in, first to last: ``root``, the variable's, our own, the cache."""
    own = Path(__file__).parent  # where the MUTAG.zip lies that comes with the package
    named = [root_folder(root), variable_folder()]
    return [*(place for place in named if place is not None), own, cache_folder()]


def root_folder(root: PathLike | None) -> Path | None:
    """The ``root`` that the user gave, as a path."""
    if root is None:
        return None
    folder = Path(root).expanduser()
    if os.path.isfile(folder):
        raise DatasetError(f"root must be a folder, but {folder} is a file. Give its parent.")
    return folder


def variable_folder() -> Path | None:
    """The folder that the environment variable names, if it is set."""
    value = os.environ.get(VARIABLE)
    return Path(value).expanduser() if value else None


def cache_folder() -> Path:
    """The folder for downloads when no other is named."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification says to ignore relative ones
        base = os.path.expanduser("~/.cache")
    return Path(base) / "ifmixup"
