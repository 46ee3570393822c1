"""Classes and values as users of the estimators give them: lists, arrays, tensors, or ``y``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError


def labels_of(graphs: Sequence[Data], y: Any) -> list[Hashable]:
    """The class of each graph as a plain value, from ``y`` or else from the graphs themselves."""
    if y is None:
        y = _own(graphs)
    if isinstance(y, Tensor):
        y = y.cpu().numpy()
    if hasattr(y, "__array__"):
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(y, warn=True).tolist()
    else:  # NumPy would make a matrix of a list of tuples, and tuples are classes too
        labels = list(y)
    if len(labels) != len(graphs):
        raise InputError(f"Got {len(graphs)} graphs but {len(labels)} classes in y.")
    return [_class(index, label) for index, label in enumerate(labels)]


def _own(graphs: Sequence[Data]) -> list[Any]:
    """The ``y`` of each graph."""
    for index, graph in enumerate(graphs):
        if graph.get("y") is None:
            raise InputError(
                f"y was not given, and graph {index} has no y. An estimator requires y to be "
                f"passed, but the target y is None."
            )
    return [graph.y for graph in graphs]


def _class(index: int, label: Any) -> Hashable:
    if isinstance(label, Tensor | np.ndarray | np.generic):
        # Two tensors of the same value are two keys to Python: each graph would be a class.
        if math.prod(label.shape) != 1:
            raise InputError(
                f"Graph {index} has a y of shape {list(label.shape)}; one class per graph is "
                f"needed."
            )
        label = label.item()
    if not isinstance(label, Hashable):
        raise InputError(f"The class of graph {index} is not hashable: {label!r}.")
    if isinstance(label, float):
        if not np.isfinite(label):
            raise InputError(f"The class of graph {index} is {label}: y contains NaN or infinity.")
        if label != int(label):
            raise InputError(
                f"The class of graph {index} is {label}. Unknown label type: continuous. Classes "
                f"are needed, not measured values."
            )
    if label is None:
        raise InputError(f"The class of graph {index} is None: y is incomplete.")
    return label


def number_classes(labels: Sequence[Hashable]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different labels, sorted, and the number of each label among them.

    Labels that cannot be compared, such as 1 and "a", are sorted by type and spelling.
    """
    different = set(labels)
    try:
        ordered = sorted(different)  # type: ignore[type-var]
    except TypeError:
        ordered = sorted(different, key=lambda label: (type(label).__name__, repr(label)))
    if len(ordered) < 2:
        raise InputError(f"At least two classes are needed; y has 1 class: {ordered[0]!r}.")
    if len({type(label) for label in ordered}) == 1 and isinstance(ordered[0], str | int | float):
        classes = np.array(ordered)
    else:
        classes = np.empty(len(ordered), dtype=object)  # in two steps: tuples stay tuples
        classes[:] = ordered
    number = {label: i for i, label in enumerate(ordered)}
    return classes, np.array([number[label] for label in labels], dtype=np.int64)


def values_of(graphs: Sequence[Data], y: Any) -> NDArray[np.float64]:
    """The value ``[B]`` or the row of values ``[B, T]`` of each graph; NaN where it is missing.

    Without ``y`` they are the ``y`` of the graphs, ``[B]`` where each has one value.
    """
    if y is None:
        rows = [y.flatten().tolist() if isinstance(y, Tensor) else [y] for y in _own(graphs)]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise InputError(f"The y of the graphs have different lengths: {sorted(widths)}.")
        y = [row[0] for row in rows] if widths == {1} else rows
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy()
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y must be numbers, one or a row for each graph ({error}).") from error
    if values.ndim not in (1, 2) or len(values) != len(graphs):
        raise InputError(
            f"y has the shape {values.shape}; for {len(graphs)} graphs ({len(graphs)},) or "
            f"({len(graphs)}, T) is needed."
        )
    if np.isinf(values).any():
        raise InputError("y contains infinity. Values are finite, or NaN where they are missing.")
    if np.isnan(values).all():
        raise InputError("All of y is missing (NaN): there is nothing to learn.")
    return values
