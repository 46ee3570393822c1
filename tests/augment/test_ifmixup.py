from collections import Counter

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import to_dense_adj

from ifmixup import IfMixup, MixPlan, mix, mix_batch
from ifmixup.batch import from_batch, to_batch
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.graphs import is_undirected, select, without_repeated_edges
from ifmixup.nn import MODELS


def mixup(**options) -> IfMixup:
    return IfMixup(2, generator=torch.Generator().manual_seed(0), **options)


def test_each_graph_is_mixed_with_its_partner(batch):
    method = mixup(alpha=1.0)
    plan = method.plan(batch)
    out = method.augment(batch, plan).to_data_list()
    for i, (partner, lam) in enumerate(zip(plan.partner, plan.lam, strict=True)):
        expected = mix(batch[i], batch[int(partner)], lam.item(), num_classes=2)
        for key in ("x", "edge_index", "edge_weight", "y"):
            assert torch.equal(out[i][key], expected[key])


def test_mix_batch_applies_what_plan_draws(batch):
    method = mixup()
    plan = method.plan(batch)
    partners = Batch.from_data_list([batch[int(i)] for i in plan.partner])
    expected = mix_batch(batch, partners, plan.lam, num_classes=2)
    out = method.augment(batch, plan)
    assert torch.equal(out.x, expected.x)
    assert torch.equal(out.edge_weight, expected.edge_weight)


def test_random_partners_are_a_permutation(batch):
    assert sorted(mixup().plan(batch).partner.tolist()) == list(range(8))


def test_every_partner_is_as_likely(batch):
    method = mixup()
    partners = torch.stack([method.plan(batch).partner for _ in range(800)])
    for column in partners.T:
        assert all(60 < count < 140 for count in Counter(column.tolist()).values())


def test_partners_of_the_same_size(batch):
    sizes = batch.ptr.diff()
    method = mixup(pairing="same-size")
    chosen = [set() for _ in sizes]
    for _ in range(100):
        for i, partner in enumerate(method.plan(batch).partner.tolist()):
            chosen[i].add(partner)
    assert chosen[0] == {5}
    assert chosen[5] == {0}
    assert [chosen[i] for i in (1, 3, 6)] == [{3, 6}, {1, 6}, {1, 3}]
    assert chosen[4] == set(range(8))  # none of its size: any graph


def test_self_pairing_without_shuffling_changes_nothing(batch):
    out = mixup(pairing="self", alpha=1.0)(batch)
    torch.testing.assert_close(out.x, batch.x)
    assert torch.equal(
        to_dense_adj(out.edge_index, edge_attr=out.edge_weight), to_dense_adj(batch.edge_index)
    )


def test_a_graph_that_is_not_mixed_passes_as_it_is(batch):
    out = mixup(p=0.0, coalesce=False)(batch)
    assert torch.equal(out.x, batch.x)
    assert torch.equal(out.edge_index.T.unique(dim=0), batch.edge_index.T.unique(dim=0))
    assert out.num_edges == batch.num_edges
    assert (out.edge_weight == 1).all()
    assert out.y.argmax(1).tolist() == batch.y.tolist()


def test_both_ways_of_storing_edges_give_the_same_logits(batch):
    method = mixup(alpha=1.0)
    plan = method.plan(batch)
    once = method.augment(batch, plan)
    method.coalesce = False
    twice = method.augment(batch, plan)
    assert twice.num_edges > once.num_edges
    for model in MODELS.values():
        torch.manual_seed(0)
        network = model(3, 8, 3, 2).double().eval()
        logits = [
            network(b.x.double(), b.edge_index, b.edge_weight.double(), b.batch)
            for b in (once, twice)
        ]
        torch.testing.assert_close(*logits)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"coalesce": False},
        {"p": 0.5, "pairing": "same-size"},
        {"pairing": "self"},
        {"ratio": "batch"},
        {"shuffle_every": 1},
        {"shuffle_every": 1, "coalesce": False},
    ],
    ids=str,
)
def test_taking_graphs_is_cutting_and_then_mixing_them(batch, options):
    batches = [torch.tensor([5, 4, 1, 0, 6, 3]), torch.tensor([2, 7, 5]), torch.tensor([0])]
    cutting, taking = mixup(alpha=1.0, **options), mixup(alpha=1.0, **options)
    graphs = cutting._prepare(from_batch(batch))
    for index, taken in zip(batches, taking.take(graphs, batches), strict=True):
        cut = select(graphs, index)
        expected = to_batch(cutting.change(cut, cutting.draw(cut)))
        for key in ("x", "edge_index", "edge_weight", "y", "batch", "ptr"):
            assert torch.equal(to_batch(taken)[key], expected[key])


