import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from ifmixup.data.dataset import METRICS
from ifmixup.errors import InputError
from ifmixup.training.metrics import (
    all_metrics,
    average_precision,
    binary_cross_entropy,
    calibration_error,
    cross_entropy,
    fit_temperature,
    loss_of,
    metrics,
    number_known,
    roc_auc,
    squared_error,
)

NAN = math.nan


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


def test_labels_by_hand():
    scores = torch.tensor([[3.0, 1.0, 5.0], [2.0, 9.0, 1.0], [1.0, 2.0, 3.0], [0.0, 2.0, 4.0]])
    y = torch.tensor([[1.0, 1.0, 1.0], [0.0, NAN, 1.0], [1.0, 0.0, NAN], [0.0, 0.0, 1.0]])
    # First: of the pairs (3, 2), (3, 0), (1, 2), (1, 0) three are in order. Second: none of two.
    # Third: all that are known are positive.
    found = metrics(scores, y, "labels", "roc_auc")
    assert found["roc_auc"] == pytest.approx((3 / 4 + 0) / 2)
    # First: precision 1 at the score 3, 2/3 at 1. Second: 1/3.
    found = metrics(scores, y, "labels", "average_precision")
    assert found["average_precision"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    # First: 3, 1 are right, 2 is not, 0 is not above. Second: 1 right, 2 and 2 not. Third: all.
    assert found["accuracy"] == pytest.approx((3 / 4 + 1 / 3 + 1) / 3)
    known = ~y.isnan()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(scores[known], y[known])
    assert found["nll"] == pytest.approx(entropy.item(), rel=1e-6)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(-2, 2), st.sampled_from([0.0, 1.0, NAN])), min_size=1, max_size=12
    )
)
def test_labels_are_ranked_as_scikit_learn_ranks_them(pairs):
    scores, y = (np.array(each, dtype=float) for each in zip(*pairs, strict=True))
    known = ~np.isnan(y)
    both = 0 < y[known].sum() < known.sum()
    for ours, theirs in ((roc_auc, roc_auc_score), (average_precision, average_precision_score)):
        expected = theirs(y[known], scores[known]) if both else NAN
        found = ours(torch.tensor(scores)[:, None], torch.tensor(y)[:, None])
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_an_infinite_score_is_a_score(infinite):
    scores, y = torch.tensor([[infinite], [0.0], [infinite]]), torch.tensor([[1.0], [0.0], [0.0]])
    assert roc_auc(scores, y) == pytest.approx(0.75 if infinite > 0 else 0.25)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_where_a_metric_is_not_defined(metric):
    scores = torch.tensor([[1.0, NAN], [2.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in ([[1.0, NAN], [1.0, NAN]], [[0.0, NAN], [NAN, NAN]], [[NAN, 0.0], [NAN, 1.0]]):
            assert math.isnan(metrics(scores, torch.tensor(y), "labels", metric)[metric])


def test_classes_can_be_ranked():
    generator = torch.Generator().manual_seed(0)
    for classes in (2, 3):
        logits = torch.randn(40, classes, generator=generator)
        y = torch.randint(classes, (40,), generator=generator)
        found = metrics(logits, y, metric="roc_auc")
        scores = logits.double().softmax(1)
        expected = roc_auc_score(y, scores[:, 1] if classes == 2 else scores, multi_class="ovr")
        assert found["roc_auc"] == pytest.approx(expected)
        assert found["accuracy"] == metrics(logits, y)["accuracy"]


def test_values_by_hand():
    out, y = torch.tensor([[1.0, 2.0], [3.0, 9.0]]), torch.tensor([[0.0, 4.0], [3.5, NAN]])
    found = metrics(out, y, "values", "mae", unit=torch.tensor([10.0, 100.0]))
    assert found["mae"] == pytest.approx((10 * 1.5 / 2 + 100 * 2) / 2)  # in the original units
    assert found["squared_error"] == pytest.approx((1 + 4 + 0.25) / 3)  # in standard ones
    assert set(found) == {"mae", "squared_error"}
    assert math.isnan(metrics(out, torch.full((2, 2), NAN), "values", "mae")["mae"])
    # what the model does not know is not what is missing
    assert math.isnan(metrics(torch.tensor([[NAN]]), torch.tensor([[1.0]]), "values", "mae")["mae"])


def test_classes_and_soft_rows():
    out = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])
    expected = (math.log(2) + math.log(4 / 3)) / 2
    assert cross_entropy(out, torch.tensor([1, 0])).item() == pytest.approx(expected)
    rows = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert torch.equal(cross_entropy(out, rows), F.cross_entropy(out, rows))
    soft = torch.tensor([[0.3, 0.7], [1.0, 0.0]])
    assert cross_entropy(out, soft).item() == pytest.approx(expected)


def test_the_loss_of_labels_by_hand():
    out = torch.tensor([[0.0, math.log(3.0)], [5.0, 0.0]])
    y = torch.tensor([[1.0, 0.0], [NAN, 0.5]])
    # σ is 1/2, 3/4 and 1/2; the entry without a label counts neither above nor below the line
    expected = (math.log(2) + math.log(4) + math.log(2)) / 3
    assert binary_cross_entropy(out, y).item() == pytest.approx(expected)


def test_the_loss_of_values_by_hand():
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


def test_label_smoothing_is_its_formula():
    out = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])
    smooth = 0.9 * y + 0.1 / 3
    expected = -(smooth * out.log_softmax(1)).sum(1).mean()
    assert loss_of("classes", 0.1)(out, y).item() == pytest.approx(expected.item(), rel=1e-6)
    numbers = y[[0, 2]].argmax(1)
    assert loss_of("classes", 0.1)(out[[0, 2]], numbers).item() == pytest.approx(
        loss_of("classes", 0.1)(out[[0, 2]], y[[0, 2]]).item(), rel=1e-6
    )


