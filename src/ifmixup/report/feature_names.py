"""What the columns of one-hot node features stand for, where that is known."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data import Data
from torch_geometric.utils import degree

ATOMS = {"MUTAG": ("C", "N", "O", "F", "I", "Cl", "Br")}


def feature_names(dataset: str, *graphs: Data) -> str | Sequence[str]:
    """A name for each column, or one word for all of them.

    Args:
        dataset: The name of the dataset.
        graphs: Some of its graphs: if the features of all are one-hot degrees, they are called so.
    """
    if dataset in ATOMS:
        return ATOMS[dataset]
    return "degree" if all(map(_one_hot_degrees, graphs)) else "feature"


def _one_hot_degrees(graph: Data) -> bool:
    degrees = degree(graph.edge_index[0], graph.num_nodes).long()
    one_hot = bool((graph.x.sum(1) == 1).all())
    return one_hot and bool((graph.x.argmax(1) == degrees).all())
