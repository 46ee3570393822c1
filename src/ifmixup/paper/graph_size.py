"""How large graphs are before and after mixing: the paper's histograms."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Batch, Dataset

from ifmixup.augment import IfMixup

SIZES_OF = ("NCI109",)  # the datasets of the paper's figure
BATCH = 512  # graphs are mixed batch by batch, which keeps memory small


@dataclass(frozen=True)
class GraphSizes:
    """The sizes of the graphs of a dataset, before and after mixing each with a random partner.

    Attributes:
        nodes: Before, ``[G]``.
        mixed_nodes: After, ``[G]``.
        edges: Before, both directions counted, ``[G]``.
        mixed_edges: After, ``[G]``.
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
        batch = Batch.from_data_list([dataset[int(place)] for place in index])
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