@pytest.mark.parametrize("task", ["labels", "values"])
def test_label_smoothing_is_for_classes(task):
    with pytest.raises(InputError, match=f"label_smoothing is for classes; .* {task}"):
        loss_of(task, 0.1)


@pytest.mark.parametrize("task", ["classes", "labels", "values"])
@pytest.mark.parametrize("dtype", [torch.double, torch.bfloat16])
def test_a_model_in_another_precision(task, dtype):
    out, y = torch.tensor([[0.5, 0.25], [1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    found = loss_of(task)(out.to(dtype), y)
    assert found.item() == pytest.approx(loss_of(task)(out, y).item(), rel=1e-2)


def test_the_temperature_that_fits():
    logits = torch.randn(4000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = torch.multinomial(logits.softmax(1), 1, generator=torch.Generator().manual_seed(1))[:, 0]
    assert fit_temperature(logits, y) == pytest.approx(1, rel=0.1)
    assert fit_temperature(5 * logits, y) == pytest.approx(5 * fit_temperature(logits, y), rel=1e-3)
    best = fit_temperature(5 * logits, y)

    def loss(temperature):
        return float(F.cross_entropy(5 * logits / temperature, y))

    assert loss(best) < min(loss(0.98 * best), loss(1.02 * best))


def test_the_temperature_without_a_mistake_is_bounded():
    y = torch.tensor([0, 1])
    assert 0.01 <= fit_temperature(torch.eye(2), y) < 0.1  # nearly 0: all are right
    assert 10 < fit_temperature(torch.eye(2), 1 - y) <= 100  # no better than chance: all are wrong


def of_scikit_learn(y, proba):
    """Every metric of classes but the calibration error, which scikit-learn has not."""
    guess, rows = proba.argmax(1), np.eye(proba.shape[1])[y]
    two = proba.shape[1] == 2
    scores, binary = (proba[:, 1], y) if two else (proba, rows)
    return {
        "accuracy": accuracy_score(y, guess),
        "balanced_accuracy": balanced_accuracy_score(y, guess),
        "f1_macro": f1_score(y, guess, average="macro"),
        "mcc": matthews_corrcoef(y, guess),
        "roc_auc": roc_auc_score(binary, scores),
        "average_precision": average_precision_score(binary, scores),
        "nll": log_loss(y, proba),
        "brier": brier_score_loss(y, scores),
    }


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_every_metric_of_classes_is_that_of_scikit_learn(classes, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(60, classes, generator=generator)
    y = torch.randint(classes, (60,), generator=generator)
    found = all_metrics(logits, y)
    assert set(found) == set(METRICS["classes"])
    expected = of_scikit_learn(y.numpy(), logits.double().softmax(1).numpy())
    assert {n: found[n] for n in expected} == pytest.approx(expected, rel=1e-6)
    for name in METRICS["classes"]:  # and the same as the metric that decides
        assert metrics(logits, y, "classes", name)[name] == found[name]


def test_every_metric_of_labels_is_the_mean_over_known_columns():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(80, 3, generator=generator)
    y = torch.randint(2, (80, 3), generator=generator).float()
    y[torch.rand(80, 3, generator=generator) < 0.3] = NAN
    y[:, 2] = NAN  # a column that is nowhere known does not count
    found = all_metrics(logits, y, "labels")
    assert set(found) == set(METRICS["labels"])
    columns = []
    for column in range(2):
        known = ~y[:, column].isnan()
        p = logits[known, column].double().sigmoid().numpy()
        columns.append(of_scikit_learn(y[known, column].long().numpy(), np.stack([1 - p, p], 1)))
    for name in set(columns[0]) - {"nll"}:
        assert found[name] == pytest.approx(np.mean([each[name] for each in columns])), name


def test_every_metric_of_values_is_that_of_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    out, y = torch.randn(2, 50, 2, generator=generator).double()
    y[:, 1] = y[:, 1].round()  # with equal values
    y[torch.rand(50, 2, generator=generator) < 0.3] = NAN
    unit = torch.tensor([2.0, 10.0])
    found = all_metrics(out, y, "values", unit)
    assert set(found) == {*METRICS["values"], "squared_error"}
    columns = []
    for column in range(2):
        known = ~y[:, column].isnan()
        a, b = (each[known, column].numpy() * float(unit[column]) for each in (y, out))
        columns.append(
            {
                "mae": mean_absolute_error(a, b),
                "rmse": root_mean_squared_error(a, b),
                "r2": r2_score(a, b),
                "spearman": spearmanr(a, b).statistic,
            }
        )
    for name in columns[0]:
        assert found[name] == pytest.approx(np.mean([each[name] for each in columns])), name


def test_metrics_that_are_not_defined():
    constant = all_metrics(torch.zeros(3, 1), torch.ones(3, 1), "values")
    assert math.isnan(constant["r2"])
    assert math.isnan(constant["spearman"])
    assert constant["rmse"] == 1
    one_class = all_metrics(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))
    assert math.isnan(one_class["roc_auc"])
    assert one_class["mcc"] == 0
