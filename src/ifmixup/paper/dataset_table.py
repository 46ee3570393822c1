"""The paper's datasets: their statistics, and the sizes of graphs before and after mixing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields

import torch
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Batch, Dataset

from ifmixup.augment import IfMixup
from ifmixup.data import NAMES, load
from ifmixup.data.catalog import find
from ifmixup.data.statistics import Statistics, statistics
from ifmixup.errors import DatasetError
from ifmixup.paper.published import published_statistics

HEAD = ("dataset", "graphs", "nodes", "edges", "features", "classes")
NOTE = (
    "Nodes and edges are means over the graphs; an edge counts once in each direction. In brackets "
    "what the paper printed if it differs: it counts the edges of the IMDB datasets only once, and "
    "prints no features for them; ours are one-hot degrees."
)
SIZES_OF = ("NCI109",)  # the datasets of the paper's figure
BATCH = 512  # graphs are mixed batch by batch, which keeps memory small


def dataset_rows(
    root: str | os.PathLike[str] | None = None, names: Sequence[str] = NAMES
) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of the table, and which of the ``names`` are missing or damaged.

    Nothing is downloaded.
    """
    rows = []
    for name in names:
        with suppress(DatasetError):
            if find(name, root) is not None:
                rows.append(_row(statistics(load(name, root))))
    there = {row[0] for row in rows}
    return rows, [name for name in names if name not in there]


def rich_table(root: str | os.PathLike[str] | None = None) -> Table:
    """The table for the terminal."""
    rows, missing = dataset_rows(root)
    absent = f"\nNot on this machine, or damaged: {', '.join(missing)}." if missing else ""
    table = Table(title="statistics: The datasets", caption=NOTE + absent, caption_justify="left")
    for name in HEAD:
        table.add_column(name, justify="left" if name == "dataset" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


@dataclass(frozen=True)
class GraphSizes:
    """The sizes of the G graphs of a dataset, before and after mixing each with a random partner.

    Each is ``[G]``; edges are counted in both directions.
    """

    nodes: Tensor
    mixed_nodes: Tensor
    edges: Tensor
    mixed_edges: Tensor


def graph_sizes(dataset: Dataset, seed: int = 0) -> GraphSizes:
    """Mix every graph of a dataset once and count."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(dataset), generator=generator)
    mixup = IfMixup(dataset.num_classes, generator=generator, drop=["edge_attr"])
    counts: dict[str, list[Tensor]] = {field.name: [] for field in fields(GraphSizes)}
    for index in order.split(BATCH):
        batch = Batch.from_data_list([dataset[int(i)] for i in index])
        for prefix, graphs in (("", batch), ("mixed_", mixup(batch))):
            graph = graphs.batch[graphs.edge_index[0]]
            counts[f"{prefix}nodes"].append(graphs.ptr.diff())
            counts[f"{prefix}edges"].append(torch.bincount(graph, minlength=len(index)))
    return GraphSizes(**{name: torch.cat(parts) for name, parts in counts.items()})


def sizes_table(name: str, sizes: GraphSizes) -> Table:
    """The mean and the quartiles of each count."""
    table = Table(title=f"graph-size: {name} before and after mixing")
    for column in ("count", "mean", "25 %", "50 %", "75 %", "largest"):
        table.add_column(column, justify="left" if column == "count" else "right")
    for field in fields(sizes):
        values = getattr(sizes, field.name).double()
        quartiles = values.quantile(torch.tensor([0.25, 0.5, 0.75, 1.0], dtype=torch.double))
        figures = [f"{float(values.mean()):.1f}", *(f"{float(value):.0f}" for value in quartiles)]
        table.add_row(field.name.replace("_", " "), *figures)
    return table


def _row(ours: Statistics) -> tuple[str, ...]:
    cells = [ours.name]
    for name, printed in published_statistics()[ours.name].items():
        mine, theirs = (
            f"{value:.1f}" if isinstance(value, float) else "–" if value is None else str(value)
            for value in (getattr(ours, name), printed)
        )
        cells.append(mine if mine == theirs else f"{mine} ({theirs})")
    return tuple(cells)
