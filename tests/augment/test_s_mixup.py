"""S-Mixup: soft alignment against dense matrices pair by pair; the matcher against loops."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from ifmixup import mix
from ifmixup.augment import MixPlan, SMixup, matcher
from ifmixup.augment.matcher import Matcher, Pairs, _attend, _parts, _triplets, train_matcher
from ifmixup.augment.s_mixup import mix_edges, mix_nodes, soft_assignment
from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from ifmixup.graphs import select
from strategies import CLASSES, WIDTH, dense_edges, graphs

TINY = {"matcher_channels": 4, "matcher_layers": 2, "matcher_epochs": 1}


def mixer(seed: int = 0, **options) -> SMixup:
    """Fitted on nothing: a matcher with its initial weights."""
    generator = torch.Generator().manual_seed(seed)
    method = SMixup(CLASSES, generator=generator, **{**TINY, **options})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        method.matcher = Matcher(WIDTH, 4, 2).requires_grad_(False)
    return method


def states_of(method: SMixup, a: Data, b: Data) -> tuple[torch.Tensor, torch.Tensor]:
    """The node states of a pair, edge by edge and node by node."""
    net = method.matcher
    h = [net.enter(graph.x) for graph in (a, b)]
    for layer in net.layers:
        new = []
        for side, graph in enumerate((a, b)):
            mine, other = h[side], h[1 - side]
            rows = []
            for i in range(graph.num_nodes):
                receive, _, update = layer.own(mine[i]).chunk(3)
                total = torch.zeros_like(receive)
                for s, t in {(s, t) for s, t in graph.edge_index.T.tolist()}:
                    if t == i:
                        total += (receive + layer.own(mine[s]).chunk(3)[1]).relu()
                seen = torch.softmax(other @ mine[i], 0) @ other
                inside = update + layer.gather(total) + layer.other(mine[i] - seen)
                rows.append(mine[i] + layer.leave(inside.relu()))
            new.append(torch.stack(rows))
        h = new
    return h[0], h[1]


@settings(max_examples=60)
@given(
    data=st.lists(graphs(max_nodes=6), min_size=1, max_size=4),
    seed=st.integers(0, 999),
    weighted=st.booleans(),
    draw=st.data(),
)
def test_any_pairs_against_dense_matrices(data, seed, weighted, draw):
    data = [Data(x=g.x, edge_index=g.edge_index, y=g.y) for g in data]
    for graph in data if weighted else []:
        graph.edge_weight = torch.rand(graph.num_edges) + 0.1
    method = mixer(seed, threshold=0.03, p=0.8)
    batch = Batch.from_data_list(data)
    plan = method.plan(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matcher, "AT_ONCE", draw.draw(st.sampled_from([1, 40, 10_000])))
        out = method.augment(batch, plan)
    assert torch.equal(out.ptr, batch.ptr)
    for g, a in enumerate(data):
        b, lam = data[int(plan.partner[g])], plan.lam[g]
        one, other = states_of(method, a, b)
        share = torch.softmax(F.normalize(one) @ F.normalize(other).T, 0)  # over A's nodes
        e_a, e_b = dense_edges(a, a.num_nodes), dense_edges(b, b.num_nodes)
        expected = lam * e_a + (1 - lam) * share @ e_b @ share.T
        sure = (expected - 0.03).abs() > 1e-5
        expected = torch.where((expected >= 0.03) | (lam == 1), expected, 0)
        found = dense_edges(out[g], a.num_nodes)
        torch.testing.assert_close(found[sure], expected[sure], atol=1e-5, rtol=1e-4)
        x = lam * a.x + (1 - lam) * share @ b.x
        torch.testing.assert_close(out[g].x, x, atol=1e-5, rtol=1e-4)
        y = torch.eye(CLASSES)
        torch.testing.assert_close(out[g].y[0], lam * y[a.y[0]] + (1 - lam) * y[b.y[0]])


class TestAlignment:
    def pairs(self, a: Data, b: Data) -> Pairs:
        whole = mixer()._prepare(from_batch(Batch.from_data_list([a, b])))
        width = max(a.num_nodes, b.num_nodes)
        return Pairs.of(whole, torch.tensor([0]), torch.tensor([1]), width)

    def test_columns_sum_to_one_and_padding_is_nothing(self):
        a = Data(x=torch.eye(3)[[0, 1]], edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0]))
        b = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([1]))
        for first, second in ((a, b), (b, a)):
            pairs = self.pairs(first, second)
            h = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
            share = soft_assignment(h, pairs, 1.0)[0]
            n, m = first.num_nodes, second.num_nodes
            cosine = F.normalize(h[:n]) @ F.normalize(h[n:]).T
            torch.testing.assert_close(share[:n, :m], cosine.softmax(0))
            torch.testing.assert_close(share.sum(0)[:m], torch.ones(m))
            assert share[n:].sum() == share[:, m:].sum() == 0
            hard = soft_assignment(h, pairs, 1e-3)[0]
            assert hard[:n, :m].argmax(0).tolist() == cosine.argmax(0).tolist()
            assert hard.max() > 0.99

    @settings(max_examples=60)
    @given(a=graphs(max_nodes=6), b=graphs(max_nodes=6), draw=st.data())
    def test_a_permutation_reproduces_the_permuted_mix_exactly(self, a, b, draw):
        """With M a permutation, S-Mixup is ifMixup of A and the permuted B."""
        n = max(a.num_nodes, b.num_nodes)
        for graph in (a, b):
            graph.x = F.pad(graph.x, (0, 0, 0, n - graph.num_nodes))
        order = torch.tensor(draw.draw(st.permutations(range(n))))
        lam = draw.draw(st.sampled_from([0.5, 0.625, 0.75, 0.9]))
        share = torch.eye(n)[order].unsqueeze(0)  # row i takes node order[i] of B
        pairs = self.pairs(a, b)
        ratio = torch.full((1, 1, 1), lam)
        edges = mix_edges(pairs, share, ratio, 0.0)
        moved = torch.empty_like(order)
        moved[order] = torch.arange(n)
        permuted = Data(x=b.x[order], edge_index=moved[b.edge_index], y=b.y)
        expected = mix(a, permuted, lam, num_classes=CLASSES)
        assert torch.equal(mix_nodes(pairs, share, ratio)["x"], expected.x)
        assert torch.equal(edges["edge"][1:], expected.edge_index)
        assert torch.equal(edges["edge_weight"], expected.edge_weight)

    def test_edge_attributes_are_mixed_as_weights_are(self):
        edges = torch.tensor([[0, 1], [1, 0]])
        a = Data(x=torch.eye(3)[:2], edge_index=edges, y=torch.tensor([0]))
        b = a.clone()
        a.edge_attr, b.edge_attr = (
            torch.tensor([[1.0, 0], [1, 0]]),
            torch.tensor([[0, 3.0], [0, 5]]),
        )
        swap = torch.tensor([[[0.0, 1], [1, 0]]])
        found = mix_edges(self.pairs(a, b), swap, torch.full((1, 1, 1), 0.75), 0.1)
        assert found["edge_weight"].tolist() == [1, 1]
        assert found["edge_attr"].tolist() == [[0.75, 1.25], [0.75, 0.75]]

    def test_edge_attributes_of_graphs_without_edges(self):
        alone = Data(x=torch.eye(3)[:1], edge_index=torch.zeros(2, 0).long(), y=torch.tensor([0]))
        alone.edge_attr = torch.zeros(0, 2)
        out = mixer()(Batch.from_data_list([alone, alone]))
        assert out.edge_attr.shape == (0, 2)


def test_ratios_are_folded_and_light_edges_dropped():
    path = Data(
        x=torch.eye(3)[[0, 1, 2, 0]],
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        y=torch.tensor([0]),
    )
    batch = Batch.from_data_list([path] * 50)
    method = mixer(alpha=0.3)
    plan = method.plan(batch)
    assert (plan.lam >= 0.5).all()
    assert plan.lam.std() > 0.1
    assert (method.augment(batch, plan).edge_weight >= 0.1).all()
    one = mixer(ratio="batch").plan(batch)
    assert one.lam.unique().numel() == 1


class TestFitting:
    def data(self, count: int = 24) -> list[Data]:
        """Rings and paths: two classes that a matcher can tell apart."""
        found = []
        for n in range(count):
            size = 4 + n % 3
            node = torch.arange(size - n % 2)
            edges = torch.stack([node, (node + 1) % size])
            edges = torch.cat([edges, edges.flip(0)], 1)
            found.append(Data(x=torch.ones(size, 3), edge_index=edges, y=torch.tensor([n % 2])))
        return found

    def test_same_seed_same_matcher_and_the_global_generator_is_left_alone(self):
        before = torch.get_rng_state()
        one = SMixup(2, **TINY).fit(self.data(), seed=3)
        assert torch.equal(torch.get_rng_state(), before)
        two = SMixup(2, **TINY).fit(self.data(), seed=3)
        other = SMixup(2, **TINY).fit(self.data(), seed=4)
        state = one.matcher.state_dict()
        assert all(map(torch.equal, state.values(), two.matcher.state_dict().values()))
        assert not torch.equal(state["enter.weight"], other.matcher.state_dict()["enter.weight"])
        # fitted again, for another fold: nothing is left of the first
        one.fit(self.data(12), seed=3)
        alone = SMixup(2, **TINY).fit(self.data(12), seed=3)
        again = alone.matcher.state_dict().values()
        assert all(map(torch.equal, one.matcher.state_dict().values(), again))
        assert not any(p.requires_grad for p in one.parameters())

    def test_graphs_of_a_class_come_nearer(self):
        whole = SMixup(2)._prepare(from_batch(Batch.from_data_list(self.data())))

        def ratio(epochs: int) -> float:
            net = train_matcher(whole, hidden_channels=8, num_layers=2, epochs=epochs, seed=0)
            even = torch.arange(0, 24, 2)
            distances = []
            for other in (even.roll(1), even + 1):
                one, two = net.represent(Pairs.of(whole, even, other, 6)).chunk(2)
                distances.append(float((one - two).square().sum(1).mean()))
            return distances[0] / distances[1]

        assert ratio(25) < 0.5 * ratio(0)

    def test_groups_of_pairs_change_nothing(self, monkeypatch):
        whole = SMixup(2)._prepare(from_batch(Batch.from_data_list(self.data())))
        options = {"hidden_channels": 4, "num_layers": 1, "epochs": 2, "seed": 0}
        together = train_matcher(whole, **options).state_dict()
        monkeypatch.setattr(matcher, "AT_ONCE", 100)
        apart = train_matcher(whole, **options).state_dict()
        for name, value in together.items():
            torch.testing.assert_close(value, apart[name], atol=1e-4, rtol=1e-3)

    def test_triplets(self):
        generator = torch.Generator().manual_seed(0)
        label = torch.tensor([0, 1, 2, 1, 1, 0, 2, 2, 2])
        for _ in range(30):
            anchor, near, far = _triplets(torch.eye(3)[label], generator).unbind(1)
            assert sorted(anchor.tolist()) == list(range(9))
            assert torch.equal(label[anchor], label[near])
            assert (label[anchor] != label[far]).all()
        assert len(_triplets(torch.eye(3)[[1, 1, 1]], generator)) == 0  # one class in the fold
        values = torch.tensor([[0.0], [1.0], [5.0], [float("nan")]])
        for _ in range(30):
            found = values.nan_to_num()[_triplets(values, generator)].squeeze(2)
            assert ((found[:, 0] - found[:, 1]).abs() < (found[:, 0] - found[:, 2]).abs()).all()

    def test_one_graph_or_one_class_or_no_label(self):
        for data in (self.data(1), self.data(6)[::2]):
            method = SMixup(2, **TINY).fit(data)
            assert method(Batch.from_data_list(data)).num_graphs == len(data)
        for graph in data:
            del graph.y
        assert SMixup(**TINY).fit(data)(Batch.from_data_list(data)).get("y") is None

    def test_graphs_that_are_too_large_are_refused_before_anything_is_computed(self, monkeypatch):
        monkeypatch.setattr("ifmixup.augment.s_mixup.LARGEST_GRAPH", 5)
        method = SMixup(2, **TINY)
        with pytest.raises(InputError, match=r"at most 5 nodes; got one of 6\. Use another"):
            method.fit(self.data(6))
        method.fit(self.data(2))
        with pytest.raises(InputError, match="got one of 6"):
            method(Batch.from_data_list(self.data(6)))

    def test_it_has_to_be_fitted(self):
        batch = Batch.from_data_list(self.data(4))
        with pytest.raises(InputError, match=r"no matching network yet.*method\.fit\(train_data"):
            SMixup(2)(batch)

    def test_options_are_checked(self):
        with pytest.raises(InputError, match=r"temperature must be above 0; got 0"):
            SMixup(2, temperature=0)
        with pytest.raises(InputError, match=r"must be at least 1; got 32, 0 and 5"):
            SMixup(2, matcher_layers=0)
        with pytest.raises(InputError, match=r"needs alpha > 0"):
            SMixup(2, alpha=0)

    def test_a_plan_of_another_batch(self):
        batch = Batch.from_data_list(self.data(3))
        with pytest.raises(InputError, match=r"one λ per pair, shape \[3\]"):
            mixer().augment(batch, MixPlan(torch.tensor([0, 1]), torch.ones(2)))


def test_undirected_graphs_stay_so_to_the_last_bit():
    generator = torch.Generator().manual_seed(0)
    data = []
    for n in (9, 14, 11):
        dense = (torch.rand(n, n, generator=generator) < 0.5).triu(1)
        edges = (dense | dense.T).nonzero().T
        x = torch.rand(n, 3, generator=generator)
        data.append(Data(x=x, edge_index=edges, y=torch.tensor([0])))
    method = mixer(threshold=0.0)
    whole = method._prepare(replace(from_batch(Batch.from_data_list(data)), index=None))
    out = method.change(whole, MixPlan(torch.tensor([1, 2, 0]), torch.full((3,), 0.6)))
    for g in range(3):
        part = select(out, torch.tensor([g]))
        dense = torch.zeros(part.num_nodes, part.num_nodes)
        dense[part.edge_index[0], part.edge_index[1]] = part.edges["edge_weight"]
        assert torch.equal(dense, dense.T)


def test_attention_against_the_formula():
    torch.manual_seed(0)
    h, other = torch.randn(3, 7, 4), torch.randn(3, 7, 4)
    hidden = torch.zeros(3, 1, 7)
    hidden[1, :, 5:] = -torch.inf
    expected = (h @ other.mT + hidden).softmax(2) @ other
    torch.testing.assert_close(_attend(h, other, hidden), expected)


def rings(num_nodes: int, count: int):
    node = torch.arange(num_nodes)
    edges = torch.stack([torch.cat([node, (node + 1) % num_nodes])] * 2)
    edges[1] = torch.cat([(node + 1) % num_nodes, node])
    x = torch.eye(WIDTH)[node % WIDTH]
    data = [Data(x=x, edge_index=edges, y=torch.eye(2)[[i % 2]]) for i in range(count)]
    return from_batch(Batch.from_data_list(data))


def test_gradients_are_computed_in_parts_of_bounded_size(monkeypatch):
    triplets = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 2, 2], [0, 0, 0]])
    size = torch.tensor([10, 20, 1000])
    monkeypatch.setattr(matcher, "TRAINED_AT_ONCE", 1100)
    parts = [part.tolist() for part in _parts(triplets, size)]
    assert parts == [[[0, 1, 2]], [[1, 0, 2]], [[2, 2, 2]], [[0, 0, 0]]]
    monkeypatch.setattr(matcher, "TRAINED_AT_ONCE", 2100)
    assert [len(part) for part in _parts(triplets, size)] == [2, 1, 1]


def test_parts_do_not_change_what_is_learnt(monkeypatch):
    graphs = rings(6, 12)
    how = {"hidden_channels": 4, "num_layers": 1, "epochs": 2, "seed": 0}
    whole = train_matcher(graphs, **how).state_dict()
    monkeypatch.setattr(matcher, "TRAINED_AT_ONCE", 1)
    parts = train_matcher(graphs, **how).state_dict()
    torch.testing.assert_close(whole, parts)


def test_the_memory_of_the_fit_grows_with_the_nodes_not_with_their_square(monkeypatch):
    """What a step keeps for its gradients: bytes of the largest part."""
    monkeypatch.setattr(matcher, "TRAINED_AT_ONCE", 1)  # one triplet

    def kept(num_nodes: int) -> int:
        most = now = 0

        def pack(tensor):
            nonlocal now
            now += tensor.untyped_storage().nbytes()
            return tensor

        def after_a_part(grad):
            nonlocal most, now
            most, now = max(most, now), 0

        made = Matcher.seeded(WIDTH, 8, 2, seed=0)
        made.leave.bias.register_hook(after_a_part)
        how = {"hidden_channels": 8, "num_layers": 2, "epochs": 1, "seed": 0}
        with monkeypatch.context() as patched:
            patched.setattr(Matcher, "seeded", staticmethod(lambda *_, **__: made))
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                train_matcher(rings(num_nodes, 4), **how)
        return most

    small, large = kept(200), kept(800)
    assert large < 6 * small  # 16 times where it grows with the square


def test_the_fit_tells_how_far_it_is():
    told = []
    method = SMixup(2, **TINY)
    method.fit_progress = told.append
    method.fit(rings(3, 70))
    assert told == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
