from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from ifmixup.nn import Neighbours

# 0 → 1 twice, a loop at 1, and nobody sends to node 2 or knows node 4.
DIRECTED = torch.tensor([[3, 0, 2, 0, 1, 2], [0, 1, 3, 1, 1, 0]])
# 0 – 1, 0 – 3 and a loop at 1; node 2 stands alone.
UNDIRECTED = torch.tensor([[0, 0, 1, 1, 3], [1, 3, 0, 1, 0]])
NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def edges(neighbours: Neighbours) -> list[tuple[int, int]]:
    return sorted(zip(neighbours.source.tolist(), neighbours.target.tolist(), strict=True))


def pairs(edge_index: Tensor) -> list[tuple[int, int]]:
    return sorted(zip(*edge_index.tolist(), strict=True))


def check(neighbours: Neighbours) -> None:
    """Node i hears from ``source[ptr[i]:ptr[i + 1]]``, and ``target`` says the same."""
    assert neighbours.ptr[0] == 0
    counts = neighbours.ptr.diff()
    assert torch.equal(neighbours.target, torch.arange(len(counts)).repeat_interleave(counts))
    assert neighbours.source.shape == neighbours.target.shape == (neighbours.num_edges,)


def test_edges_in_any_order_are_grouped_by_target():
    neighbours = Neighbours.of(DIRECTED, 5)
    assert neighbours.ptr.tolist() == [0, 2, 5, 5, 6, 6]
    assert neighbours.source.tolist() == [3, 2, 0, 0, 1, 2]
    assert neighbours.target.tolist() == [0, 0, 1, 1, 1, 3]
    assert neighbours.order.tolist() == [0, 5, 1, 3, 4, 2]
    assert (neighbours.num_nodes, neighbours.num_edges) == (5, 6)
    assert not neighbours.is_undirected


def test_what_edges_carry_follows_them():
    neighbours = Neighbours.of(DIRECTED, 5)
    ends = neighbours.sort(DIRECTED.T)
    assert ends.T.tolist() == [neighbours.source.tolist(), neighbours.target.tolist()]


@pytest.mark.parametrize("sort_order", ["row", "col", None])
def test_an_edge_index_with_metadata_gives_the_same(sort_order):
    edge_index = DIRECTED
    if sort_order is not None:
        by = DIRECTED[0 if sort_order == "row" else 1]
        edge_index = DIRECTED[:, by.argsort(stable=True)]
    typed = EdgeIndex(edge_index, sparse_size=(5, 5), sort_order=sort_order)
    neighbours, expected = Neighbours.of(typed, 5), Neighbours.of(edge_index, 5)
    for name in ("ptr", "source", "target"):
        value = getattr(neighbours, name)
        assert type(value) is Tensor
        assert torch.equal(value, getattr(expected, name))
    values = torch.rand(6, 2)
    assert torch.equal(neighbours.sort(values), expected.sort(values))


def test_what_is_sorted_by_column_is_not_sorted_again():
    by_target = DIRECTED[:, DIRECTED[1].argsort(stable=True)]
    neighbours = Neighbours.of(EdgeIndex(by_target, sparse_size=(5, 5), sort_order="col"), 5)
    values = torch.rand(6)
    assert neighbours.order is None
    assert neighbours.sort(values) is values


def test_mirrored_edges_need_no_sorting():
    neighbours, sorted_ones = Neighbours.mirrored(UNDIRECTED, 4), Neighbours.of(UNDIRECTED, 4)
    for name in ("ptr", "source", "target"):
        assert torch.equal(getattr(neighbours, name), getattr(sorted_ones, name))
    assert neighbours.order is None
    assert neighbours.is_undirected


def test_reverse_turns_every_edge_around():
    neighbours = Neighbours.of(DIRECTED, 5)
    back = neighbours.reverse
    check(back)
    assert edges(back) == pairs(DIRECTED.flip(0))
    assert back.num_nodes == 5
    # its order leads from the edges that were turned around
    assert torch.equal(back.sort(neighbours.source), back.target)
    assert torch.equal(back.sort(neighbours.target), back.source)


def test_reversed_twice_are_the_same_edges():
    neighbours = Neighbours.of(DIRECTED, 5)
    twice = neighbours.reverse.reverse
    check(twice)
    assert edges(twice) == edges(neighbours)
    assert torch.equal(twice.ptr, neighbours.ptr)


def test_edges_are_turned_around_once():
    neighbours = Neighbours.of(DIRECTED, 5)
    assert neighbours.reverse is neighbours.reverse


def test_mirrored_edges_are_their_own_reverse():
    neighbours = Neighbours.mirrored(UNDIRECTED, 4)
    assert neighbours.reverse is neighbours
    assert edges(neighbours) == edges(Neighbours.of(UNDIRECTED, 4).reverse)


@pytest.mark.parametrize("make", [Neighbours.of, Neighbours.mirrored])
def test_no_edges_at_all(make):
    neighbours = make(NO_EDGES, 3)
    for one in (neighbours, neighbours.reverse):
        check(one)
        assert (one.num_nodes, one.num_edges) == (3, 0)
        assert one.sort(torch.empty(0, 2)).shape == (0, 2)
