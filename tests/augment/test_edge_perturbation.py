"""EdgePerturbation: pairs without an edge by their number, drawn without bias; moves by hand."""

from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_undirected

from ifmixup.augment import EdgePerturbation, edge_perturbation
from ifmixup.augment.edge_perturbation import PerturbationPlan, _nodes, _pairs, distinct
from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, pointers
from strategies import graphs


def perturber(ratio: float) -> EdgePerturbation:
    return EdgePerturbation(2, perturb_ratio=ratio, generator=torch.Generator().manual_seed(0))


def undirected(n: int, pairs: list[tuple[int, int]]) -> Data:
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return Data(x=torch.ones(n, 1), edge_index=to_undirected(edges, num_nodes=n), y=torch.zeros(1))


def joined(whole: Graphs) -> set[frozenset]:
    """The pairs of nodes that an edge joins."""
    return {frozenset(edge) for edge in whole.edge_index.T.tolist() if edge[0] != edge[1]}


def test_pairs_have_numbers_without_gaps():
    sizes = list(range(1, 10))
    data = [undirected(n, list(combinations(range(n), 2))) for n in sizes]
    whole = from_batch(Batch.from_data_list(data))
    first = pointers(whole.node_counts * (whole.node_counts - 1) // 2)
    numbers = _pairs(whole, first)
    assert sorted(numbers.tolist()) == sorted([*range(int(first[-1]))] * 2)  # both directions
    nodes = _nodes(whole, first, numbers)
    assert torch.equal(nodes.sort(0).values, whole.edge_index.sort(0).values)


class TestDistinctNumbers:
    def test_how_many_and_of_which(self):
        count = torch.tensor([0, 3, 1, 5, 0, 2, 7])
        size = torch.tensor([0, 10, 1, 5, 4, 1000, 8])
        start = pointers(size)
        for seed in range(50):
            found = distinct(seed, count, size)
            assert (found.diff() > 0).all()
            group = torch.searchsorted(start, found, right=True) - 1
            assert torch.bincount(group, minlength=7).tolist() == count.tolist()
            assert torch.equal(found, distinct(seed, count, size))

    @pytest.mark.parametrize("wanted", [1, 2, 3, 4])
    def test_all_sets_are_as_likely(self, wanted):
        groups = 6000
        count, size = torch.full((groups,), wanted), torch.full((groups,), 5)
        found = distinct(7, count, size).view(groups, wanted) % 5
        seen = Counter(map(tuple, found.tolist()))
        assert set(seen) == set(combinations(range(5), wanted))
        p = 1 / len(seen)
        deviation = (groups * p * (1 - p)) ** 0.5
        assert all(abs(each - groups * p) <= 5 * deviation for each in seen.values())


class TestMoving:
    def test_by_hand(self):
        """The path 0 – 1 – 2 – 3: the first edge moves to {0, 3}, the last is dropped."""
        data = undirected(4, [(0, 1), (1, 2), (2, 3)])
        data.edge_attr = torch.tensor([1.0, 1, 2, 2, 3, 3])
        plan = PerturbationPlan(torch.tensor([[0, 3], [1, 2]]), torch.tensor([[3], [0]]))
        out = perturber(0.5).augment(data, plan)
        assert out.edge_index.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
        assert out.edge_attr.tolist() == [1, 2, 2, 1]

    def test_a_directed_edge_moves_as_the_plan_says(self):
        data = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[2, 1], [1, 1]]))
        plan = PerturbationPlan(torch.tensor([[1], [2]]), torch.tensor([[0], [2]]))
        out = perturber(0.5).augment(data, plan)  # what was at 1 is at 0, what was at 2 stays there
        assert out.edge_index.tolist() == [[1, 2], [1, 0]]

    @settings(max_examples=150)
    @given(
        data=st.lists(graphs(max_nodes=7, edge_attr=True), min_size=1, max_size=4),
        ratio=st.sampled_from([0.2, 0.5, 1.0]),
        seed=st.integers(0, 1000),
    )
    def test_what_moves_and_what_stays(self, data, ratio, seed):
        method = perturber(ratio)
        method.generator.manual_seed(seed)
        whole = from_batch(Batch.from_data_list(data))
        plan = method.draw(whole)
        out = method.change(whole, plan)
        removed = [frozenset(pair) for pair in plan.removed.T.tolist()]
        added = [frozenset(pair) for pair in plan.added.T.tolist()]
        before, after = joined(whole), joined(out)
        assert len(set(removed)) == len(removed)
        assert len(set(added)) == len(added)
        assert set(removed) <= before
        assert not set(added) & before
        assert all(len(pair) == 2 for pair in added)
        assert after == (before - set(removed)) | set(added)

        graph = whole.node_graph
        for index, n in enumerate(whole.node_counts.tolist()):

            def inside(pairs, index=index):
                return [pair for pair in pairs if graph[min(pair)] == graph[max(pair)] == index]

            edges, free = len(inside(before)), n * (n - 1) // 2 - len(inside(before))
            assert abs(len(inside(removed)) - ratio * edges) < 1
            assert len(inside(added)) == min(len(inside(removed)), free)
        # Attributes move with their edges, several between the same nodes together.
        moved = dict(zip(removed, added, strict=False))
        dropped = set(removed[len(added) :])

        def bundle(pair, row):
            return moved.get(pair, pair), tuple(row)

        def rows(graphs):
            pairs = map(frozenset, graphs.edge_index.T.tolist())
            return list(zip(pairs, graphs.edges["edge_attr"].tolist(), strict=True))

        kept = [bundle(pair, row) for pair, row in rows(whole) if pair not in dropped]
        assert Counter(kept) == Counter((pair, tuple(row)) for pair, row in rows(out))
        if plan.removed.numel():
            assert (out.edge_index[0].diff() >= 0).all()

    def test_the_number_of_edges_stays(self, batch):
        method = perturber(0.4)
        for _ in range(20):
            out = method(batch)
            rings = [5, 4, 5, 7, 5]  # a ring of three nodes has no free pair
            assert [2 * n for n in rings] == [
                graph.num_edges for graph in out.to_data_list() if graph.num_nodes > 3
            ]

    def test_in_a_complete_graph_edges_are_dropped(self):
        whole = Batch.from_data_list([undirected(5, list(combinations(range(5), 2)))])
        assert perturber(0.3)(whole).num_edges == 14

    def test_self_loops_stay(self):
        data = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [0, 2, 1, 1]]))
        for _ in range(10):
            out = perturber(1.0)(Batch.from_data_list([data]))
            loops = out.edge_index[0][out.edge_index[0] == out.edge_index[1]]
            assert loops.tolist() == [0, 1]


