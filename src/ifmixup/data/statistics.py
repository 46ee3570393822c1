"""Statistics of a dataset: those of the paper's table, its Lemma 2, and a description to check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Dataset

from ifmixup.data.dataset import GraphDataset, summary
from ifmixup.data.encoder import Column, FeatureEncoder
from ifmixup.errors import InputError
from ifmixup.values import listed

_MOST = 12  # names in a line
_ROWS = 2**16  # sorted at once


@dataclass(frozen=True)
class Statistics:
    """One line of the statistics table.

    Attributes:
        name: The name of the dataset.
        graphs: How many graphs it has.
        mean_nodes: The mean number of nodes in a graph.
        mean_edges: The mean number of edges in a graph, both directions counted, as PyG does.
        features: The number of node features.
        classes: The number of classes.
        independent_features: Whether the distinct node features are linearly independent; then
            both graphs of a mixed graph can be recovered (Lemma 2).
    """

    name: str
    graphs: int
    mean_nodes: float
    mean_edges: float
    features: int
    classes: int
    independent_features: bool


def statistics(dataset: Dataset) -> Statistics:
    """The :class:`Statistics` of a PyG dataset, or of the part of it that was selected."""
    if len(dataset) == 0:
        raise InputError("A dataset without graphs has no statistics. Give at least one graph.")
    graphs = list(dataset)
    return Statistics(
        name=getattr(dataset, "name", type(dataset).__name__),
        graphs=len(graphs),
        mean_nodes=sum(graph.num_nodes for graph in graphs) / len(graphs),
        mean_edges=sum(graph.num_edges for graph in graphs) / len(graphs),
        features=dataset.num_features,
        classes=dataset.num_classes,
        independent_features=linearly_independent(feature_set(dataset)),
    )


def feature_set(dataset: Dataset) -> Tensor:
    """The paper's feature set V ``[distinct, features]``: the distinct rows of ``x``, sorted."""
    features = [graph.x for graph in dataset]
    if not features or any(x is None for x in features):
        raise InputError("A feature set needs graphs with node features, but there is no x.")
    # By parts, because the sort of all rows takes much memory, and few rows are distinct.
    parts = torch.cat(features).split(_ROWS)
    return torch.cat([part.unique(dim=0) for part in parts]).unique(dim=0)


def linearly_independent(rows: Tensor) -> bool:
    """Whether no row is a linear combination of the others, in 64-bit floats."""
    # More rows than columns are always dependent, without decomposing a large matrix.
    return len(rows) <= rows.size(1) and bool(
        torch.linalg.matrix_rank(rows.to(torch.float64)) == len(rows)
    )


def continuous(values: Tensor) -> list[int]:
    """The columns of features that are not all 0 or 1."""
    return [int(i) for i in ((values != 0) & (values != 1)).any(0).nonzero().flatten()]


def describe(dataset: GraphDataset) -> list[tuple[str, str]]:
    """A few lines about a dataset for its owner to check, as pairs of a word and a text."""
    graphs, encoder = list(dataset), dataset.encoder or FeatureEncoder(())
    values = feature_set(dataset)
    independent = "yes" if linearly_independent(values) else "no"
    edges = _sizes([int(graph.num_edges) for graph in graphs])
    lines = [
        ("graphs", f"{len(graphs):,}"),
        ("nodes", _sizes([int(graph.num_nodes or 0) for graph in graphs])),
        ("edges", f"{edges}, each direction counted"),
        ("node features", _columns(dataset.num_features, encoder.nodes)),
        ("edge features", _columns(dataset.num_edge_features, encoder.edges)),
        ("task", f"{dataset.task}, evaluated by {dataset.metric}"),
        _targets(dataset),
        ("independent", f"{independent}, {len(values):,} different feature rows"),
    ]
    numbers = continuous(values)
    if numbers:
        columns = f"{len(numbers)} column{'s' * (len(numbers) != 1)}"
        lines.append(("continuous", f"{columns}: lossless mixing is not guaranteed"))
    if dataset.split is not None:
        parts = [f"{part} {len(index):,}" for part, index in dataset.split.items()]
        lines.append(("own split", ", ".join(parts)))
    lines.append(("skipped", f"{len(dataset.skipped):,}"))
    lines += [("", line) for line in summary(dataset.skipped)]
    return lines


def _sizes(counts: list[int]) -> str:
    mean = sum(counts) / len(counts)
    return f"{mean:.1f} in a graph ({min(counts):,} to {max(counts):,})"


def _columns(width: int, columns: Sequence[Column] | None) -> str:
    if not width or not columns:
        return str(width)
    shown = []
    for column in columns:
        kinds = [str(kind) or "(none)" for kind in column.kinds or ()]
        shown.append(f"{column.name} ({listed(kinds, _MOST, ' ')})" if kinds else column.name)
    return f"{width}: {listed(shown, _MOST)}"


def _targets(dataset: GraphDataset) -> tuple[str, str]:
    if dataset._data.get("y") is None:
        return "targets", "none"
    y = torch.cat([graph.y for graph in dataset])
    if dataset.task == "classes":
        counts = y.bincount(minlength=dataset.num_classes).tolist()
        names = dataset.class_names or [str(i) for i in range(len(counts))]
        shown = [f"{name} ({count:,})" for name, count in zip(names, counts, strict=True)]
        return "classes", f"{len(counts)}: {listed(shown, _MOST)}"
    names = dataset.class_names or [f"y[{i}]" for i in range(y.size(1))]
    shown = []
    for name, column in zip(names, y.t(), strict=True):
        known = column[~column.isnan()]
        if not len(known):
            shown.append(f"{name} (all missing)")
        elif dataset.task == "labels":
            shown.append(f"{name} ({int(known.sum()):,} of {len(known):,} yes)")
        else:
            shown.append(f"{name} ({float(known.min()):g} to {float(known.max()):g})")
    missing = int(y.isnan().sum())
    more = f"; {missing:,} missing" if missing else ""
    return "targets", f"{y.size(1)}: {listed(shown, _MOST)}{more}"
