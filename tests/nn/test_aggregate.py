from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch_geometric import EdgeIndex

from ifmixup.nn import Neighbours
from ifmixup.nn.aggregate import sum_at, weighted_sum, without_loops

# 1 → 2 and 3 → 0 twice, loops at 1 and 2, and node 4 alone.
DIRECTED = torch.tensor([[3, 0, 1, 1, 3, 2, 2, 1], [0, 1, 2, 2, 0, 2, 0, 1]])
# 0 – 1 twice, 0 – 3, 1 – 2, a loop at 1, and node 4 alone; below, the number of each edge.
UNDIRECTED = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2, 3], [1, 1, 3, 0, 0, 1, 2, 1, 0]])
NUMBER = torch.tensor([0, 1, 2, 0, 1, 3, 4, 4, 2])

weighted = pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
selves = pytest.mark.parametrize("shape", [None, (5, 1), (1,)], ids=["none", "[N, 1]", "[1]"])


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def inputs(weighted: bool, shape: tuple[int, ...] | None) -> list[Tensor | None]:
    """Random h, edge weights and weights of the nodes themselves, for DIRECTED."""
    return [draw(5, 3), draw(8) if weighted else None, None if shape is None else draw(*shape)]


def dense(
    h: Tensor, edge_index: Tensor, edge_weight: Tensor | None, self_weight: Tensor | None
) -> Tensor:
    """The same with the matrix of the edges; weights are in the order of ``edge_index``."""
    source, target = edge_index
    if edge_weight is None:
        edge_weight = h.new_ones(source.numel())
    matrix = h.new_zeros(len(h), len(h)).index_put((target, source), edge_weight, accumulate=True)
    return matrix @ h if self_weight is None else matrix @ h + self_weight * h


def sparse(
    h: Tensor, edge_index: Tensor, edge_weight: Tensor | None, self_weight: Tensor | None
) -> Tensor:
    neighbours = Neighbours.of(edge_index, len(h))
    weight = None if edge_weight is None else neighbours.sort(edge_weight)
    return weighted_sum(h, neighbours, weight, self_weight)


def test_sum_at_adds_the_rows_of_each_target():
    values = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    out = sum_at(values, torch.tensor([2, 0, 2]), 4)
    assert out.tolist() == [[2.0, 20.0], [0.0, 0.0], [4.0, 40.0], [0.0, 0.0]]


def test_weighted_sum_by_hand():
    h = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    neighbours = Neighbours.of(torch.tensor([[0, 2, 0], [1, 1, 2]]), 3)
    out = weighted_sum(h, neighbours, torch.tensor([0.5, 2.0, 1.0]), torch.tensor([3.0]))
    assert out.tolist() == [[3.0, 30.0], [12.5, 125.0], [10.0, 100.0]]


@weighted
@selves
def test_weighted_sum_is_the_dense_product(weighted, shape):
    h, weight, own = inputs(weighted, shape)
    before = h.detach().clone()
    out = sparse(h, DIRECTED, weight, own)
    assert_close(out, dense(h, DIRECTED, weight, own))
    assert torch.equal(h, before)

    given = [value for value in (h, weight, own) if value is not None]
    direction = torch.randn(5, 3, dtype=torch.float64)
    grads = torch.autograd.grad(out, given, direction)
    assert_close(grads, torch.autograd.grad(dense(h, DIRECTED, weight, own), given, direction))


@weighted
@selves
def test_gradients_and_their_gradients(weighted, shape):
    def function(h, weight, own):
        return sparse(h, DIRECTED, weight, own)

    given = inputs(weighted, shape)
    assert torch.autograd.gradcheck(function, given)
    assert torch.autograd.gradgradcheck(function, given)


@pytest.mark.parametrize("alone", range(3))
def test_gradient_towards_one_input_alone(alone):
    given = inputs(True, (5, 1))
    for index, value in enumerate(given):
        value.requires_grad_(index == alone)
    h, *rest = given
    out, expected = sparse(h, DIRECTED, *rest), dense(h, DIRECTED, *rest)
    grads = [torch.autograd.grad(one.square().sum(), given[alone]) for one in (out, expected)]
    assert_close(*grads)


