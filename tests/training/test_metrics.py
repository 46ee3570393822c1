import math

import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, log_loss

from ifmixup.training.metrics import calibration_error, metrics


def test_against_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(200, 4, generator=generator)
    y = torch.randint(4, (200,), generator=generator)
    found = metrics(logits, y)
    assert found["accuracy"] == pytest.approx((logits.argmax(1) == y).double().mean().item())
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, logits.argmax(1)))
    assert found["nll"] == pytest.approx(log_loss(y, logits.double().softmax(1)), rel=1e-6)


def test_a_class_that_is_not_there_does_not_count():
    logits = torch.tensor([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    assert metrics(logits, torch.tensor([0, 0, 0]))["balanced_accuracy"] == pytest.approx(2 / 3)


def test_calibration_error_by_hand():
    # Confidence 0.9 twice, once right; confidence 0.6 once, right.
    logits = torch.tensor([[math.log(9.0), 0.0], [math.log(9.0), 0.0], [math.log(1.5), 0.0]])
    expected = (abs(1 - 1.8) + abs(1 - 0.6)) / 3
    assert calibration_error(logits, torch.tensor([0, 1, 0])) == pytest.approx(expected, abs=1e-6)


def test_certain_and_right_is_calibrated():
    assert calibration_error(torch.tensor([[1e4, 0.0]]), torch.tensor([0])) == 0
