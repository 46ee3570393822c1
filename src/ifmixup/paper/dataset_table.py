"""The paper's table of its datasets: what is here, beside what was published."""

from __future__ import annotations

import os

from rich.table import Table

from ifmixup.data import NAMES, load
from ifmixup.data.catalog import find
from ifmixup.data.statistics import Statistics, statistics
from ifmixup.errors import DatasetError
from ifmixup.paper.published import published_statistics

HEAD = ("dataset", "graphs", "nodes", "edges", "features", "classes")
NOTE = (
    "Nodes and edges are means over the graphs; an edge counts once in each direction. In brackets "
    "what the paper printed, where it differs: it counts the edges of the IMDB datasets once only, "
    "and prints no features for them, where ours are one-hot degrees."
)


def dataset_rows(
    root: str | os.PathLike[str] | None = None,
) -> tuple[list[tuple[str, ...]], list[str]]:
    """A row as :data:`HEAD` wants it for each dataset that is here, and the names of the others.

    Nothing is downloaded, and what is damaged is not here.
    """
    found = {name: _row_of(name, root) for name in NAMES}
    missing = [name for name, row in found.items() if row is None]
    return [row for row in found.values() if row is not None], missing


def rich_table(root: str | os.PathLike[str] | None = None) -> Table:
    """The table for the terminal."""
    rows, missing = dataset_rows(root)
    absent = f"\nNot here, or damaged: {', '.join(missing)}." if missing else ""
    table = Table(title="statistics: The datasets", caption=NOTE + absent, caption_justify="left")
    for name in HEAD:
        table.add_column(name, justify="left" if name == "dataset" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _row_of(name: str, root: str | os.PathLike[str] | None) -> tuple[str, ...] | None:
    if find(name, root) is None:
        return None
    try:
        return _row(statistics(load(name, root)))
    except DatasetError:
        return None


def _row(ours: Statistics) -> tuple[str, ...]:
    printed = published_statistics()[ours.name]
    return (
        ours.name,
        _beside(str(ours.graphs), str(printed["graphs"])),
        _beside(f"{ours.mean_nodes:.1f}", f"{printed['mean_nodes']:.1f}"),
        _beside(f"{ours.mean_edges:.1f}", f"{printed['mean_edges']:.1f}"),
        _beside(
            str(ours.features), "–" if printed["features"] is None else str(printed["features"])
        ),
        _beside(str(ours.classes), str(printed["classes"])),
    )


def _beside(ours: str, printed: str) -> str:
    return ours if ours == printed else f"{ours} ({printed})"
