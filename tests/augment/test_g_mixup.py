"""G-Mixup: graphons against a loop over dense matrices, and new graphs against their graphon."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_dense_adj

from ifmixup.augment import GMixup
from ifmixup.augment.g_mixup import GMixupPlan, align, usvt
from ifmixup.batch import from_batch, to_batch
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, is_undirected, select
from strategies import CLASSES, graphs


def graph(pairs: list[tuple[int, int]], n: int, y: int, scale: float = 1.0) -> Data:
    """An undirected graph; node i has the feature i · scale."""
    both = pairs + [(j, i) for i, j in pairs]
    return Data(
        x=scale * torch.arange(float(n)).view(-1, 1),
        edge_index=torch.tensor(both, dtype=torch.long).reshape(-1, 2).T.contiguous(),
        y=torch.tensor([y]),
    )


PATH = graph([(0, 1), (1, 2)], 3, 0)  # by degree: 1, 0, 2
STAR = graph([(3, 0), (3, 1), (3, 2)], 4, 0, 10.0)  # by degree: 3, 0, 1, 2
TRIANGLE = graph([(0, 1), (1, 2), (0, 2)], 3, 1)
FOLD = [PATH, STAR, TRIANGLE]


def fitted(fold=FOLD, classes: int = 2, **options) -> GMixup:
    generator = torch.Generator().manual_seed(0)
    return GMixup(classes, generator=generator, **options).fit(fold)


def plan_of(count: int, first: int, second: int, lam: float) -> GMixupPlan:
    of = torch.full((count,), first), torch.full((count,), second), torch.full((count,), lam)
    return GMixupPlan(*of, torch.randint(2**62, (count,), generator=torch.Generator()))


def prepared(data: list[Data], classes: int = 2) -> Graphs:
    return GMixup(classes)._prepare(from_batch(Batch.from_data_list(data)))


class TestGraphon:
    def test_by_hand(self):
        """The median size is 3. USVT without a threshold is the mean itself."""
        method = fitted(threshold=0.0)
        # In both the first node is joined with the two others.
        path = torch.tensor([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]])
        torch.testing.assert_close(method.graphon[0], path)
        torch.testing.assert_close(method.graphon[1], 1 - torch.eye(3))
        # The path has 1, 0, 2, and the star 30, 0, 10, of which the last is cropped.
        assert method.features["x"][0].view(-1).tolist() == [15.5, 0, 6]
        assert method.features["x"][1].view(-1).tolist() == [0, 1, 2]

    @settings(max_examples=60)
    @given(fold=st.lists(graphs(), min_size=1, max_size=6), size=st.integers(1, 7))
    def test_against_a_loop_over_dense_matrices(self, fold, size):
        group = torch.cat([data.y for data in fold])
        expected = np.zeros((CLASSES, size, size))
        places = []
        for data in fold:
            n = data.num_nodes
            dense = to_dense_adj(data.edge_index, max_num_nodes=n)[0].numpy() > 0
            dense = dense | dense.T
            np.fill_diagonal(dense, False)
            order = sorted(range(n), key=lambda i, dense=dense: (-dense[i].sum(), i))
            padded = np.zeros((max(n, size), max(n, size)))
            padded[:n, :n] = dense[order][:, order]
            expected[int(data.y)] += padded[:size, :size]
            places += [order.index(i) for i in range(n)]
        whole = prepared(fold, CLASSES)
        place, total = align(whole, size, group, CLASSES)
        assert np.array_equal(total.numpy(), expected)
        assert place.tolist() == places

    def test_usvt_against_the_singular_value_decomposition(self):
        generator = torch.Generator().manual_seed(0)
        for threshold in (0.0, 0.1, 0.2, 0.5, 2.02):
            half = torch.rand(3, 12, 12, generator=generator, dtype=torch.float64)
            mean = (half + half.mT) / 2
            u, s, v = torch.linalg.svd(mean)
            kept = torch.where(s >= threshold * 12**0.5, s, 0)
            expected = (u * kept.unsqueeze(1)) @ v
            torch.testing.assert_close(usvt(mean, threshold), expected.clamp(0, 1))
            found = usvt(mean, threshold)
            assert torch.equal(found, found.mT)
        assert (usvt(mean, 10.0) == 0).all()

    def test_a_place_that_a_class_does_not_have_is_as_in_the_others(self):
        small = graph([], 1, 1, 1.0)
        small.x += 7
        method = fitted([PATH, PATH, STAR, small])
        assert method.features["x"][1].view(-1).tolist() == [7, 0, pytest.approx(14 / 3)]

    def test_the_median_is_of_the_training_graphs(self):
        dataset = load("MUTAG")
        sizes = [data.num_nodes for data in dataset]
        method = fitted(dataset)
        size = int(np.median(sizes))
        assert method.graphon.shape == (2, size, size)
        assert method.features["x"].shape == (2, size, 7)
        assert method.graphon.min() >= 0
        assert method.graphon.max() <= 1
        # Features are one-hot, and so is no mean of theirs, but a row sums to 1.
        torch.testing.assert_close(method.features["x"].sum(2), torch.ones(2, size))


class TestSampling:
    def dense(self, new: Graphs) -> torch.Tensor:
        return to_dense_adj(new.edge_index, new.node_graph, batch_size=new.num_graphs)

    @pytest.mark.parametrize("lam", [0.0, 0.15, 1.0])
    def test_frequencies_are_those_of_the_mixed_graphon(self, lam):
        """Each within five standard deviations: of 36 numbers one is outside in 50,000 tests."""
        count = 4000
        generator = torch.Generator().manual_seed(1)
        method = fitted()
        half = torch.rand(2, 6, 6, generator=generator)
        method.graphon = (half + half.mT) / 2
        method.features = {"x": torch.rand(2, 6, 1, generator=generator)}
        new = method.sample(plan_of(count, 0, 1, lam), prepared(FOLD))
        found = self.dense(new).mean(0)
        expected = lam * method.graphon[0] + (1 - lam) * method.graphon[1]
        expected.fill_diagonal_(0)
        deviation = (expected * (1 - expected) / count).sqrt()
        assert ((found - expected).abs() <= 5 * deviation).all()

    def test_edges_are_independent(self):
        method = fitted()
        method.graphon = torch.full((2, 6, 6), 0.5)
        method.features = {"x": torch.zeros(2, 6, 1)}
        new = method.sample(plan_of(4000, 0, 1, 0.5), prepared(FOLD))
        row, column = torch.triu_indices(6, 6, 1)
        pairs = torch.corrcoef(self.dense(new)[:, row, column].T)
        assert pairs.fill_diagonal_(0).abs().max() < 5 / 4000**0.5

    def test_another_number_of_nodes_has_latent_positions(self):
        """Of two steps each node is at either by a coin, and it is never joined with itself."""
        method = fitted(num_nodes=5)
        method.graphon = torch.tensor([[0.9, 0.2], [0.2, 0.5]]).expand(2, 2, 2)
        method.features = {"x": torch.tensor([[0.0], [1.0]]).expand(2, 2, 1)}
        count = 4000
        new = method.sample(plan_of(count, 0, 1, 0.3), prepared(FOLD))
        assert new.node_counts.tolist() == [5] * count
        dense = self.dense(new)
        assert dense.diagonal(dim1=1, dim2=2).sum() == 0
        step = new.nodes["x"].view(count, 5)
        assert abs(step.mean() - 0.5) < 5 * 0.5 / (5 * count) ** 0.5
        for i in (0, 1):
            for j in (0, 1):
                both = (step[:, 1] == i) & (step[:, 3] == j)
                p, n = method.graphon[0, i, j].item(), int(both.sum())
                assert abs(dense[both, 1, 3].mean() - p) < 5 * (p * (1 - p) / n) ** 0.5

    def test_features_labels_and_shape(self):
        method = fitted()
        new = method.sample(plan_of(3, 1, 0, 0.25), prepared(FOLD))
        expected = 0.25 * method.features["x"][1] + 0.75 * method.features["x"][0]
        torch.testing.assert_close(new.nodes["x"], expected.repeat(3, 1))
        assert new.graphs["y"].tolist() == [[0.75, 0.25]] * 3
        assert new.node_ptr.tolist() == [0, 3, 6, 9]
        assert is_undirected(new)
        assert torch.equal(new.node_graph[new.edge_index], new.edge_graph.expand(2, -1))

    def test_edges_have_the_mean_attributes_of_their_classes(self):
        fold = [data.clone() for data in FOLD]
        for data, weight in zip(fold, (1.0, 6.0, 10.0), strict=True):
            data.edge_weight = torch.full((data.num_edges,), weight)
            data.edge_attr = torch.tensor([[weight, 1.0]]).repeat(data.num_edges, 1)
        method = fitted(fold)
        new = method.sample(plan_of(5, 0, 1, 0.25), prepared(fold))
        mean = 0.25 * (4 * 1 + 6 * 6) / 10 + 0.75 * 10
        count = new.edge_index.size(1)
        assert count > 0
        torch.testing.assert_close(new.edges["edge_weight"], torch.full((count,), mean))
        torch.testing.assert_close(new.edges["edge_attr"], torch.tensor([[mean, 1.0]] * count))
        both = method(Batch.from_data_list(fold))
        assert both.edge_attr.shape == (both.num_edges, 2)
        assert "edge_attr" not in fitted(fold, drop=["edge_attr"])(Batch.from_data_list(fold))

    def test_isolated_nodes_stay(self):
        method = fitted()
        method.graphon = torch.zeros(2, 3, 3)
        new = method.sample(plan_of(4, 0, 1, 0.5), prepared(FOLD))
        assert (new.node_counts == 3).all()
        assert new.edge_index.shape == (2, 0)


class TestBatches:
    def test_the_batch_stays_and_new_graphs_follow(self, batch):
        method = GMixup(2, add_ratio=0.5, generator=torch.Generator().manual_seed(0))
        out = method.fit(batch.to_data_list())(batch)
        assert out.num_graphs == 12
        for before, after in zip(batch.to_data_list(), out.to_data_list(), strict=False):
            assert torch.equal(before.x, after.x)
            assert torch.equal(before.edge_index.T.unique(dim=0), after.edge_index.T)
        lam = out.y[8:].min(1).values
        assert ((lam >= 0.1) & (lam <= 0.2)).all()

    def test_the_number_of_new_graphs_on_average(self, batch):
        method = fitted(add_ratio=0.2)
        graphs = method._prepare(from_batch(batch))
        counts = [method.draw(graphs).lam.numel() for _ in range(1000)]
        assert set(counts) == {1, 2}
        assert sum(counts) / 1000 == pytest.approx(1.6, abs=0.08)

    def test_all_ordered_pairs_of_classes_are_as_likely(self, batch):
        fold = [graph([(0, 1)], 2, y) for y in (0, 2, 3)]
        method = fitted(fold, 5, add_ratio=1.0)
        graphs = method._prepare(from_batch(batch))
        plans = [method.draw(graphs) for _ in range(150)]
        pairs = [
            pair for p in plans for pair in zip(p.first.tolist(), p.second.tolist(), strict=True)
        ]
        assert set(pairs) == {(a, b) for a in (0, 2, 3) for b in (0, 2, 3) if a != b}
        assert all(140 < pairs.count(pair) < 260 for pair in set(pairs))

    def test_one_class(self, batch):
        ring = batch[0]  # of three nodes, and of class 1
        out = fitted([ring, ring], add_ratio=1.0)(batch)
        assert out.y[8:].tolist() == [[0.0, 1.0]] * 8
        assert out.num_edges == batch.num_edges + 8 * 6

    def test_batches_that_are_taken_together(self, batch):
        """Each has its own graphs and then new ones; one alone is as drawn for it."""
        batches = [torch.tensor([5, 4, 1, 0, 6, 3]), torch.tensor([2, 7, 5]), torch.tensor([0])]
        fold = batch.to_data_list()
        method = fitted(fold, add_ratio=0.4)
        graphs = method._prepare(from_batch(batch))
        added = 0
        for _ in range(10):
            for index, taken in zip(batches, method.take(graphs, batches), strict=True):
                own = select(taken, torch.arange(len(index)))
                expected = select(graphs, index)
                assert torch.equal(own.edge_index, expected.edge_index)
                assert torch.equal(own.nodes["x"], expected.nodes["x"])
                assert (taken.graphs["y"][len(index) :].max(1).values < 1).all()
                added += taken.num_graphs - len(index)
        assert 35 < added < 45  # 0.4 of 100
        for index in batches:
            taking, cutting = fitted(fold, add_ratio=0.4), fitted(fold, add_ratio=0.4)
            (taken,) = taking.take(graphs, [index])
            cut = select(graphs, index)
            expected = to_batch(cutting.change(cut, cutting.draw(cut)))
            for key in ("x", "edge_index", "y", "batch", "ptr"):
                assert torch.equal(to_batch(taken)[key], expected[key])


class TestErrors:
    def test_it_must_be_fitted(self, batch):
        with pytest.raises(InputError, match=r"call method.fit\(train_dataset\)"):
            GMixup(2)(batch)

    @pytest.mark.parametrize("y", [torch.rand(3, 2), torch.tensor([[1.0], [0.0], [1.0]])])
    def test_it_needs_classes(self, y):
        fold = [data.clone() for data in FOLD]
        for data, row in zip(fold, y, strict=True):
            data.y = row.view(1, -1)
        with pytest.raises(InputError, match="not one class per graph"):
            GMixup().fit(fold)
        for data in fold:
            del data.y
        with pytest.raises(InputError, match="not one class per graph"):
            GMixup().fit(fold)

    def test_graphs_that_are_too_large(self):
        large = [
            Data(x=torch.ones(6_000, 1), edge_index=torch.empty(2, 0).long(), y=y) for y in (0, 1)
        ]
        with pytest.raises(InputError, match=r"6,000 x 6,000 .* at most 4,096 nodes"):
            GMixup(2).fit(large)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"add_ratio": 1.5}, r"add_ratio must be in \[0, 1\]"),
            ({"lam_low": 0.3}, "0 <= lam_low <= lam_high <= 1"),
            ({"num_nodes": 0}, "num_nodes must be at least 1"),
            ({"threshold": -1.0}, "threshold must be at least 0"),
        ],
    )
    def test_options_that_make_no_sense(self, options, message):
        with pytest.raises(InputError, match=message):
            GMixup(2, **options)


def test_a_batch_without_labels_is_refused():
    data = load("MUTAG")[:40]
    method = GMixup(2, add_ratio=1.0).fit(data)
    batch = Batch.from_data_list([Data(x=g.x, edge_index=g.edge_index) for g in data[:4]])
    with pytest.raises(InputError, match="the graphs of this batch have no y"):
        method(batch)
