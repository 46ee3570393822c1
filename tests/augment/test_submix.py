"""SubMix: subgraphs that change places, against sets; fitted orders are the drawn ones."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_undirected

from ifmixup.augment import SubMix, submix
from ifmixup.augment.submix import SubMixPlan
from ifmixup.batch import from_batch
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.graphs import select
from strategies import CLASSES, graphs


def mixer(seed: int = 0, **options) -> SubMix:
    return SubMix(CLASSES, generator=torch.Generator().manual_seed(seed), **options)


def undirected(n: int, label: int, *pairs: tuple[int, int]) -> Data:
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    edges = to_undirected(edges, num_nodes=n)
    x = 10.0 * label + torch.arange(float(n)).view(n, 1)
    return Data(x=x, edge_index=edges, y=torch.tensor([label]))


def edges_of(graph: Data) -> list[tuple[int, int, int]]:
    """Source, target and number of each edge."""
    return [*zip(*graph.edge_index.tolist(), graph.edge_number.tolist(), strict=True)]


def plan_of(partner, target, source) -> SubMixPlan:
    return SubMixPlan(*map(torch.tensor, (partner, target, source)))


class TestMixing:
    def test_by_hand(self):
        """Nodes 1 and 2 of the path 0 – 1 – 2 – 3 become nodes 2 and 0 of a triangle."""
        path = undirected(4, 0, (0, 1), (1, 2), (2, 3))
        triangle = undirected(3, 1, (0, 1), (0, 2), (1, 2))
        batch = Batch.from_data_list([path, triangle])
        plan = plan_of([1, 0], [1, 2, 4], [6, 4, 0])  # the triangle gets node 0 of the path
        out = mixer().augment(batch, plan)
        assert out[0].x.view(-1).tolist() == [0, 12, 10, 3]
        assert out[0].edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
        torch.testing.assert_close(out[0].y, torch.tensor([[2 / 3, 1 / 3, 0, 0]]))
        assert out[1].x.view(-1).tolist() == [0, 11, 12]  # crossing edges stay
        assert torch.equal(out[1].edge_index, triangle.edge_index)
        assert out[1].y.tolist() == [[0, 1, 0, 0]]

    def test_a_graph_that_would_have_no_edges_stays(self):
        one = undirected(2, 0, (0, 1))
        none = undirected(2, 1)
        batch = Batch.from_data_list([one, none])
        out = mixer().augment(batch, plan_of([1, 0], [0, 1, 2], [2, 3, 0]))
        assert out[0].x.view(-1).tolist() == [0, 1]
        assert torch.equal(out[0].edge_index, one.edge_index)
        assert out[0].y.tolist() == [[1, 0, 0, 0]]
        assert torch.equal(out[1].x, none.x)

    @settings(max_examples=100)
    @given(
        data=st.lists(graphs(max_nodes=7, edge_attr=True), min_size=1, max_size=4),
        seed=st.integers(0, 10_000),
    )
    def test_any_graphs_against_sets(self, data, seed):
        method = mixer(seed, subgraph_ratio=1.0)
        count = 0
        for graph in data:
            graph.edge_number = torch.arange(count, count := count + graph.num_edges)
        batch = Batch.from_data_list(data)
        plan = method.plan(batch)
        out = method.augment(batch, plan)
        assert torch.equal(out.ptr, batch.ptr)
        for g, a in enumerate(data):
            b = data[int(plan.partner[g])]
            mine = batch.batch[plan.target] == g
            target = (plan.target[mine] - batch.ptr[g]).tolist()
            source = (plan.source[mine] - batch.ptr[plan.partner[g]]).tolist()
            assert len(set(target)) == len(target) == len(set(source))
            place = dict(zip(source, target, strict=True))
            kept = [e for e in edges_of(a) if not {e[0], e[1]} <= {*target}]
            new = [(place[i], place[j], n) for i, j, n in edges_of(b) if {i, j} <= {*source}]
            x = a.x.clone()
            x[target] = b.x[source]
            lam = len(kept) / len(kept + new) if kept + new else 1.0
            if not kept + new:
                kept, x = edges_of(a), a.x
            assert sorted(edges_of(out[g])) == sorted(kept + new)
            assert torch.equal(out[g].edge_attr, batch.edge_attr[out[g].edge_number])
            assert torch.equal(out[g].x, x)
            y = torch.eye(CLASSES)
            torch.testing.assert_close(out[g].y[0], lam * y[a.y[0]] + (1 - lam) * y[b.y[0]])


class TestDrawing:
    def test_partners_are_other_graphs_each_once(self):
        batch = Batch.from_data_list([undirected(3, 0, (0, 1))] * 7)
        for seed in range(20):
            partner = mixer(seed).plan(batch).partner
            assert sorted(partner.tolist()) == list(range(7))
            assert (partner != torch.arange(7)).all()
        assert mixer().plan(Batch.from_data_list([batch[0]])).partner.tolist() == [0]

    def test_sizes_are_shares_of_the_smaller_component(self):
        """⌈u · 5⌉ of u ~ U(0, 0.4): 1 or 2 nodes, as often; roots lie in components of 10 and 5."""
        ten = undirected(10, 0, *((i, i + 1) for i in range(9)))
        five = undirected(6, 1, *((i, i + 1) for i in range(4)))
        sizes = []
        for seed in range(200):
            plan = mixer(seed).plan(Batch.from_data_list([ten, five]))
            size = int((plan.target < 10).sum())
            if int(plan.source[0]) != 15:  # node 5 of the second graph is alone
                sizes.append(size)
            else:
                assert size == 1
        assert set(sizes) == {1, 2}
        assert abs(sizes.count(1) / len(sizes) - 0.5) < 0.15  # 4 σ

    def test_the_nodes_are_those_of_highest_pagerank(self):
        star = undirected(6, 0, (0, 1), (0, 2), (0, 3), (3, 4), (4, 5))
        method = mixer(teleport=0.15)
        nodes, start, reached = method._orders(
            from_batch(Batch.from_data_list([star])), torch.tensor([[4, 1]])
        )
        # by a direct solve
        looped = torch.eye(6, dtype=torch.float64)
        looped[star.edge_index[0], star.edge_index[1]] = 1
        scale = looped.sum(1).rsqrt()
        matrix = torch.eye(6) - 0.85 * scale.view(-1, 1) * looped * scale
        for column, root in ((0, 4), (1, 1)):
            expected = torch.linalg.inv(matrix)[root].argsort(descending=True, stable=True)
            first = int(start[0, column])
            found = nodes[first : first + 6].tolist()
            ties = {1, 2}
            assert [n if n not in ties else 1 for n in found] == [
                n if n not in ties else 1 for n in expected.tolist()
            ]
        assert reached.tolist() == [[6, 6]]


class TestFitting:
    @settings(max_examples=60)
    @given(data=st.lists(graphs(max_nodes=8), min_size=2, max_size=6), seed=st.integers(0, 99))
    def test_fitted_orders_give_the_same_graphs(self, data, seed):
        whole = replace(
            from_batch(Batch.from_data_list(data)), index=torch.arange(len(data)) * 3 + 5
        )
        fitted, plain = mixer(seed), mixer(seed)
        fitted.fit(whole)
        part = select(whole, torch.tensor([1, 0, 1]))
        one, other = fitted.draw(part), plain.draw(part)
        assert torch.equal(one.target, other.target)
        assert torch.equal(one.source, other.source)

    def test_molecules(self):
        data = [Data(x=g.x, edge_index=g.edge_index, y=g.y) for g in load("MUTAG")]
        whole = replace(from_batch(Batch.from_data_list(data)), index=torch.arange(len(data)))
        fitted, plain = mixer(), mixer()
        fitted.fit(whole)
        for begin in range(0, 180, 60):
            part = select(whole, torch.arange(begin, begin + 60))
            one, other = fitted.draw(part), plain.draw(part)
            assert torch.equal(one.target, other.target)
            assert torch.equal(one.source, other.source)

    def test_graphs_that_were_not_fitted_or_are_too_large(self, monkeypatch):
        data = [undirected(n, 0, *((i, i + 1) for i in range(n - 1))) for n in (4, 9, 5, 6)]
        whole = replace(from_batch(Batch.from_data_list(data)), index=torch.arange(4))
        monkeypatch.setattr(submix, "LARGEST_GRAPH", 8)
        monkeypatch.setattr(submix, "AT_ONCE", 30)  # in several stacks
        for first in (0, 1):  # with and without the large one
            part = select(whole, torch.arange(first, 4))
            for fitted_on in (whole, select(whole, torch.tensor([3, 0]))):
                fitted, plain = mixer(), mixer()
                fitted.fit(fitted_on)
                assert torch.equal(fitted.draw(part).target, plain.draw(part).target)
        fitted = mixer()
        fitted.fit(whole)
        assert fitted._known.slot.tolist() == [0, -1, 1, 2]
        monkeypatch.setattr(submix, "MOST_NODES", 20)
        fitted.fit(whole)
        assert fitted._known.slot.tolist() == [0, -1, 1, -1]

    def test_the_index_of_another_dataset_is_noticed(self):
        data = [undirected(n, 0, *((i, i + 1) for i in range(n - 1))) for n in (4, 9)]
        whole = replace(from_batch(Batch.from_data_list(data)), index=torch.arange(2))
        fitted = mixer()
        fitted.fit(whole)
        swapped = replace(whole, index=torch.tensor([1, 0]))
        assert torch.equal(fitted.draw(swapped).target, mixer().draw(swapped).target)


def test_options_are_checked():
    with pytest.raises(InputError, match=r"subgraph_ratio must be in \[0, 1\]; got 2"):
        SubMix(2, subgraph_ratio=2)
    with pytest.raises(InputError, match=r"teleport must be in \(0, 1\]; got 0"):
        SubMix(2, teleport=0)


def test_graphs_too_large_for_the_table_are_ordered_when_they_are_drawn(monkeypatch):
    monkeypatch.setattr(submix, "LARGEST_GRAPH", 4)
    ring = torch.arange(9)
    edge_index = to_undirected(torch.stack([ring, ring.roll(-1)]))
    data = [Data(x=torch.ones(9, 1), edge_index=edge_index, y=torch.tensor([i])) for i in (0, 1)]
    method = SubMix(2, generator=torch.Generator().manual_seed(0))
    whole = replace(from_batch(Batch.from_data_list(data)), index=torch.arange(2))
    whole = method._prepare(whole)
    method.fit(whole)
    assert method.change(whole, method.draw(whole)).num_graphs == 2
