"""The colours of nodes and edges, and the names of the features that they stand for.

This module can be imported without matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from ifmixup.errors import InputError
from ifmixup.graphs import is_one_hot
from ifmixup.report.draw.pair import Origin

Colours = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind people tell apart; grey first, for the many carbons.
PALETTE = ("#A0A0A0", "#56B4E9", "#E69F00", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#009E73")
COLOUR_MAP = "cividis"
# A purple and a green that colour-blind people tell apart, and that few nodes have.
EDGE_COLOURS: dict[Origin, str] = {
    "both": "#222222",
    "A": "#9E4FB5",
    "B": "#1B8A45",
    "new": "#E8740C",
}
ATOMS = {"MUTAG": ("C", "N", "O", "F", "I", "Cl", "Br")}


@dataclass(frozen=True)
class Features:
    """The K distinct features of the nodes of a pair, with a name and a colour for each."""

    rows: Tensor  # [K, d]
    values: list[int]  # of each the column, if it is one-hot, else the rank
    names: list[str]
    colours: Colours  # [K, 3]
    kind: str  # what the values are, for the label of a colour bar

    @property
    def few(self) -> bool:
        """Whether each has its own colour of the palette; else they are on a colour map."""
        return len(self.values) <= len(PALETTE)

    def colour(self, x: Tensor) -> Colours:
        """The colours ``[n, 3]`` of nodes with features x ``[n, d]`` of this set."""
        return self.colours[(x[:, None] == self.rows[None]).all(2).int().argmax(1).numpy()]


def feature_names(dataset: str, *graphs: Data) -> str | Sequence[str]:
    """A name for each column of one-hot node features, or one word for all of them.

    The word is "degree" if the features of these graphs are one-hot degrees.
    """
    if dataset in ATOMS:
        return ATOMS[dataset]
    return "degree" if all(map(_one_hot_degrees, graphs)) else "feature"


def distinguish(x: Tensor, called: str | Sequence[str] = "feature") -> Features:
    """Give a colour to each distinct row of the features ``x`` ``[N, d]`` of all nodes.

    One-hot features are ``called`` by one word, or by a name for each column.
    """
    if not isinstance(called, str) and len(called) != x.size(1):
        raise InputError(
            f"There are {x.size(1)} feature columns, but {len(called)} names for them."
        )
    rows = x.unique(dim=0) if x.size(1) else x[:1]
    if is_one_hot(rows):
        rows = rows.flip(0)  # by column
        values = rows.argmax(1).tolist()
        kind = called if isinstance(called, str) else "feature"
        names = [f"{kind} {v}" if isinstance(called, str) else called[v] for v in values]
    else:
        values = list(range(len(rows)))
        kind, names = "distinct features, sorted", [f"features {v}" for v in values]
    return Features(rows, values, names, _colours(values), kind)


def blend(a: Colours, b: Colours, lam: float) -> Colours:
    """λ of colours ``a`` ``[n_A, 3]`` and 1 − λ of ``b`` ``[n_B, 3]``, as features are mixed.

    A node that only one graph has keeps its colour there; :func:`fade` makes it paler.
    """
    longer_a, longer_b = np.concatenate([a, b[len(a) :]]), np.concatenate([b, a[len(b) :]])
    return lam * longer_a + (1 - lam) * longer_b


def fade(colours: Colours, weight: Tensor) -> Colours:
    """Colours ``[n, 3]`` on white paper, where a node of weight 0 is white."""
    strength = weight.double().numpy()[:, None]
    return strength * colours + (1 - strength)


def _colours(values: list[int]) -> Colours:
    import matplotlib
    from matplotlib.colors import to_rgb

    if len(values) > len(PALETTE):
        # By rank, because degrees are crowded at the low end.
        return matplotlib.colormaps[COLOUR_MAP](np.linspace(0, 1, len(values)))[:, :3]
    # The colour of a column does not depend on the pair, as long as there are enough colours.
    indices = values if max(values) < len(PALETTE) else range(len(values))
    return np.array([to_rgb(PALETTE[index]) for index in indices])


def _one_hot_degrees(graph: Data) -> bool:
    degrees = degree(graph.edge_index[0], graph.num_nodes).long()
    return is_one_hot(graph.x) and bool((graph.x.argmax(1) == degrees).all())
