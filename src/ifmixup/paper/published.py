"""The numbers that the paper printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Published:
    """An accuracy of the paper over 3 runs of 10-fold cross-validation; no deviation where it is
    misprinted.
    """

    mean: float
    std: float | None


def published(experiment: str) -> dict[tuple[str, str], Published]:
    """What was published of an experiment, by dataset and variant; empty for figures.

    The paper's figures print no numbers, and reading them off bars would be guessing.
    """
    rows = _tables().get(experiment, {})
    return {
        (dataset, variant): Published(*cell)
        for dataset, cells in rows.items()
        for variant, cell in cells.items()
    }


def published_statistics() -> dict[str, dict[str, Any]]:
    """The paper's table of the datasets: graphs, mean nodes and edges, features, classes.

    The public PTC_MR has 344 graphs where the paper prints 334, and the paper counts the edges of
    the IMDB datasets once and those of the others twice.
    """
    return _tables()["statistics"]


@cache
def _tables() -> dict[str, dict[str, Any]]:
    text = files("ifmixup.paper").joinpath("published.json").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = json.loads(text)
    return tables
