import pytest
import torch
import torch.nn.functional as F

from ifmixup.augment import MixPlan, MixupGraph
from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from ifmixup.nn import GIN


def seeded(**options) -> MixupGraph:
    return MixupGraph(2, alpha=1.0, generator=torch.Generator().manual_seed(0), **options)


def test_representations_and_labels_are_mixed_by_hand():
    h, y = torch.tensor([[1.0, 0.0], [3.0, 8.0]]), torch.eye(2)
    plan = MixPlan(torch.tensor([1, 0]), torch.tensor([0.75, 1.0]))
    mixed, labels = MixupGraph(2).mix(h, y, plan)
    assert mixed.tolist() == [[1.5, 2.0], [3.0, 8.0]]
    assert labels.tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_a_missing_label_counts_only_where_it_has_a_share():
    nan = float("nan")
    plan = MixPlan(torch.tensor([1, 0, 0]), torch.tensor([1.0, 0.5, 0.0]))
    _, y = MixupGraph().mix(torch.ones(3, 1), torch.tensor([[1.0], [nan], [nan]]), plan)
    assert y[[0, 2]].tolist() == [[1.0], [1.0]]
    assert y[1].isnan()


def test_the_loss_is_of_mixed_representations_and_can_be_replayed(batch):
    torch.manual_seed(0)
    model = GIN(3, 4, 2, 2, jk="sum", norm="none").eval()
    assert torch.equal(seeded()(batch).x, batch.x)  # the graphs stay
    loss = seeded().loss(model, batch, F.cross_entropy)
    plan = seeded().plan(batch)
    h = model.embed(batch.x, batch.edge_index, None, batch.batch)
    lam, y = plan.lam.view(-1, 1), torch.eye(2)[batch.y]
    mixed = lam * h + (1 - lam) * h[plan.partner]
    labels = lam * y + (1 - lam) * y[plan.partner]
    torch.testing.assert_close(loss, F.cross_entropy(model.classify(mixed), labels))
    h, y = seeded().mix(h, y, plan)
    torch.testing.assert_close(loss, F.cross_entropy(model.classify(h), y))


def test_in_eval_mode_nothing_is_mixed(batch):
    model = GIN(3, 4, 2, 2).eval()
    out = model(batch.x, batch.edge_index, None, batch.batch)
    loss = seeded().eval().loss(model, batch, F.cross_entropy)
    torch.testing.assert_close(loss, F.cross_entropy(out, batch.y))


def test_partners_are_of_the_batch(batch):
    assert sorted(seeded().plan(batch).partner.tolist()) == list(range(8))


def test_a_plan_of_another_batch(batch):
    with pytest.raises(InputError, match=r"one λ per pair, shape \[3\]; got shape \[8\]"):
        seeded().mix(torch.ones(3, 2), torch.eye(3), seeded().plan(batch))


def test_features_need_not_be_floats(batch):
    graphs = from_batch(batch)
    graphs.nodes["x"] = graphs.nodes["x"].long()
    assert seeded().draw(graphs).lam.dtype == torch.get_default_dtype()
