"""Who is mixed with whom, and until when."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from ifmixup import IfMixup
from ifmixup.augment.pairing import near, other_group, same_group
from ifmixup.batch import from_batch, to_batch
from ifmixup.errors import InputError
from ifmixup.graphs import select
from ifmixup.training.trainer import Trainer
from tiny import parts


def mixup(pairing: str = "random", **options) -> IfMixup:
    generator = torch.Generator().manual_seed(0)
    return IfMixup(2, pairing=pairing, generator=generator, **options)


class TestClasses:
    group = np.array([0, 1, 0, 2, 1, 0])

    def test_the_same_class(self):
        rng, seen = np.random.default_rng(0), [set() for _ in self.group]
        for _ in range(200):
            partner = same_group(rng, self.group)
            assert sorted(partner) == list(range(6))
            for i, j in enumerate(partner.tolist()):
                seen[i].add(j)
        assert seen == [{2, 5}, {4}, {0, 5}, {3}, {1}, {0, 2}]

    def test_another_class_all_graphs_as_likely(self):
        rng, seen = np.random.default_rng(0), [Counter() for _ in self.group]
        for _ in range(1200):
            for i, j in enumerate(other_group(rng, self.group).tolist()):
                seen[i][j] += 1
        for i, found in enumerate(seen):
            others = [j for j in range(6) if self.group[j] != self.group[i]]
            assert sorted(found) == others
            p = 1 / len(others)
            assert all(abs(n - 1200 * p) < 5 * (1200 * p * (1 - p)) ** 0.5 for n in found.values())

    @pytest.mark.parametrize("count", [1, 4])
    def test_one_class_only(self, count):
        rng = np.random.default_rng(0)
        assert other_group(rng, np.zeros(count)).tolist() == list(range(count))
        assert same_group(rng, np.arange(count)).tolist() == list(range(count))

    @pytest.mark.parametrize("pairing", ["same-class", "other-class"])
    def test_in_a_batch(self, batch, pairing):
        same = pairing == "same-class"
        method = mixup(pairing, alpha=1.0)
        for _ in range(20):
            partner = method.plan(batch).partner
            assert ((batch.y[partner] == batch.y) == same).all()
        purity = method(batch).y.max(1).values
        assert (purity == 1).all() == same

    def test_rows_of_several_labels(self, batch):
        batch.y = torch.tensor([[0, 1], [1, 1], [0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1.0]])
        partner = mixup("same-class").plan(batch).partner
        assert torch.equal(batch.y[partner], batch.y)


class TestNear:
    def test_by_the_kernel(self):
        """Each partner within five standard deviations of its probability."""
        y, count = np.array([[0.0], [0.5], [1.5], [4.0]]), 4000
        rng = np.random.default_rng(0)
        drawn = np.stack([near(rng, y, 0.8) for _ in range(count)])
        kernel = np.exp(-((y - y.T) ** 2) / (2 * 0.8**2))
        np.fill_diagonal(kernel, 0)
        p = kernel / kernel.sum(1, keepdims=True)
        found = np.stack([np.bincount(column, minlength=4) for column in drawn.T])
        assert (np.abs(found - count * p) <= 5 * np.sqrt(count * p * (1 - p))).all()

    def test_the_distance_is_over_all_targets_that_both_have(self):
        nan = float("nan")
        y = np.array([[0.0, 0], [3, 4], [0.0, nan], [100, 100]])
        found = near(np.random.default_rng(0), y, 0.1)
        assert found[0] == 2
        assert found[1] == 2  # 3 away, and 5 away from the first
        assert found[2] == 0

    def test_in_a_batch(self, batch):
        batch.y = torch.tensor([0.0, 50, 51, 100, 1, 150, 149, 101])
        assert mixup("near").plan(batch).partner.tolist() == [4, 2, 1, 7, 0, 6, 5, 3]
        wide = mixup("near", bandwidth=1e6)
        assert len({tuple(wide.plan(batch).partner.tolist()) for _ in range(20)}) > 10

    def test_a_graph_alone(self, batch):
        assert near(np.random.default_rng(0), np.zeros((1, 1)), 1.0).tolist() == [0]

    def test_half_precision(self, batch):
        batch.x = batch.x.bfloat16()
        batch.y = batch.y.bfloat16()
        assert mixup("near")(batch).y.dtype == torch.bfloat16


@pytest.mark.parametrize("pairing", ["same-class", "other-class", "near"])
def test_taking_graphs_is_cutting_and_then_mixing_them(batch, pairing):
    batches = [torch.tensor([5, 4, 1, 0, 6, 3]), torch.tensor([2, 7, 5]), torch.tensor([0])]
    cutting, taking = mixup(pairing, alpha=1.0), mixup(pairing, alpha=1.0)
    graphs = cutting._prepare(from_batch(batch))
    for index, taken in zip(batches, taking.take(graphs, batches), strict=True):
        cut = select(graphs, index)
        expected = to_batch(cutting.change(cut, cutting.draw(cut)))
        for key in ("x", "edge_index", "edge_weight", "y", "batch", "ptr"):
            assert torch.equal(to_batch(taken)[key], expected[key])


@pytest.mark.parametrize("pairing", ["same-class", "other-class", "near"])
def test_labels_are_needed(batch, pairing):
    del batch.y
    with pytest.raises(InputError, match=rf"pairing='{pairing}' needs labels y"):
        mixup(pairing)(batch)


class TestUntil:
    def mixes(self, method: IfMixup, batch: Batch, epoch: int) -> bool:
        method.start_epoch(epoch)
        out = method(batch)
        assert "edge_weight" in out  # whether or not it is mixed
        assert "node_weight" in out
        same = torch.equal(out.x, batch.x) and bool((out.edge_weight == 1).all())
        return not same

    def test_a_number_of_epochs(self, batch):
        method = mixup(alpha=1.0, until=2)
        assert [self.mixes(method, batch, epoch) for epoch in range(4)] == [True] * 2 + [False] * 2
        assert not self.mixes(mixup(until=0), batch, 0)

    def test_a_share_of_the_training(self, batch):
        method = mixup(alpha=1.0, until=0.75)
        method.num_epochs = 4
        assert [self.mixes(method, batch, epoch) for epoch in range(4)] == [True] * 3 + [False]
        method.until = 1.0
        assert self.mixes(method, batch, 3)

    def test_the_length_of_the_training_must_be_known(self, batch):
        with pytest.raises(InputError, match=r"until=0.5 is a fraction .* Set num_epochs"):
            mixup(until=0.5)(batch)

    def test_a_training_tells_its_length(self, packed):
        losses = []
        for options in ({"until": 0.5}, {"until": 2}, {}):
            trainer = Trainer(*parts("gcn", "ifmixup", epochs=4, **options), packed, train=TRAIN)
            assert trainer.method.num_epochs == 4
            for _ in range(4):
                trainer.run_epoch()
            losses.append(trainer.curves["train_loss"])
        half, two, always = losses
        assert half == two
        assert always[:2] == two[:2]
        assert always[2:] != two[2:]

    @pytest.mark.parametrize("until", [-1, 1.5, -0.5])
    def test_what_makes_no_sense(self, until):
        with pytest.raises(InputError, match=r"until must be a number of epochs \(an int\)"):
            mixup(until=until)


TRAIN = torch.arange(6)


@pytest.fixture
def packed(batch):
    from ifmixup.data.dataset import GraphDataset
    from ifmixup.training.packed import pack

    graphs: list[Data] = batch.to_data_list()
    return pack(GraphDataset.of("rings", graphs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairing": "same_class"}, "Unknown pairing 'same_class'. Did you mean 'same-class'"),
        ({"bandwidth": 0.0}, "bandwidth must be more than 0; got 0.0"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        IfMixup(2, **options)
