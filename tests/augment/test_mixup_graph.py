import torch

from ifmixup.augment import MixPlan, MixupGraph
from ifmixup.nn import GIN


def test_representations_and_labels_are_mixed_by_hand():
    h, y = torch.tensor([[1.0, 0.0], [3.0, 8.0]]), torch.eye(2)
    plan = MixPlan(torch.tensor([1, 0]), torch.tensor([0.75, 1.0]))
    mixed, labels = MixupGraph(2).apply_embeddings(h, y, plan)
    assert mixed.tolist() == [[1.5, 2.0], [3.0, 8.0]]
    assert labels.tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_the_graphs_stay_and_the_logits_are_of_mixed_representations(batch):
    torch.manual_seed(0)
    model = GIN(3, 4, 2, 2, jk="sum", norm="none")
    method = MixupGraph(2, alpha=1.0, generator=torch.Generator().manual_seed(0))
    state = method.generator.get_state()
    assert torch.equal(method(batch).x, batch.x)
    logits, y = method.step(model, batch)
    method.generator.set_state(state)
    h = model.embed(batch.x, batch.edge_index, None, batch.batch)
    plan = method.plan_embeddings(h)
    lam = plan.lam.view(-1, 1)
    expected = model.classify(lam * h + (1 - lam) * h[plan.partner])
    torch.testing.assert_close(logits, expected)
    torch.testing.assert_close(y.sum(1), torch.ones(8))
    assert ((y > 0) & (y < 1)).any()


def test_in_eval_mode_nothing_is_mixed():
    h, y = torch.rand(4, 2), torch.eye(4)
    method = MixupGraph(4).eval()
    assert method.mix_embeddings(h, y)[0] is h