class TestChance:
    def test_all_edges_and_all_free_pairs_are_as_likely(self):
        """Each within five standard deviations."""
        count = 6000
        pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
        whole = from_batch(Batch.from_data_list([undirected(6, pairs)] * count))
        plan = perturber(0.4).draw(whole)
        removed = Counter(tuple(sorted(p)) for p in (plan.removed % 6).T.tolist())
        added = Counter(tuple(sorted(p)) for p in (plan.added % 6).T.tolist())
        assert set(removed) == set(pairs)
        assert set(added) == set(combinations(range(6), 2)) - set(pairs)
        for seen in (removed, added):
            p = 2 / len(seen)
            deviation = (count * p * (1 - p)) ** 0.5
            assert all(abs(each - count * p) <= 5 * deviation for each in seen.values())
        # Which of its ends a directed edge leaves is a coin, too.
        up = (plan.added[0] < plan.added[1]).sum().item()
        assert abs(up - count) <= 5 * (2 * count / 4) ** 0.5

    def test_the_fraction_on_average(self):
        data = undirected(30, [(i, i + 1) for i in range(7)])
        whole = from_batch(Batch.from_data_list([data] * 2000))
        plan = perturber(0.2).draw(whole)  # 1.4 of 7 edges
        assert plan.removed.size(1) / 2000 == pytest.approx(1.4, abs=5 * 0.5 / 2000**0.5)
        assert plan.added.shape == plan.removed.shape

    def test_nothing_and_everything(self, batch):
        assert torch.equal(perturber(0.0)(batch).edge_index, batch.edge_index)
        whole = from_batch(batch)
        assert not joined(whole) & joined(from_batch(perturber(1.0)(batch)))


def test_a_ratio_is_a_fraction():
    with pytest.raises(InputError, match=r"perturb_ratio must be in \[0, 1\]; got -0.1"):
        EdgePerturbation(2, perturb_ratio=-0.1)


def test_no_graph_loses_more_edges_than_it_has(monkeypatch):
    ring = torch.arange(100)
    edge_index = torch.stack([ring, ring.roll(-1)])
    edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    graph = Data(x=torch.ones(100, 1), edge_index=edge_index, y=torch.tensor([0]))
    monkeypatch.setattr(edge_perturbation, "hash_uniform", lambda _, key: 0 * key + (1 - 2.0**-24))
    method = EdgePerturbation(2, perturb_ratio=1.0)
    changed = method(Batch.from_data_list([graph, graph]))
    assert [each.num_edges for each in changed.to_data_list()] == [200, 200]
