"""Graphs as users hold them: in a list, an array or a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch_geometric.data import Batch, Data, Dataset

from ifmixup.errors import InputError, InputTypeError


def as_graphs(graphs: Any) -> list[Data]:
    """Graphs as a list, from a list, a NumPy array of objects or a PyG dataset.

    Raises:
        InputTypeError: If it is something else, such as a matrix.
    """
    if isinstance(graphs, Batch):
        return graphs.to_data_list()
    if isinstance(graphs, Data):
        raise InputTypeError("Expected several graphs; got one Data. Put it into a list: [graph].")
    if isinstance(graphs, np.ndarray) and (graphs.ndim != 1 or graphs.dtype != object):
        raise InputTypeError(
            f"Expected a list of PyG Data, a PyG dataset, or a NumPy array of Data (one dimension, "
            f"dtype object); got an array of {graphs.dtype} with the shape {graphs.shape}."
        )
    if not isinstance(graphs, Sequence | np.ndarray | Dataset) or isinstance(graphs, str):
        raise InputTypeError(
            f"Expected a list of PyG Data, a PyG dataset, or a NumPy array of Data; got "
            f"{type(graphs).__name__}."
        )
    taken = list(graphs)
    if not taken:
        raise InputError("Got no graphs: 0 sample(s), while a minimum of 1 is required.")
    for place, graph in enumerate(taken):
        if not isinstance(graph, Data):
            raise InputTypeError(
                f"Expected PyG Data in the list; item {place} is a {type(graph).__name__}."
            )
    return taken