class TestShuffling:
    def orders(self, method: IfMixup, batch: Batch) -> list[list[int]]:
        plan = method.plan(batch)
        sizes = batch.ptr.diff()[plan.partner].tolist()
        parts = plan.node_order.split(sizes)
        starts = torch.tensor([0, *sizes]).cumsum(0)
        orders: list[list[int]] = [[]] * len(sizes)
        for partner, part, start in zip(plan.partner.tolist(), parts, starts, strict=False):
            orders[partner] = (part - start).tolist()
        return orders

    def test_an_order_is_a_permutation_within_each_graph(self, batch):
        for order, n in zip(
            self.orders(mixup(shuffle_every=1), batch), batch.ptr.diff(), strict=True
        ):
            assert sorted(order) == list(range(n))

    def test_orders_stay_for_k_epochs_whatever_the_batch(self, batch):
        method = mixup(shuffle_every=2)
        graphs = batch.to_data_list()
        first = self.orders(method, batch)
        method.start_epoch(1)
        assert self.orders(method, Batch.from_data_list(graphs[::-1])) == first[::-1]
        method.start_epoch(2)
        assert self.orders(method, batch) != first
        method.start_epoch(0)
        assert self.orders(method, batch) == first

    def test_all_orders_are_as_likely(self):
        graph = Data(x=torch.eye(3), edge_index=torch.zeros(2, 0).long(), y=torch.tensor([0]))
        batch = Batch.from_data_list([graph])
        method = mixup(shuffle_every=1)
        seen = Counter()
        for epoch in range(600):
            method.start_epoch(epoch)
            seen[tuple(self.orders(method, batch)[0])] += 1
        assert len(seen) == 6
        assert all(65 < count < 140 for count in seen.values())

    def test_the_partner_is_permuted_and_not_the_graph(self, batch):
        method = mixup(shuffle_every=1, pairing="self", alpha=1.0)
        plan = method.plan(batch)
        lam = plan.lam[batch.batch].view(-1, 1)
        expected = lam * batch.x + (1 - lam) * batch.x[plan.node_order]
        torch.testing.assert_close(method.augment(batch, plan).x, expected)

    def test_the_partners_edges_follow_its_nodes(self, batch):
        method = mixup(shuffle_every=1, pairing="self", alpha=1.0)
        plan = method.plan(batch)
        lam = plan.lam[batch.batch].view(-1, 1)
        (e,) = to_dense_adj(batch.edge_index, max_num_nodes=batch.num_nodes)
        expected = lam * e + (1 - lam) * e[plan.node_order][:, plan.node_order]
        for coalesce in (True, False):
            method.coalesce = coalesce
            out = method.augment(batch, plan)
            (mixed,) = to_dense_adj(out.edge_index, None, out.edge_weight, batch.num_nodes)
            torch.testing.assert_close(mixed, expected)

    @pytest.mark.parametrize("pairing", ["random", "same-size", "self"])
    def test_edges_side_by_side_come_out_sorted_and_mirrored(self, batch, pairing):
        method = mixup(shuffle_every=1, coalesce=False, alpha=1.0, p=0.8, pairing=pairing)
        graphs = method._prepare(without_repeated_edges(from_batch(batch)))
        for epoch in range(20):
            method.start_epoch(epoch)
            mixed = method.change(graphs, method.draw(graphs))
            assert (mixed.edge_index[0].diff() >= 0).all()
            assert is_undirected(mixed)

    def test_never(self, batch):
        assert mixup().plan(batch).node_order is None


def test_a_plan_of_ones_own(batch):
    plan = MixPlan(torch.tensor([1, 0, 2, 3, 4, 5, 6, 7]), torch.full((8,), 0.75))
    out = mixup().augment(batch, plan)
    assert out.ptr.diff().tolist() == [5, 5, 4, 5, 7, 3, 5, 1]


def test_a_plan_needs_one_ratio_per_graph(batch):
    plan = MixPlan(torch.arange(8), torch.full((7,), 0.75))
    with pytest.raises(InputError, match=r"one λ per pair, shape \[8\]"):
        mixup().augment(batch, plan)


def test_the_loop_of_the_readme_on_mutag():
    dataset = load("MUTAG")
    method = IfMixup(dataset.num_classes)
    model = MODELS["gcn"](dataset.num_features, 16, 2, dataset.num_classes)
    for batch in DataLoader(dataset, 32, shuffle=True):
        batch = method(batch)
        out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        torch.nn.functional.cross_entropy(out, batch.y).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairing": "same_size"}, "Unknown pairing 'same_size'. Did you mean 'same-size'"),
        ({"shuffle_every": 0}, "shuffle_every must be at least 1, or None; got 0"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        IfMixup(2, **options)


def test_attributes_can_be_dropped(batch):
    batch.atom = torch.zeros(batch.num_nodes).long()
    with pytest.raises(InputError, match="'atom'"):
        mixup()(batch)
    assert "atom" not in mixup(drop=["atom"])(batch)


@pytest.mark.parametrize("x", [None, torch.zeros(33, 3).long()])
def test_features_that_cannot_be_mixed(batch, x):
    batch.x = x
    with pytest.raises(InputError, match="ode features x"):
        mixup()(batch)