@pytest.mark.parametrize("shape", [(5, 1), (1,)])
def test_low_precision_with_weights_of_full_precision(shape):
    h, weight, own = inputs(True, shape)
    low = h.detach().bfloat16().requires_grad_()
    rest = [value.detach().float().requires_grad_() for value in (weight, own)]
    out = sparse(low, DIRECTED, *rest)
    assert out.dtype == torch.bfloat16
    assert_close(out.double(), dense(h, DIRECTED, weight, own), atol=0.05, rtol=0.05)
    grads = torch.autograd.grad(out.sum(), [low, *rest])
    assert [grad.dtype for grad in grads] == [torch.bfloat16, torch.float32, torch.float32]
    expected = torch.autograd.grad(dense(h, DIRECTED, weight, own).sum(), [h, weight, own])
    for grad, right in zip(grads, expected, strict=True):
        assert_close(grad.double(), right, atol=0.1, rtol=0.05)


@weighted
@selves
def test_mirrored_edges_give_the_same(weighted, shape):
    h, own = draw(5, 3), None if shape is None else draw(*shape)
    by_edge = draw(5) if weighted else None  # one weight for both directions
    weight = None if by_edge is None else by_edge[NUMBER]
    given = [value for value in (h, by_edge, own) if value is not None]
    direction = torch.randn(5, 3, dtype=torch.float64)
    seen = []
    for neighbours in (Neighbours.of(UNDIRECTED, 5), Neighbours.mirrored(UNDIRECTED, 5)):
        out = weighted_sum(h, neighbours, None if weight is None else neighbours.sort(weight), own)
        seen.append((out, torch.autograd.grad(out, given, direction, retain_graph=True)))
    assert_close(seen[1], seen[0])
    assert_close(seen[1][0], dense(h, UNDIRECTED, weight, own))


def test_gradients_of_mirrored_gradients():
    neighbours = Neighbours.mirrored(UNDIRECTED, 5)

    def function(h, by_edge, own):
        return weighted_sum(h, neighbours, by_edge[NUMBER], own)

    given = (draw(5, 3), draw(5), draw(5, 1))
    assert torch.autograd.gradcheck(function, given)
    assert torch.autograd.gradgradcheck(function, given)


@weighted
@selves
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_without_gradients_the_sum_is_the_same(weighted, shape, mode):
    h, weight, own = inputs(weighted, shape)
    expected = sparse(h, DIRECTED, weight, own)
    with mode():
        out = sparse(h, DIRECTED, weight, own)
    assert not out.requires_grad
    assert torch.equal(out, expected)


@pytest.mark.parametrize("make", [Neighbours.of, Neighbours.mirrored])
@weighted
@selves
def test_no_edges(make, weighted, shape):
    h, own = draw(5, 3), None if shape is None else draw(*shape)
    weight = draw(0) if weighted else None
    out = weighted_sum(h, make(torch.empty(2, 0, dtype=torch.long), 5), weight, own)
    assert_close(out, 0 * h if own is None else own * h)
    out.sum().backward()
    assert_close(h.grad, (0 * h if own is None else own * torch.ones_like(h)).detach())


def test_without_loops_masks_every_loop_however_often_it_stands():
    neighbours = Neighbours.of(torch.tensor([[0, 1, 1, 1], [0, 0, 1, 1]]), 2)
    weight = torch.tensor([0.5, 0.7, 0.4, 0.6], requires_grad=True)
    out = without_loops(neighbours, weight)
    out.sum().backward()
    assert_close(out.detach(), torch.tensor([0.0, 0.7, 0.0, 0.0]))
    assert weight.grad.tolist() == [0.0, 1.0, 0.0, 0.0]


