"""Where the nodes of a connected graph stand; the unit is the distance of neighbouring nodes."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Points = NDArray[np.float64]

_TRIES = 8
_TRIES_UP_TO = 200  # edges; in a denser graph lines cross anyway
_STRESS_UP_TO = 90  # nodes; it takes seconds on more
_SMALLEST_DISTANCE = 1.0  # between any two nodes, in units


def lay_out(graph: nx.Graph) -> Points:
    """The least cluttered of a few layouts of a connected graph.

    Args:
        graph: A connected graph of n ≥ 2 nodes, without self-loops.

    Returns:
        Positions ``[n, 2]`` in the order of ``graph.nodes``, the same on every call; no two are
        much closer than 1.
    """
    place = {node: row for row, node in enumerate(graph)}
    ends = np.array([[place[u], place[v]] for u, v in graph.edges])
    layouts = (_push_apart(points / _neighbour_distance(points)) for points in _layouts(graph))
    with threadpool_limits(1):  # tiny matrices: several threads only wait for each other
        return min(layouts, key=lambda points: clutter(points, ends))


def clutter(points: Points, ends: NDArray[np.int64]) -> int:
    """What makes a drawing hard to read: crossing edges, and twice the edges near foreign nodes.

    Args:
        points: Positions of the nodes ``[n, 2]``, in units.
        ends: The two nodes of each edge, ``[E, 2]``.
    """
    start, along = points[ends[:, 0]], points[ends[:, 1]] - points[ends[:, 0]]
    between = start[None] - start[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # parallel edges do not cross
        scale = _cross(along[:, None], along[None])
        t = np.stack([_cross(between, along[None]), _cross(between, along[:, None])]) / scale
    meet = (ends[:, None, :, None] == ends[None, :, None, :]).any((2, 3))
    crossings = int((((t > 0) & (t < 1)).all(0) & ~meet).sum()) // 2

    own = (np.arange(len(points))[:, None, None] == ends[None]).any(2)
    near = to_segments(points, start, along) < 0.4
    return crossings + 2 * int((near & ~own).sum())


def to_segments(points: Points, start: Points, along: Points) -> Points:
    """The distances ``[n, E]`` of points ``[n, 2]`` to segments ``start`` + t ``along``, t ≤ 1."""
    offset = points[:, None] - start[None]
    length = np.maximum((along**2).sum(1), 1e-12)
    t = np.clip((offset * along).sum(2) / length, 0, 1)
    return np.linalg.norm(offset - t[:, :, None] * along, axis=2)


def _layouts(graph: nx.Graph) -> Iterator[Points]:
    if len(graph) > _STRESS_UP_TO:
        yield _rows(graph, nx.spring_layout(graph, seed=0, iterations=300))
        return
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    yield _rows(graph, nx.kamada_kawai_layout(graph, distance))
    if graph.number_of_edges() <= _TRIES_UP_TO:
        for seed in range(1, _TRIES):
            points = np.random.default_rng(seed).uniform(-1, 1, (len(graph), 2))
            start = dict(zip(graph, points, strict=True))
            yield _rows(graph, nx.kamada_kawai_layout(graph, distance, pos=start))


def _push_apart(points: Points) -> Points:
    """Move nodes that are too close to each other, step by step."""
    for _ in range(300):
        delta = points[:, None] - points[None]
        distance = np.linalg.norm(delta, axis=2)
        np.fill_diagonal(distance, np.inf)
        missing = np.clip(_SMALLEST_DISTANCE - distance, 0, None)
        if missing.max() < 0.01:
            break
        points = points + 0.4 * (delta * (missing / distance)[:, :, None]).sum(1)
    return points


def _neighbour_distance(points: Points) -> float:
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return float(np.median(distance.min(1)))


def _rows(graph: nx.Graph, found: dict[int, Points]) -> Points:
    return np.array([found[node] for node in graph])


def _cross(a: Points, b: Points) -> Points:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
