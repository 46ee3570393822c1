"""Molecules of a table that were read before, kept on disk by content.

Parsing SMILES takes milliseconds per molecule, at every start. What was read of a file is kept in
the folder ``tables`` of the user's cache (``~/.cache/ifmixup``), or in the folder that the
environment variable ``IFMIXUP_CACHE`` names; ``IFMIXUP_CACHE=off`` keeps nothing. It is found by a
digest of the file's bytes, of how it is read, and of the versions of ifmixup and RDKit. The files
take at most 2 GB; the least recently used ones go first. They are not trusted: only tensors and
text are loaded, and a file that is broken is read from its source again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.dataset import GraphDataset, Rows, Skipped
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.safe_io import atomically, cache_folder
from ifmixup.tensor_files import load_tensors

VARIABLE, OFF = "IFMIXUP_CACHE", "off"
FORMAT = 1  # another number makes new files: count up when the reading of molecules changes
MOST_BYTES = 2**31
_KNOWN = ("task", "metric", "class_names")


def remembered(
    path: Path, options: Mapping[str, Any], read: Callable[[], GraphDataset]
) -> GraphDataset:
    """What ``read`` gives of the table at ``path``, from the cache if it is there.

    Args:
        path: The file.
        options: All that decides how it is read, as plain values.
        read: Reads it.
    """
    root = _folder()
    if root is None or not path.is_file():
        return read()
    kept = root / f"table-{_digest(path, options)}.pt"
    try:
        found = _dataset(load_tensors(kept))
        os.utime(kept)  # used just now
        return found
    except FileNotFoundError:
        pass
    except Exception:  # whatever a broken or foreign file raises: the source is there
        kept.unlink(missing_ok=True)
    dataset = read()
    if dataset.slices is None:  # a single graph is read as fast
        return dataset
    try:
        root.mkdir(parents=True, exist_ok=True)
        with atomically(kept) as unfinished:
            torch.save(_values(dataset), unfinished)
        _make_room(root)
    except (OSError, RuntimeError):  # a full disk, say: it is only slower the next time
        pass
    return dataset


def _folder() -> Path | None:
    named = os.environ.get(VARIABLE, "")
    if named.lower() == OFF:
        return None
    root = Path(named).expanduser() if named else cache_folder()
    return root / "tables" if named or root.is_absolute() else None


def _digest(path: Path, options: Mapping[str, Any]) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            hasher.update(block)
    versions = {name: _version(name) for name in ("ifmixup", "rdkit", "torch")}
    about = {"format": FORMAT, "name": path.name, "options": dict(options), "versions": versions}
    hasher.update(json.dumps(about, sort_keys=True, default=str).encode())
    return hasher.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _values(dataset: GraphDataset) -> dict[str, Any]:
    """A dataset as tensors, and the rest as the bytes of JSON."""
    rows = dataset.rows
    about = {
        "name": dataset.name,
        "ids": list(dataset.ids),
        **{name: getattr(dataset, name) for name in _KNOWN},
        "encoder": None if dataset.encoder is None else dataset.encoder.to_dict(),
        "skipped": [asdict(each) for each in dataset.skipped],
        "rows": None
        if rows is None
        else {
            "index": list(map(int, rows.index)),
            "smiles": None if rows.smiles is None else list(rows.smiles),
            "columns": {name: list(cells) for name, cells in rows.columns.items()},
            "total": rows.total,
        },
    }
    tensors = {key: value for key, value in dataset._data if isinstance(value, Tensor)}
    slices = {key: torch.as_tensor(value) for key, value in dataset.slices.items()}
    text = json.dumps(about).encode()
    return {
        "tensors": tensors,
        "slices": {key: value for key, value in slices.items() if key in tensors},
        "about": torch.frombuffer(bytearray(text), dtype=torch.uint8),
    }


def _dataset(values: Any) -> GraphDataset:
    """The inverse of :func:`_values`, of a file that may be anybody's."""
    about = json.loads(values["about"].numpy().tobytes())
    tensors, slices = dict(values["tensors"]), dict(values["slices"])
    ends = {int(each[-1]) for key, each in slices.items() if key in ("x", "y")}
    if tensors.keys() != slices.keys() or not ends or not tensors["x"].is_floating_point():
        raise ValueError("parts are missing")
    for key, tensor in tensors.items():
        if int(slices[key][-1]) != tensor.size(1 if key == "edge_index" else 0):
            raise ValueError(f"{key} is not whole")
    encoder, rows = about.pop("encoder"), about.pop("rows")
    skipped = [Skipped(**each) for each in about.pop("skipped")]
    return GraphDataset(
        about.pop("name"),
        Data(**tensors),
        slices,
        **about,
        encoder=None if encoder is None else FeatureEncoder.of(encoder),
        skipped=skipped,
        rows=None if rows is None else Rows(**rows),
    )


def _make_room(root: Path) -> None:
    """Remove the least recently used files, as long as all take too much."""
    files = sorted(root.glob("table-*.pt"), key=lambda each: each.stat().st_mtime)
    total = sum(each.stat().st_size for each in files)
    for each in files[:-1]:
        if total <= MOST_BYTES:
            return
        total -= each.stat().st_size
        each.unlink(missing_ok=True)
