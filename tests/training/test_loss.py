import math

import pytest
import torch
import torch.nn.functional as F

from ifmixup import augment
from ifmixup.augment.mix_plan import MixPlan
from ifmixup.training.loss import (
    binary_cross_entropy,
    cross_entropy,
    loss_of,
    number_known,
    squared_error,
)

NAN = math.nan


def test_classes_and_soft_rows():
    out = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])
    expected = (math.log(2) + math.log(4 / 3)) / 2
    assert cross_entropy(out, torch.tensor([1, 0])).item() == pytest.approx(expected)
    rows = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert torch.equal(cross_entropy(out, rows), F.cross_entropy(out, rows))
    soft = torch.tensor([[0.3, 0.7], [1.0, 0.0]])
    assert cross_entropy(out, soft).item() == pytest.approx(expected)


def test_labels_by_hand():
    out = torch.tensor([[0.0, math.log(3.0)], [5.0, 0.0]])
    y = torch.tensor([[1.0, 0.0], [NAN, 0.5]])
    # σ is 1/2, 3/4 and 1/2; the entry without a label counts neither above nor below the line
    expected = (math.log(2) + math.log(4) + math.log(2)) / 3
    assert binary_cross_entropy(out, y).item() == pytest.approx(expected)


def test_values_by_hand():
    out, y = torch.tensor([[1.0, 2.0], [3.0, 9.0]]), torch.tensor([[0.0, 4.0], [3.5, NAN]])
    assert squared_error(out, y).item() == pytest.approx((1 + 4 + 0.25) / 3)


@pytest.mark.parametrize("task", ["labels", "values"])
def test_no_gradient_where_nothing_is_known(task):
    out = torch.randn(4, 3, requires_grad=True)
    y = torch.tensor([[1.0, NAN, 0.0], [NAN, NAN, NAN], [0.0, 1.0, NAN], [1.0, 1.0, 0.0]])
    loss_of(task)(out, y).backward()
    assert (out.grad[y.isnan()] == 0).all()
    assert (out.grad[~y.isnan()] != 0).all()


@pytest.mark.parametrize("task", ["labels", "values"])
def test_nothing_to_learn_is_zero(task):
    out = torch.randn(2, 3, requires_grad=True)
    loss = loss_of(task)(out, torch.full((2, 3), NAN))
    loss.backward()
    assert loss.item() == 0
    assert (out.grad == 0).all()


@pytest.mark.parametrize("task", ["labels", "values"])
def test_without_missing_entries_it_is_torchs(task):
    out, y = torch.randn(5, 2), torch.randint(2, (5, 2)).float()
    torchs = {"labels": F.binary_cross_entropy_with_logits, "values": F.mse_loss}[task]
    assert loss_of(task)(out, y).item() == pytest.approx(torchs(out, y).item(), rel=1e-6)


def test_how_many_are_known():
    assert number_known(torch.tensor([[1.0, NAN], [NAN, 0.0], [2.0, 3.0]])) == 4


def test_a_pair_is_known_where_both_that_have_a_share_are():
    y = torch.tensor([[1.0, NAN], [0.0, 1.0], [1.0, 1.0]])
    plan = MixPlan(torch.tensor([1, 0, 0]), torch.tensor([0.75, 0.75, 1.0]))
    _, mixed = augment.create("mixup_graph").apply_embeddings(torch.ones(3, 1), y, plan)
    expected = torch.tensor([[0.75, NAN], [0.25, NAN], [1.0, 1.0]])
    assert torch.equal(mixed.nan_to_num(-1), expected.nan_to_num(-1))
    assert number_known(mixed) == 4
