"""Classes as users name them, and the numbers that a training takes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError


def labels_of(graphs: Sequence[Data], y: Any) -> list[Hashable]:
    """The class of each graph as a plain value, from ``y`` or else from the graphs themselves."""
    if y is None:
        return [_own_label(place, graph) for place, graph in enumerate(graphs)]
    if isinstance(y, Tensor):
        y = y.cpu().numpy()
    # NumPy makes a matrix of a list of tuples, which are as good a class as any.
    several = column_or_1d(y, warn=True).tolist() if hasattr(y, "__array__") else list(y)
    if len(several) != len(graphs):
        raise InputError(f"Got {len(graphs)} graphs but {len(several)} classes in y.")
    return [_checked(place, label) for place, label in enumerate(several)]


def _own_label(place: int, graph: Data) -> Hashable:
    label = graph.get("y")
    if label is None:
        raise InputError(
            f"y was not given, and graph {place} has none of its own. GraphClassifier requires y "
            f"to be passed, but the target y is None."
        )
    return _checked(place, label)


def _checked(place: int, label: Any) -> Hashable:
    if isinstance(label, Tensor | np.ndarray):
        # Two tensors of the same value are two keys to Python: each graph would be a class.
        if math.prod(label.shape) != 1:
            raise InputError(
                f"Graph {place} has a y of shape {list(label.shape)}; one class a graph is needed."
            )
        label = label.item()
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, Hashable):
        raise InputError(f"The class of graph {place} is not hashable: {label!r}.")
    if isinstance(label, float):
        if not np.isfinite(label):
            raise InputError(f"The class of graph {place} is {label}: y contains NaN or infinity.")
        if label != int(label):
            raise InputError(
                f"The class of graph {place} is {label}. Unknown label type: continuous. Classes "
                f"are needed, not measured values."
            )
    if label is None:
        raise InputError(f"The class of graph {place} is None: y is incomplete.")
    return label


def number_classes(labels: Sequence[Hashable]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different labels, sorted, and the number of each label among them.

    Labels that cannot be compared, such as 1 and "a", are sorted by kind and spelling.
    """
    different = set(labels)
    try:
        ordered = sorted(different)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(different, key=lambda label: (type(label).__name__, repr(label)))
    if len(ordered) < 2:
        raise InputError(
            f"At least two classes are needed to tell apart; y has 1 class: {ordered[0]!r}."
        )
    if len({type(label) for label in ordered}) == 1 and isinstance(ordered[0], str | int | float):
        classes = np.array(ordered)
    else:
        classes = np.empty(len(ordered), dtype=object)  # in two steps: tuples stay tuples
        classes[:] = ordered
    place = {label: number for number, label in enumerate(ordered)}
    return classes, np.array([place[label] for label in labels], dtype=np.int64)