# 0 → 1 twice, a loop at 1, and nobody sends to node 2 or knows node 4.
ARROWS = torch.tensor([[3, 0, 2, 0, 1, 2], [0, 1, 3, 1, 1, 0]])
# 0 – 1, 0 – 3 and a loop at 1; node 2 stands alone.
PAIRS = torch.tensor([[0, 0, 1, 1, 3], [1, 3, 0, 1, 0]])
NONE = torch.empty(2, 0, dtype=torch.long)


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
    neighbours = Neighbours.of(ARROWS, 5)
    assert neighbours.ptr.tolist() == [0, 2, 5, 5, 6, 6]
    assert neighbours.source.tolist() == [3, 2, 0, 0, 1, 2]
    assert neighbours.target.tolist() == [0, 0, 1, 1, 1, 3]
    assert neighbours.order.tolist() == [0, 5, 1, 3, 4, 2]
    assert (neighbours.num_nodes, neighbours.num_edges) == (5, 6)
    assert not neighbours.is_undirected


def test_what_edges_carry_follows_them():
    neighbours = Neighbours.of(ARROWS, 5)
    ends = neighbours.sort(ARROWS.T)
    assert ends.T.tolist() == [neighbours.source.tolist(), neighbours.target.tolist()]


@pytest.mark.parametrize("sort_order", ["row", "col", None])
def test_an_edge_index_with_metadata_gives_the_same(sort_order):
    edge_index = ARROWS
    if sort_order is not None:
        by = ARROWS[0 if sort_order == "row" else 1]
        edge_index = ARROWS[:, by.argsort(stable=True)]
    typed = EdgeIndex(edge_index, sparse_size=(5, 5), sort_order=sort_order)
    neighbours, expected = Neighbours.of(typed, 5), Neighbours.of(edge_index, 5)
    for name in ("ptr", "source", "target"):
        value = getattr(neighbours, name)
        assert type(value) is Tensor
        assert torch.equal(value, getattr(expected, name))
    values = torch.rand(6, 2)
    assert torch.equal(neighbours.sort(values), expected.sort(values))


def test_what_is_sorted_by_column_is_not_sorted_again():
    by_target = ARROWS[:, ARROWS[1].argsort(stable=True)]
    neighbours = Neighbours.of(EdgeIndex(by_target, sparse_size=(5, 5), sort_order="col"), 5)
    values = torch.rand(6)
    assert neighbours.order is None
    assert neighbours.sort(values) is values


def test_mirrored_edges_need_no_sorting():
    neighbours, sorted_ones = Neighbours.mirrored(PAIRS, 4), Neighbours.of(PAIRS, 4)
    for name in ("ptr", "source", "target"):
        assert torch.equal(getattr(neighbours, name), getattr(sorted_ones, name))
    assert neighbours.order is None
    assert neighbours.is_undirected


def test_reverse_turns_every_edge_around():
    neighbours = Neighbours.of(ARROWS, 5)
    back = neighbours.reverse
    check(back)
    assert edges(back) == pairs(ARROWS.flip(0))
    assert back.num_nodes == 5
    # its order leads from the edges that were turned around
    assert torch.equal(back.sort(neighbours.source), back.target)
    assert torch.equal(back.sort(neighbours.target), back.source)


def test_reversed_twice_are_the_same_edges():
    neighbours = Neighbours.of(ARROWS, 5)
    twice = neighbours.reverse.reverse
    check(twice)
    assert edges(twice) == edges(neighbours)
    assert torch.equal(twice.ptr, neighbours.ptr)


def test_edges_are_turned_around_once():
    neighbours = Neighbours.of(ARROWS, 5)
    assert neighbours.reverse is neighbours.reverse


def test_mirrored_edges_are_their_own_reverse():
    neighbours = Neighbours.mirrored(PAIRS, 4)
    assert neighbours.reverse is neighbours
    assert edges(neighbours) == edges(Neighbours.of(PAIRS, 4).reverse)


@pytest.mark.parametrize("make", [Neighbours.of, Neighbours.mirrored])
def test_no_edges_at_all(make):
    neighbours = make(NONE, 3)
    for one in (neighbours, neighbours.reverse):
        check(one)
        assert (one.num_nodes, one.num_edges) == (3, 0)
        assert one.sort(torch.empty(0, 2)).shape == (0, 2)
