"""Where nodes are drawn.

Each connected component is laid out on its own, in units: 1 is about the distance between
neighbours. Components are then arranged in rows in a box of points (1/72 inch), with the dummy
nodes as a grid below them, beside them or in a corner: whichever makes the picture largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Points = NDArray[np.float64]

_LARGEST_UNIT = 76.0  # in points: a graph of three nodes need not fill a page
_TRIES = 8
_TRIES_UP_TO = 200  # edges; lines of a denser graph cross in any layout
_STRESS_UP_TO = 90  # nodes; larger graphs would take seconds
_SMALLEST_DISTANCE = 1.0  # between any two nodes, in units


def fit(
    num_nodes: int,
    edges: Iterable[tuple[int, int]],
    width: float,
    height: float,
    *,
    num_dummies: int = 0,
) -> tuple[Points, float]:
    """Lay out a graph in a box of points; the last ``num_dummies`` of its n nodes are dummy nodes.

    The positions ``[n, 2]`` are from the lower left corner of the box; the second result is the
    unit in points. Half a unit stays free at the border.
    """
    graph = nx.Graph((u, v) for u, v in edges if u != v)
    graph.add_nodes_from(range(num_nodes))
    parts = sorted((sorted(c) for c in nx.connected_components(graph)), key=lambda c: (-len(c), c))
    singles = [part[0] for part in parts if len(part) == 1]
    parts = [part for part in parts if len(part) > 1]
    blocks = [_component(graph, part) for part in parts]
    # Isolated nodes of the graph itself stay near it, apart from dummy nodes.
    split = len(singles) - num_dummies if num_dummies else 0
    isolated, loose = singles[:split], singles[split:]

    box = np.array([width, height])
    best, unit = np.empty((0, 2)), 0.0
    for candidate in _arrangements(blocks, len(isolated), len(loose), width / height):
        scale = float((box / _size(candidate)).min())
        if scale > unit * 1.001:
            best, unit = candidate, scale
    unit = min(unit, _LARGEST_UNIT)
    positions = np.empty_like(best)
    positions[[node for part in [*parts, isolated, loose] for node in part]] = best * unit
    return positions + (box - _size(best) * unit) / 2, unit


def lay_out(graph: nx.Graph) -> Points:
    """The least cluttered of a few layouts of a connected graph of n ≥ 2 nodes without self-loops.

    The positions ``[n, 2]`` are the same on every call, and no two are much closer than 1.
    """
    index = {node: i for i, node in enumerate(graph)}
    ends = np.array([[index[u], index[v]] for u, v in graph.edges])
    layouts = (_push_apart(points) for points in _layouts(graph))
    with threadpool_limits(1):  # on tiny matrices several threads only wait for each other
        return min(layouts, key=lambda points: clutter(points, ends))


def clutter(points: Points, ends: NDArray[np.int64]) -> int:
    """How hard a drawing is to read: crossings, and twice the edges too near to other nodes.

    ``points`` ``[n, 2]`` are in units; ``ends`` ``[E, 2]`` are the two nodes of each edge.
    """
    start, along = points[ends[:, 0]], points[ends[:, 1]] - points[ends[:, 0]]
    between = start[None] - start[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # parallel edges do not cross
        scale = _cross(along[:, None], along[None])
        t = np.stack([_cross(between, along[None]), _cross(between, along[:, None])]) / scale
    meet = (ends[:, None, :, None] == ends[None, :, None, :]).any((2, 3))
    crossings = int((((t > 0) & (t < 1)).all(0) & ~meet).sum()) // 2

    own = (np.arange(len(points))[:, None, None] == ends[None]).any(2)
    near = segment_distances(points, start, along) < 0.4
    return crossings + 2 * int((near & ~own).sum())


def segment_distances(points: Points, start: Points, along: Points) -> Points:
    """Distances ``[n, E]`` of points ``[n, 2]`` to segments from ``start`` to ``start + along``."""
    offset = points[:, None] - start[None]
    length = np.maximum((along**2).sum(1), 1e-12)
    t = np.clip((offset * along).sum(2) / length, 0, 1)
    return np.linalg.norm(offset - t[:, :, None] * along, axis=2)


def _component(graph: nx.Graph, nodes: list[int]) -> Points:
    part = nx.Graph()
    part.add_nodes_from(nodes)
    part.add_edges_from(sorted(sorted(edge) for edge in graph.subgraph(nodes).edges))
    return lay_out(part)


def _layouts(graph: nx.Graph) -> Iterator[Points]:
    def rows(found: dict[int, Points]) -> Points:
        return np.array([found[node] for node in graph])

    if len(graph) > _STRESS_UP_TO:
        yield rows(nx.spring_layout(graph, seed=0, iterations=300))
        return
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    yield rows(nx.kamada_kawai_layout(graph, distance))
    if graph.number_of_edges() <= _TRIES_UP_TO:
        for seed in range(1, _TRIES):
            points = np.random.default_rng(seed).uniform(-1, 1, (len(graph), 2))
            start = dict(zip(graph, points, strict=True))
            yield rows(nx.kamada_kawai_layout(graph, distance, pos=start))


def _push_apart(points: Points) -> Points:
    """Scale points to units, and move nodes that are too close to each other, step by step."""
    points = points / np.median(_distances(points).min(1))
    for _ in range(300):
        delta, distance = points[:, None] - points[None], _distances(points)
        missing = np.clip(_SMALLEST_DISTANCE - distance, 0, None)
        if missing.max() < 0.01:
            break
        points = points + 0.4 * (delta * (missing / distance)[:, :, None]).sum(1)
    return points


def _distances(points: Points) -> Points:
    """Distances ``[n, n]`` between points; a point is infinitely far from itself."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return distance


