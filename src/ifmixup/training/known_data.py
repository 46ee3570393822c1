"""What ``recommended.json`` knows: the paper's datasets, by their graphs, and kinds of data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ifmixup.data.smiles import ATOM_COLUMNS, BOND_COLUMNS
from ifmixup.training.packed import PackedDataset, fingerprint_of

_MOST_GRAPHS = 5_000  # more than any of the paper's datasets has


@cache
def known_settings() -> dict[str, Any]:
    """The content of the file."""
    text = files("ifmixup.training").joinpath("recommended.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def papers_dataset(data: PackedDataset) -> dict[str, Any] | None:
    """What is known of one of the paper's eight datasets, whatever it is called; else None."""
    known = known_settings()["datasets"].values()
    return next((each for each in known if each["data"] == data.fingerprint), None)


def is_papers(data: PackedDataset) -> bool:
    """Whether these are the graphs of one of the paper's eight datasets, by whatever metric they
    are judged.
    """
    if papers_dataset(data) is not None:
        return True
    if len(data) > _MOST_GRAPHS:
        return False
    own = fingerprint_of(data.graphs)
    return any(each["data"] == own for each in known_settings()["datasets"].values())


def kind_of(data: PackedDataset) -> str | None:
    """``"molecules"`` for graphs with the standard features of atoms and bonds, and where numbers
    are predicted ``"regression on molecules"``; else None.
    """
    columns = {
        level: [str(column.get("name")) for column in (data.encoder or {}).get(level) or ()]
        for level in ("nodes", "edges")
    }
    known = {"nodes": list(ATOM_COLUMNS), "edges": list(BOND_COLUMNS)}
    if columns != known or data.edge_dim is None:
        return None
    return "regression on molecules" if data.task == "values" else "molecules"
