"""A pair of graphs, the same pair padded, and their mix: the data of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch_geometric.data import Data

from ifmixup.mixing import mix

Origin = Literal["both", "A", "B", "new"]
ORIGINS: dict[Origin, str] = {
    "both": "in both",
    "A": "only in A",
    "B": "only in B",
    "new": "in neither",
}
_DRAWN = ("x", "edge_index", "edge_weight", "node_weight")


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
    """Two graphs A and B, padded to n nodes, and mixed."""

    sizes: tuple[int, int]  # the numbers of nodes of A and of B before padding
    edges: tuple[list[Edge], list[Edge], list[Edge]]  # of A, B and the mixed graph
    node_weight: Tensor  # how much of each node exists in the mixed graph, [n]

    @property
    def num_nodes(self) -> int:
        """The number of nodes after padding, n = max(n_A, n_B)."""
        return max(self.sizes)

    def weights(self) -> dict[Origin, list[float]]:
        """The edge weights of the mixed graph, by the graph that the edges come from."""
        found = {o: [e.weight for e in self.edges[2] if e.origin == o] for o in ORIGINS}
        return {origin: weights for origin, weights in found.items() if weights}

    def __str__(self) -> str:
        kinds = [
            f"{len(weights)} {ORIGINS[origin]} (weight {weight_text(weights)})"
            for origin, weights in self.weights().items()
        ]
        size = f"{count(self.num_nodes, 'node')}, {count(len(self.edges[2]), 'edge')}"
        return f"{size}: {', '.join(kinds)}" if kinds else size


def take_pair(a: Data, b: Data, lam: float) -> Pair:
    """Mix ``a`` and ``b`` and collect what a picture shows.

    The padded graphs are the mixes at λ = 1 and λ = 0: one graph on the nodes of the larger one.
    """
    drop = [name for name in {*a.keys(), *b.keys()} if name not in _DRAWN]
    padded_a, padded_b, mixed = (mix(a, b, ratio, drop=drop) for ratio in (1.0, 0.0, lam))
    of_a, of_b, of_both = map(_weights, (padded_a, padded_b, mixed))
    origins: dict[tuple[int, int], Origin] = {
        ends: ("both" if ends in of_a and ends in of_b else "A" if ends in of_a else "B")
        for ends in of_both
    }
    drawn = (
        lines(of_a, dict.fromkeys(of_a, "A")),
        lines(of_b, dict.fromkeys(of_b, "B")),
        lines(of_both, origins),
    )
    return Pair((int(a.num_nodes), int(b.num_nodes)), drawn, mixed.node_weight.detach().cpu())


def weight_text(weights: list[float]) -> str:
    """Weights as a number of at most three digits, or as a range where they differ."""
    low, high = f"{min(weights):.3g}", f"{max(weights):.3g}"
    return low if low == high else f"{low} to {high}"


def count(how_many: int, thing: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{how_many} {thing}" if how_many == 1 else f"{how_many} {thing}s"


def _weights(graph: Data) -> dict[tuple[int, int], float]:
    ends = zip(*graph.edge_index.tolist(), strict=True)
    return dict(zip(ends, graph.edge_weight.tolist(), strict=True))


def lines(
    weights: Mapping[tuple[int, int], float], origins: Mapping[tuple[int, int], Origin]
) -> list[Edge]:
    """Both directions of an edge are one line, if they have the same weight and origin."""
    found = []
    for (u, v), weight in weights.items():
        back = (v, u)
        undirected = weights.get(back) == weight and origins[back] == origins[u, v]
        if not undirected or u <= v:
            found.append(Edge(u, v, weight, origins[u, v], directed=not undirected))
    return found
