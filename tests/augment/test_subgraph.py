"""Subgraph: the times of all visits at once against a walk node by node."""

import heapq
from collections import Counter
from functools import cache
from math import ceil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import is_undirected, to_undirected

from ifmixup.augment import Subgraph
from ifmixup.augment.subgraph import visits
from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from strategies import graphs


def keeper(ratio: float) -> Subgraph:
    return Subgraph(2, keep_ratio=ratio, generator=torch.Generator().manual_seed(0))


def walk(data: Data, start: list[float], wait: list[float]) -> list[int]:
    """The order of visits, one node after the other."""
    neighbours = [set() for _ in start]
    for i, j in data.edge_index.T.tolist():
        neighbours[i].add(j)
    order: list[int] = []
    while len(order) < len(start):
        root = min((i for i in range(len(start)) if i not in order), key=start.__getitem__)
        waiting, expected = [(0.0, root)], {root}
        while waiting:
            time, node = heapq.heappop(waiting)
            order.append(node)
            for other in sorted(neighbours[node] - expected - set(order)):
                expected.add(other)  # it waits from its first neighbour on
                heapq.heappush(waiting, (time + wait[other], other))
    return order


@settings(max_examples=100)
@given(batch=st.lists(graphs(max_nodes=8), min_size=1, max_size=4), seed=st.integers(0, 10**6))
def test_the_order_of_visits_is_that_of_a_walk(batch, seed):
    whole = from_batch(Batch.from_data_list(batch))
    # Fractions that floats add up exactly, all different.
    order = torch.randperm(64, generator=torch.Generator().manual_seed(seed))[: whole.num_nodes]
    start = order / 64
    wait = 2.0 ** -(1 + order % 16) + order
    turn = visits(whole, start, wait)
    sizes = [data.num_nodes for data in batch]
    parts = zip(batch, turn.split(sizes), start.split(sizes), wait.split(sizes), strict=True)
    for data, its_turn, its_start, its_wait in parts:
        expected = walk(data, its_start.tolist(), its_wait.tolist())
        assert its_turn.argsort().tolist() == expected


def test_by_hand():
    """On the path 0 – 1 – 2 – 3 from node 1: 2 comes before 0, and 3 after 0."""
    path = to_undirected(torch.tensor([[0, 1, 2], [1, 2, 3]]))
    whole = from_batch(Data(x=torch.eye(4), edge_index=path))
    start = torch.tensor([0.5, 0.25, 0.75, 0.625])
    assert visits(whole, start, torch.tensor([3.0, 9, 2, 2])).tolist() == [2, 0, 1, 3]


def exact(neighbours: dict[int, set[int]], wanted: int) -> dict[frozenset, float]:
    """The probability of every set of nodes, if the next is any neighbour with equal chance."""

    @cache
    def grow(kept: frozenset) -> dict[frozenset, float]:
        if len(kept) == wanted:
            return {kept: 1.0}
        frontier = set().union(*(neighbours[i] for i in kept)) - kept
        frontier = frontier or set(neighbours) - kept
        found: Counter = Counter()
        for node in frontier:
            for result, p in grow(kept | {node}).items():
                found[result] += p / len(frontier)
        return found

    total: Counter = Counter()
    for node in neighbours:
        for result, p in grow(frozenset({node})).items():
            total[result] += p / len(neighbours)
    return total


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5)],
        [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)],
        [(0, 1), (1, 2), (3, 4)],  # in parts: 0 – 1 – 2, 3 – 4 and 5
    ],
)
def test_each_neighbour_is_as_likely_to_be_the_next(pairs):
    """Every set within five standard deviations of its exact probability."""
    data = Data(x=torch.eye(6), edge_index=to_undirected(torch.tensor(pairs).T, num_nodes=6))
    neighbours = {i: set() for i in range(6)}
    for i, j in pairs:
        neighbours[i].add(j)
        neighbours[j].add(i)
    count, at_once = 20_000, 500
    whole = from_batch(Batch.from_data_list([data] * at_once))
    method, seen = keeper(0.5), Counter()
    for _ in range(count // at_once):
        for row in method.draw(whole).view(at_once, 6):
            seen[frozenset(row.nonzero().view(-1).tolist())] += 1
    expected = exact(neighbours, 3)
    assert set(seen) <= set(expected)
    for kept, p in expected.items():
        assert abs(seen[kept] - count * p) <= 5 * (count * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.2, 0.5, 0.8, 1.0])
def test_how_many_nodes_stay(batch, ratio):
    sizes = batch.ptr.diff().tolist()
    out = keeper(ratio)(batch)
    assert out.ptr.diff().tolist() == [max(1, ceil(round(ratio * n, 6))) for n in sizes]


def test_no_more_than_wanted_for_any_size():
    sizes = list(range(1, 61))
    none = torch.empty(2, 0).long()
    whole = Batch.from_data_list([Data(x=torch.ones(n, 1), edge_index=none) for n in sizes])
    for tenths in range(11):
        out = keeper(tenths / 10)(whole)
        assert out.ptr.diff().tolist() == [max(1, -(-tenths * n // 10)) for n in sizes]


def test_what_is_kept_of_a_ring_is_a_path(batch):
    method = keeper(0.6)
    for _ in range(20):
        for graph, before in zip(method(batch).to_data_list(), batch.to_data_list(), strict=True):
            assert is_undirected(graph.edge_index, num_nodes=graph.num_nodes)
            if before.num_nodes > 1:
                assert graph.num_edges == 2 * (graph.num_nodes - 1)


def test_attributes_stay_with_their_nodes_and_edges(batch):
    batch.number = torch.arange(batch.num_nodes)
    batch.edge_attr = batch.edge_index.T.clone()
    out = keeper(0.6)(batch)
    assert torch.equal(out.x, batch.x[out.number])
    assert torch.equal(out.number[out.edge_index].T, out.edge_attr)


def test_nothing_changes_where_all_is_kept(batch):
    out = keeper(1.0)(batch)
    assert torch.equal(out.edge_index, batch.edge_index)
    assert torch.equal(out.x, batch.x)


def test_a_ratio_is_a_fraction():
    with pytest.raises(InputError, match=r"keep_ratio must be in \[0, 1\]; got 1.5"):
        Subgraph(2, keep_ratio=1.5)
