"""Colours that stand for node features: one for each feature that occurs, and their blends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from torch import Tensor

from ifmixup.errors import InputError

Colours = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind people tell apart; grey first, for the many carbons.
PALETTE = ("#A0A0A0", "#56B4E9", "#E69F00", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#009E73")
COLOUR_MAP = "cividis"


@dataclass(frozen=True)
class Features:
    """The distinct features of the nodes of a pair.

    Attributes:
        rows: The features, ``[K, d]``.
        values: A number for each, ``[K]``: the column of a one-hot feature, else its rank.
        names: A name for each.
        colours: A colour for each, ``[K, 3]``.
        kind: What the values are.
    """

    rows: Tensor
    values: list[int]
    names: list[str]
    colours: Colours
    kind: str

    @property
    def few(self) -> bool:
        """Whether each has its own colour of the palette; else they are on a colour map."""
        return len(self.values) <= len(PALETTE)

    def colour(self, x: Tensor) -> Colours:
        """The colours ``[n, 3]`` of nodes with features x ``[n, d]`` of this set."""
        return self.colours[(x[:, None] == self.rows[None]).all(2).int().argmax(1).numpy()]


def distinguish(x: Tensor, called: str | Sequence[str] = "feature") -> Features:
    """Give a colour to each distinct row of ``x`` ``[N, d]``.

    Args:
        x: Features of all nodes that are to be drawn.
        called: What a column of one-hot features is called: one word, or a name for each column.
    """
    if not isinstance(called, str) and len(called) != x.size(1):
        raise InputError(
            f"There are {x.size(1)} feature columns, but {len(called)} names for them."
        )
    rows = x.unique(dim=0) if x.size(1) else x[:1]
    one_hot = bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all())
    if one_hot:
        rows = rows.flip(0)  # by column
        values = rows.argmax(1).tolist()
        kind = called if isinstance(called, str) else "feature"
        names = [f"{kind} {v}" if isinstance(called, str) else called[v] for v in values]
    else:
        values = list(range(len(rows)))
        kind, names = "distinct features, sorted", [f"features {v}" for v in values]
    return Features(rows, values, names, _colours(values), kind)


def blend(a: Colours, b: Colours, lam: float) -> Colours:
    """λ of colours ``a`` and 1 − λ of ``b``, as features are mixed; a dummy node is white.

    Args:
        a: The colours of the nodes of A, ``[n_A, 3]``.
        b: The colours of the nodes of B, ``[n_B, 3]``.
        lam: λ.
    """
    white = np.ones((max(len(a), len(b)), 3))
    padded_a, padded_b = (np.concatenate([c, white[len(c) :]]) for c in (a, b))
    return lam * padded_a + (1 - lam) * padded_b


def _colours(values: list[int]) -> Colours:
    if len(values) > len(PALETTE):
        # By rank: degrees crowd at the low end.
        return matplotlib.colormaps[COLOUR_MAP](np.linspace(0, 1, len(values)))[:, :3]
    # The colour of a column does not depend on the pair, as long as there are colours enough.
    places = values if max(values) < len(PALETTE) else range(len(values))
    return np.array([to_rgb(PALETTE[place]) for place in places])
