"""A pair of graphs, the same pair padded, and their mix: what there is to draw, without drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch_geometric.data import Data

from ifmixup.mixing import mix

Origin = Literal["both", "A", "B"]
PLACES: dict[Origin, str] = {"both": "in both", "A": "only in A", "B": "only in B"}
_DRAWN = ("x", "edge_index", "edge_weight")


@dataclass(frozen=True)
class Edge:
    """One line of a drawing: a directed edge, or the two directions of an undirected one."""

    source: int
    target: int
    weight: float
    origin: Origin
    directed: bool = False


@dataclass(frozen=True)
class Pair:
    """Two graphs A and B, padded to n nodes, and mixed.

    Attributes:
        sizes: The numbers of nodes of A and of B before padding.
        features: The features of padded A, padded B and the mixed graph, each ``[n, d]``.
        edges: The edges of A, B and the mixed graph.
        lam: λ, the weight of A.
    """

    sizes: tuple[int, int]
    features: tuple[Tensor, Tensor, Tensor]
    edges: tuple[list[Edge], list[Edge], list[Edge]]
    lam: float

    @property
    def num_nodes(self) -> int:
        """The number of nodes after padding, n = max(n_A, n_B)."""
        return max(self.sizes)

    def weights(self) -> dict[Origin, list[float]]:
        """The weights in the mixed graph by where the edges come from."""
        found = {o: [e.weight for e in self.edges[2] if e.origin == o] for o in PLACES}
        return {origin: weights for origin, weights in found.items() if weights}

    def __str__(self) -> str:
        kinds = [
            f"{len(weights)} {PLACES[origin]} (weight {weight_text(weights)})"
            for origin, weights in self.weights().items()
        ]
        size = f"{count(self.num_nodes, 'node')}, {count(len(self.edges[2]), 'edge')}"
        return f"{size}: {', '.join(kinds)}" if kinds else size


def take_pair(a: Data, b: Data, lam: float) -> Pair:
    """Mix ``a`` and ``b`` and gather what a picture of it needs.

    The padded graphs are the mixes at λ = 1 and λ = 0: all of one graph, on the nodes of the
    larger.
    """
    drop = [name for name in {*a.keys(), *b.keys()} if name not in _DRAWN]
    graphs = [mix(a, b, ratio, drop=drop) for ratio in (1.0, 0.0, lam)]
    of_a, of_b, of_both = (_weights(graph) for graph in graphs)
    origins: dict[tuple[int, int], Origin] = {
        ends: ("both" if ends in of_a and ends in of_b else "A" if ends in of_a else "B")
        for ends in of_both
    }
    return Pair(
        sizes=(int(a.num_nodes), int(b.num_nodes)),
        features=(_features(graphs[0]), _features(graphs[1]), _features(graphs[2])),
        edges=(
            _lines(of_a, dict.fromkeys(of_a, "A")),
            _lines(of_b, dict.fromkeys(of_b, "B")),
            _lines(of_both, origins),
        ),
        lam=lam,
    )


def weight_text(weights: list[float]) -> str:
    """Weights as a number of at most three digits, or as a range where they differ."""
    low, high = f"{min(weights):.3g}", f"{max(weights):.3g}"
    return low if low == high else f"{low} to {high}"


def count(how_many: int, thing: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{how_many} {thing}" if how_many == 1 else f"{how_many} {thing}s"


def _features(graph: Data) -> Tensor:
    return graph.x.detach().cpu()


def _weights(graph: Data) -> dict[tuple[int, int], float]:
    sources, targets = graph.edge_index.tolist()
    ends = zip(sources, targets, strict=True)
    return dict(zip(ends, graph.edge_weight.tolist(), strict=True))


def _lines(
    weights: Mapping[tuple[int, int], float], origins: Mapping[tuple[int, int], Origin]
) -> list[Edge]:
    """Both directions of an edge are one line, if they have the same weight and origin."""
    lines = []
    for (u, v), weight in weights.items():
        back = (v, u)
        undirected = weights.get(back) == weight and origins[back] == origins[u, v]
        if not undirected or u <= v:
            lines.append(Edge(u, v, weight, origins[u, v], directed=not undirected))
    return lines
