"""Numbers to predict, as users give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError


def values_of(graphs: Sequence[Data], y: Any) -> NDArray[np.float64]:
    """The value ``[B]`` or the row of values ``[B, T]`` of each graph; NaN where it is missing.

    Args:
        graphs: The graphs.
        y: The values; None takes the ``y`` of the graphs, one value being ``[B]``.
    """
    if y is None:
        rows = [_own_values(place, graph) for place, graph in enumerate(graphs)]
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


def _own_values(place: int, graph: Data) -> list[float]:
    own = graph.get("y")
    if own is None:
        raise InputError(f"y was not given, and graph {place} has none of its own.")
    return own.flatten().tolist() if isinstance(own, Tensor) else [own]
