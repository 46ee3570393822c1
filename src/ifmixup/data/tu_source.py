"""A dataset in TU format: by its name, or a folder or zip that a path leads to."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from ifmixup.data.dataset import GraphDataset
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.files import read_files
from ifmixup.data.names import check_name
from ifmixup.data.tu import parse
from ifmixup.errors import DatasetError, InputError


def read_tu(
    path: Path,
    name: str,
    *,
    task: str | None = None,
    metric: str | None = None,
    encoder: FeatureEncoder | None = None,
    labelled: bool = True,
) -> GraphDataset:
    """The dataset ``name`` in a folder or zip."""
    if labelled and task not in (None, "classes"):
        raise InputError(
            f"{name} is in TU format, whose labels are classes; the task cannot be {task!r}."
        )
    parsed = parse(read_files(path, name), str(path), name, encoder, labelled=labelled)
    return GraphDataset(
        name,
        parsed.data,
        parsed.slices,
        task=task or "classes",
        metric=metric,
        class_names=parsed.class_names,
        encoder=parsed.encoder,
    )


def tu_in(path: Path) -> tuple[Path, str] | None:
    """The folder or zip with a TU dataset that is at ``path``, and its name; None if none is.

    Raises:
        DatasetError: If there are several.
    """
    if path.is_dir():
        for folder in (path, path / "raw"):
            found = [file.name.removesuffix("_A.txt") for file in folder.glob("*_A.txt")]
            if found:
                return folder, _only(found, path)
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise DatasetError(f"{path} is not a zip that can be read ({error}).") from error
    matches = [re.fullmatch(r"(?:[^/]+/)?([^/]+)_A\.txt", member) for member in members]
    found = [match[1] for match in matches if match is not None]
    return (path, _only(found, path)) if found else None


def _only(names: list[str], path: Path) -> str:
    if len(names) > 1:
        shown = ", ".join(sorted(names)[:5])
        raise DatasetError(
            f"{path} holds {len(names)} datasets: {shown}. Give the name of one, and root={path}."
        )
    return check_name(names[0])
