"""Graph Transplant: parts, joins and labels against sets; saliency against autograd."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_mean_pool

from ifmixup.augment import GraphTransplant
from ifmixup.augment.graph_transplant import (
    TransplantPlan,
    _ball,
    _choose,
    _joined,
    _loss_and_saliency,
    _most_salient,
)
from ifmixup.batch import from_batch
from ifmixup.errors import InputError, ModelError
from ifmixup.nn import GCN, GIN
from ifmixup.nn.inputs import GraphsModel
from strategies import CLASSES, graphs


def surgeon(seed: int = 0, **options) -> GraphTransplant:
    return GraphTransplant(CLASSES, generator=torch.Generator().manual_seed(seed), **options)


def ring(n: int, label: int = 0) -> Data:
    node = torch.arange(n)
    edges = torch.cat([torch.stack([node, (node + 1) % n]), torch.stack([(node + 1) % n, node])], 1)
    return Data(x=10.0 * label + node.view(n, 1), edge_index=edges, y=torch.tensor([label]))


def mask(n: int, *chosen: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.bool).index_fill(0, torch.tensor(chosen), True)


class TestChanging:
    def test_by_hand(self):
        """Nodes 1 and 2 of a ring of 4 give way to nodes 0 and 1 of a triangle."""
        batch = Batch.from_data_list([ring(4), ring(3, 1)])
        plan = TransplantPlan(
            partner=torch.tensor([1, 0]),
            taken=mask(7, 0, 4, 5),  # the triangle gets node 0 of the ring
            removed=mask(7, 1, 2, 4, 5, 6),  # and loses all of its own
            join=torch.tensor([[0, 3], [4, 5]]),
            join_row=torch.tensor([0, 5]),
            lam=torch.tensor([0.25, 0.0]),
        )
        out = surgeon().augment(batch, plan)
        # nodes 0 and 3 stay as 0 and 1; nodes 0 and 1 of the triangle are 2 and 3
        assert out[0].x.view(-1).tolist() == [0, 3, 10, 11]
        pairs = {(0, 1), (2, 3), (0, 2), (1, 3)}
        assert {(i, j) for i, j in out[0].edge_index.T.tolist() if i < j} == pairs
        assert out[0].num_edges == 8
        assert out[0].y.tolist() == [[0.25, 0.75, 0, 0]]
        assert out[1].x.view(-1).tolist() == [0]
        assert out[1].num_edges == 0
        assert out[1].y.tolist() == [[1, 0, 0, 0]]

    @settings(max_examples=100)
    @given(data=st.lists(graphs(max_nodes=7), min_size=1, max_size=4), seed=st.integers(0, 10_000))
    def test_any_graphs_against_sets(self, data, seed):
        method = surgeon(seed, anchor_ratio=0.3)
        batch = Batch.from_data_list(data)
        plan = method.plan(batch)
        out = method.augment(batch, plan)
        for g in range(len(data)):
            source = int(plan.partner[g])
            own = [n for n in range(batch.ptr[g], batch.ptr[g + 1]) if not plan.removed[n]]
            given = [n for n in range(batch.ptr[source], batch.ptr[source + 1]) if plan.taken[n]]
            names = {("own", n): i for i, n in enumerate(own)}
            names |= {("given", n): i + len(own) for i, n in enumerate(given)}
            edges = set()
            for i, j in batch.edge_index.T.tolist():
                for side in ("own", "given"):
                    if (side, i) in names and (side, j) in names:
                        edges.add((names[side, i], names[side, j]))
            for i, j in plan.join.T.tolist():
                if ("own", i) in names:
                    assert batch.batch[i] == g
                    assert batch.batch[j] == source
                    ends = (names["own", i], names["given", j])
                    edges |= {ends, ends[::-1]}
            assert sorted(edges) == list(map(tuple, out[g].edge_index.T.tolist()))
            assert torch.equal(out[g].x, batch.x[own + given])
            # the label, by the share of nodes where all are as salient
            s, d = len(given) / data[source].num_nodes, len(own) / data[g].num_nodes
            y = torch.eye(CLASSES)[batch.y]
            torch.testing.assert_close(out[g].y[0], (s * y[source] + d * y[g]) / (s + d))


class TestDrawing:
    def test_the_label_is_the_share_of_saliency(self):
        batch = from_batch(Batch.from_data_list([ring(6), ring(8, 1), ring(5, 2)]))
        saliency = torch.rand(19, generator=torch.Generator().manual_seed(1))
        plan = surgeon().draw(batch, saliency)
        for g in range(3):
            s, d = plan.taken & (batch.node_graph == plan.partner[g]), batch.node_graph == g
            whole = saliency[batch.node_graph == plan.partner[g]].sum()
            share = saliency[s].sum() / whole
            kept = saliency[d & ~plan.removed].sum() / saliency[d].sum()
            torch.testing.assert_close(1 - plan.lam[g], share / (share + kept))

    def test_no_gradient_at_all(self):
        batch = from_batch(Batch.from_data_list([ring(6), ring(8, 1)]))
        zero = surgeon().draw(batch, torch.zeros(14))
        torch.testing.assert_close(zero.lam, surgeon().draw(batch, torch.ones(14)).lam)

    def test_degrees_are_restored(self):
        """Where both sides lose as many edges and no pair is joined twice, each node has again the
        degree that it had.
        """
        restored = 0
        for seed in range(60):
            batch = Batch.from_data_list([ring(12), ring(12, 1)])
            method = surgeon(seed)
            plan = method.plan(batch)
            out = method.augment(batch, plan)
            source, target = batch.edge_index
            lost = (~plan.removed[source] & plan.removed[target]).long()
            given = (plan.taken[source] & ~plan.taken[target]).long()
            for g in range(2):
                own = int(lost[batch.batch[source] == g].sum())
                other = int(given[batch.batch[source] == plan.partner[g]].sum())
                joined = int((batch.batch[plan.join[0]] == g).sum())
                expected = (own + other) // 2 if own and other else 0
                assert joined == expected
                if own == other and joined == expected:
                    restored += 1
                    degree = torch.bincount(out[g].edge_index[0], minlength=out[g].num_nodes)
                    assert (degree == 2).all()
        assert restored > 30

    def test_joins_use_up_lost_edges_in_turn(self):
        """A star loses 1 edge at its centre, a ring 3: two new edges join them."""
        star = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        whole = from_batch(Batch.from_data_list([star, ring(8)]))
        taken = mask(11, 3, 5, 6)  # 3 loses two edges, 5 and 6 one each
        join, row = _joined(whole, torch.tensor([1, 0]), taken, mask(11, 2), [1, 2])
        mine = join[0] < 3
        assert join[0][mine].tolist() == [0] * int(mine.sum())
        assert set(join[1][mine].tolist()) <= {3, 5, 6}
        assert 1 <= int(mine.sum()) <= 2  # (1 + 4) // 2, and one less if 3 was drawn twice
        assert whole.edge_index[:, row[mine]].unique().tolist() == [0, 2]

    @settings(max_examples=60)
    @given(
        data=st.lists(graphs(max_nodes=8), min_size=1, max_size=3),
        hops=st.integers(1, 3),
        share=st.floats(0.01, 0.99),
        seed=st.integers(0, 999),
    )
    def test_parts_are_balls_whose_last_hop_is_taken_in_part(self, data, hops, share, seed):
        whole = from_batch(Batch.from_data_list(data))
        anchors = _choose(whole, torch.ones(len(data), dtype=torch.long), seed)
        found = _ball(whole, anchors, hops, share, seed)
        for g in range(len(data)):
            nodes = range(whole.node_ptr[g], whole.node_ptr[g + 1])
            (anchor,) = [n for n in nodes if anchors[n]]
            distance = {anchor: 0}
            for hop in range(1, hops + 1):
                for i, j in whole.edge_index.T.tolist():
                    if distance.get(i) == hop - 1:
                        distance.setdefault(j, hop)
            last = [n for n in distance if distance[n] == hops]
            inner = {n for n in distance if distance[n] < hops}
            taken = {n for n in nodes if found[n]}
            assert inner <= taken <= set(distance)
            assert len(taken - inner) == (max(1, int(share * len(last))) if last else 0)

    def test_anchors_are_of_the_most_salient(self):
        whole = from_batch(Batch.from_data_list([ring(10), ring(20)]))
        saliency = torch.rand(30, generator=torch.Generator().manual_seed(0))
        top = _most_salient(whole, saliency, torch.tensor([2, 4]))
        assert set(top.nonzero().view(-1).tolist()) == {
            *saliency[:10].topk(2).indices.tolist(),
            *(saliency[10:].topk(4).indices + 10).tolist(),
        }
        seen = set()
        for seed in range(40):
            chosen = _choose(whole, torch.tensor([1, 2]), seed, top)
            assert (chosen <= top).all()
            assert [int(chosen[:10].sum()), int(chosen[10:].sum())] == [1, 2]
            seen |= set(chosen.nonzero().view(-1).tolist())
        assert seen == set(top.nonzero().view(-1).tolist())


class TestLoss:
    @pytest.mark.parametrize("jk", ["last", "sum"])
    @pytest.mark.parametrize("cls", [GIN, GCN])
    def test_saliency_is_the_gradient_of_the_last_states(self, cls, jk):
        torch.manual_seed(0)
        batch = Batch.from_data_list([ring(4), ring(3, 1), ring(5, 2)])
        model = cls(1, 4, 2, CLASSES, jk=jk, norm="none", dropout=0.0)
        states = []
        handle = model.layers[-1].register_forward_hook(lambda *call: states.append(call[2]))
        out = model(batch.x, batch.edge_index, None, batch.batch)
        handle.remove()
        expected = F.cross_entropy(out, batch.y)
        (gradient,) = torch.autograd.grad(expected, states[0], retain_graph=True)
        graphs = surgeon()._prepare(from_batch(batch))
        loss, saliency = _loss_and_saliency(GraphsModel(model), graphs, F.cross_entropy)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(saliency, gradient.norm(dim=1))
        loss.backward()  # which still reaches all parameters
        assert all(p.grad is not None for p in model.parameters())

    def test_it_is_that_of_the_graphs_plus_that_of_the_mixed_ones(self):
        torch.manual_seed(0)
        batch = Batch.from_data_list([ring(4), ring(9, 1), ring(5, 2)])
        model = GIN(1, 4, 2, CLASSES, norm="none", dropout=0.0)
        loss = surgeon().loss(model, batch, F.cross_entropy)
        method = surgeon()
        graphs = method._prepare(from_batch(batch))
        plain, saliency = _loss_and_saliency(GraphsModel(model), graphs, F.cross_entropy)
        mixed = method.change(graphs, method.draw(graphs, saliency))
        out = model(mixed.nodes["x"], mixed.edge_index, None, mixed.node_graph)
        torch.testing.assert_close(loss, plain + F.cross_entropy(out, mixed.graphs["y"]))

    def test_frozen_models_and_no_gradients(self):
        batch = Batch.from_data_list([ring(4), ring(9, 1)])
        model = GIN(1, 4, 2, CLASSES).requires_grad_(False)
        assert surgeon().loss(model, batch, F.cross_entropy).isfinite()
        with torch.no_grad():
            assert surgeon().loss(GIN(1, 4, 2, CLASSES), batch, F.cross_entropy).isfinite()

    def test_a_model_without_layers(self):
        class Net(nn.Module):
            def forward(self, x, edge_index, edge_weight, batch):
                return x

        with pytest.raises(ModelError, match="Net has no attribute num_layers"):
            surgeon().loss(Net(), Batch.from_data_list([ring(4)]), F.cross_entropy)


def test_edge_attributes_of_new_edges_are_those_of_the_edges_they_replace():
    data = ring(8)
    data.edge_attr = torch.arange(16.0)
    batch = Batch.from_data_list([data, replace_label(data)])
    method = surgeon(3)
    plan = method.plan(batch)
    assert plan.join.size(1)
    out = method.augment(batch, plan)
    whole = method._prepare(from_batch(batch))
    assert set(out.edge_attr.tolist()) >= set(whole.edges["edge_attr"][plan.join_row].tolist())


def replace_label(data: Data) -> Data:
    other = data.clone()
    other.y = torch.tensor([1])
    return other


def test_options_are_checked():
    with pytest.raises(InputError, match=r"anchor_ratio must be in \[0, 1\]; got 2"):
        GraphTransplant(2, anchor_ratio=2)
    with pytest.raises(InputError, match="max_hops must be at least 1; got 0"):
        GraphTransplant(2, max_hops=0)


class Own(nn.Module):
    """A model of a user's with what the method needs, and no more."""

    num_layers = 1

    def __init__(self):
        super().__init__()
        self.lin, self.head = nn.Linear(1, 4), nn.Linear(4, CLASSES)

    def encode(self, x, edge_index, edge_weight, batch, *, start=0, stop=None):
        return self.lin(x).relu() if start == 0 else x

    def embed(self, x, edge_index, edge_weight, batch, *, start=0):
        h = self.encode(x, edge_index, edge_weight, batch, start=start)
        return global_mean_pool(h, batch)

    def classify(self, h):
        return self.head(h)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.classify(self.embed(x, edge_index, edge_weight, batch))


def test_a_model_of_the_users():
    batch = Batch.from_data_list([ring(4), ring(9, 1)])
    assert surgeon().loss(Own(), batch, F.cross_entropy).isfinite()
