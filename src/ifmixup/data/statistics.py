"""What a dataset looks like: the columns of the paper's table, and the condition of its Lemma 2."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Dataset

from ifmixup.errors import InputError


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
        independent_features: Whether the distinct node features are linearly independent, so that
            a mixed graph can be taken apart again (Lemma 2).
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
    """The paper's feature set V: the distinct rows of ``x`` in the whole dataset, sorted.

    Args:
        dataset: A PyG dataset whose graphs have ``x``.

    Returns:
        The rows, shape ``[distinct, features]``.
    """
    features = [graph.x for graph in dataset]
    if not features or any(x is None for x in features):
        raise InputError("A feature set needs graphs with node features, but there is no x.")
    return torch.cat(features).unique(dim=0)


def linearly_independent(rows: Tensor) -> bool:
    """Whether no row is a linear combination of the others, in 64-bit floats."""
    # More rows than columns are always dependent; no need to decompose what may be a large matrix.
    return len(rows) <= rows.size(1) and bool(
        torch.linalg.matrix_rank(rows.to(torch.float64)) == len(rows)
    )