def _arrangements(
    blocks: list[Points], num_isolated: int, num_loose: int, aspect: float
) -> Iterator[Points]:
    """Ways to turn blocks, to put them in rows with the isolated nodes, and to add a grid."""
    for stretch in (1.0, 2.0, 4.0, 0.5):
        turned = [_turn(block, stretch * aspect) for block in blocks]
        if num_isolated:
            turned.append(_grid(num_isolated, math.ceil(math.sqrt(num_isolated))))
        mains = []
        for columns in range(1, len(turned) + 1):
            rows = [turned[i : i + columns] for i in range(0, len(turned), columns)]
            mains.append(_join([_join(row, axis=0) for row in rows], axis=1))
        if not num_loose:
            yield from mains
        for grid in (_grid(num_loose, columns) for columns in range(1, num_loose + 1)):
            if not mains:
                yield grid
            for main in mains:
                yield from _in_corners(main, grid)
                yield _join([main, grid], axis=1)
                yield _join([main, grid], axis=0)


def _in_corners(main: Points, grid: Points) -> Iterator[Points]:
    """A grid in a corner of a block's box, if a line separates them: then no edge crosses it."""
    room = _size(main) - _size(grid)
    if (room < 0).any():
        return
    angles = np.linspace(0, math.pi / 2, 19)
    for right, top in ((1, 0), (0, 0), (1, 1), (0, 1)):
        moved = grid + room * np.array([right, top])
        normal = np.stack([np.cos(angles) * (2 * right - 1), np.sin(angles) * (2 * top - 1)])
        if ((moved @ normal).min(0) - (main @ normal).max(0)).max() >= 1:
            yield np.concatenate([main, moved])


def _turn(points: Points, aspect: float) -> Points:
    """The rotation of points that fills a box of the given aspect best."""
    turned = []
    for angle in (math.pi * step / 36 for step in range(36)):
        cos, sin = math.cos(angle), math.sin(angle)
        turned.append(_to_corner(points @ np.array([[cos, sin], [-sin, cos]])))
    return max(turned, key=lambda p: float((np.array([aspect, 1]) / _size(p)).min()))


def _grid(number: int, columns: int) -> Points:
    points = [(i % columns, -(i // columns)) for i in range(number)]
    return _to_corner(np.array(points, dtype=float))


def _join(blocks: list[Points], axis: int) -> Points:
    """Blocks to the right of each other (axis 0) or below (axis 1), centred on the other axis."""
    end, moved = 0.0, []
    for block in blocks:
        shift = -_size(block) / 2
        shift[axis] = end if axis == 0 else end - _size(block)[1]
        end += _size(block)[0] if axis == 0 else -_size(block)[1]
        moved.append(block + shift)
    return _to_corner(np.concatenate(moved))


def _to_corner(points: Points) -> Points:
    return points - points.min(0) + 0.5


def _size(points: Points) -> Points:
    return points.max(0) + 0.5


def _cross(a: Points, b: Points) -> Points:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
