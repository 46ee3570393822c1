import math

import numpy as np
import pytest
import torch
from sklearn import metrics as sklearn_metrics

from ifmixup import Metric
from ifmixup.components import foreign
from ifmixup.errors import ComponentError, InputError, InputTypeError
from ifmixup.training.metric import (
    measure,
    ours,
    resolve_metrics,
    shown,
    to_measure,
)
from ifmixup.training.packed import pack
from ifmixup.training.run import run
from ifmixup.training.run_spec import Fold, RunSpec
from ifmixup.training.scaling import Scaling
from ifmixup.training.task import higher_is_better
from own_metrics import COST, broken, confidence, missed, several
from task_graphs import rings, with_labels, with_values
from tiny import parts


def with_classes(classes=2, count=30):
    graphs = rings(count)
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([i % classes])
    return pack(graphs)


TWO, VALUES, LABELS = with_classes(), pack(with_values(30)), pack(with_labels(30))


def names(given, data=TWO):
    return [spec.name for spec in resolve_metrics(given, data)]


def random_logits(data, seed=0):
    return torch.randn(len(data), data.num_outputs, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("given", "data", "found"),
    [
        (None, TWO, ["accuracy"]),
        ((), VALUES, ["mae"]),
        ("log_loss", TWO, ["nll"]),
        (["neg_root_mean_squared_error", "r2"], VALUES, ["rmse", "r2"]),
        (("mcc", "matthews_corrcoef"), TWO, ["mcc"]),
        ("neg_median_absolute_error", VALUES, ["median_absolute_error"]),
        ([COST, missed, "f1"], TWO, ["cost", "missed", "f1"]),
    ],
)
def test_metrics_are_found_by_name_scorer_and_function(given, data, found):
    assert names(given, data) == found


@pytest.mark.parametrize(
    ("given", "data", "message"),
    [
        ("acuracy", TWO, "Did you mean 'accuracy'"),
        ("mae", TWO, "does not fit the task 'classes'"),
        ("f1", with_classes(3), "'f1' of scikit-learn is not defined on .* has 3 classes"),
        ([COST, Metric("cost", missed)], TWO, "Two metrics are called 'cost'"),
        (broken, TWO, r"The metric broken failed: IndexError.*own_metrics.py, line"),
        (several, TWO, "The metric several has to return one number"),
        ("nowhere.py:cost", TWO, "no file 'nowhere.py' to load a metric from"),
        ("own_metrics:costs", TWO, "Unknown function in own_metrics 'costs'"),
        ("own_metrics:missed(way=up)", TWO, "Unknown option 'way'"),
        ("own_metrics:missed(needs=logits)", TWO, "Unknown needs 'logits'"),
    ],
)
def test_metrics_that_cannot_be_used_are_told_before_the_first_run(given, data, message):
    with pytest.raises((InputError, ComponentError), match=message):
        resolve_metrics(given, data)


def test_a_metric_is_made_of_a_function():
    with pytest.raises(InputTypeError, match=r"a function that is defined by def; got float: 0.5"):
        Metric("half", 0.5)
    with pytest.raises(InputError, match="is not a name for a metric"):
        Metric("a/b", missed)
    with pytest.raises(InputTypeError, match="A metric is a name"):
        resolve_metrics(0.5, TWO)


def test_text_names_a_function_or_a_metric_with_options_and_a_name(tmp_path):
    file = tmp_path / "costs.py"
    file.write_text("def cost(y_true, y_pred):\n    return abs(y_true - y_pred).mean()\n")
    (found,) = resolve_metrics(f"{file}:cost(higher_is_better=false)", TWO)
    assert (found.name, found.target, foreign(found)) == ("cost", "costs.py:cost", True)
    assert dict(found.options) == {"higher_is_better": False, "needs": "pred"}
    with pytest.raises(InputError, match=r"Is a higher cost better.*higher_is_better=false"):
        resolve_metrics(f"{file}:cost", TWO)
    both = "needs=proba,higher_is_better=true"
    (other,) = resolve_metrics(f"sure={file}:cost({both})", TWO)
    assert (other.name, dict(other.options)["needs"]) == ("sure", "proba")
    assert other.source == found.source
    (named,) = resolve_metrics("own_metrics:COST", TWO)
    assert named == COST.spec()
    file.write_text("def cost(y_true, y_pred):\n    return abs(y_true - y_pred).max()\n")
    (changed,) = resolve_metrics(f"{file}:cost(higher_is_better=false)", TWO)
    assert changed.source != found.source


@pytest.mark.parametrize(
    ("scorer", "function", "needs"),
    [
        ("f1", sklearn_metrics.f1_score, "pred"),
        ("jaccard", sklearn_metrics.jaccard_score, "pred"),
        ("d2_log_loss_score", sklearn_metrics.d2_log_loss_score, "proba"),
        ("roc_auc_ovo", sklearn_metrics.roc_auc_score, "proba"),
    ],
)
def test_scorers_are_given_classes_or_probabilities(scorer, function, needs):
    logits = random_logits(TWO)
    proba = logits.double().softmax(1).numpy()
    given = proba[:, 1] if needs == "proba" else proba.argmax(1)
    (spec,) = resolve_metrics(scorer, TWO)
    found = measure(spec, logits, TWO.y, "classes", None)
    assert found == pytest.approx(function(TWO.y.numpy(), given))


def test_scorers_of_errors_are_turned_round():
    scaling = Scaling.fit(VALUES, torch.arange(30))
    out = random_logits(VALUES).double()
    y = scaling.targets(VALUES.y)
    (spec,) = resolve_metrics("neg_median_absolute_error", VALUES)
    assert not higher_is_better(spec.name, [spec])
    errors = []
    for column in range(2):
        known = ~VALUES.y[:, column].isnan()
        guess = scaling.outputs(out)[known, column].numpy()  # in the values' own units
        truth = VALUES.y[known, column].numpy()
        errors.append(sklearn_metrics.median_absolute_error(truth, guess))
    assert measure(spec, out, y, "values", scaling) == pytest.approx(np.mean(errors), rel=1e-5)


def test_a_function_is_given_known_labels_column_by_column():
    logits = random_logits(LABELS)
    expected = []
    for column in range(2):
        known = ~LABELS.y[:, column].isnan()
        p = logits[known, column].double().sigmoid().numpy()
        expected.append(confidence(LABELS.y[known, column].numpy(), p))
    spec = Metric("confidence", confidence, needs="proba").spec()
    found = measure(spec, logits, LABELS.y, "labels", None)
    assert found == pytest.approx(np.mean(expected))


def test_a_function_of_more_than_two_classes_has_all_their_probabilities():
    shapes = []

    def shape(y_true, proba):
        shapes.append((y_true.shape, proba.shape))
        return 0.5

    spec = Metric("shape", shape, needs="proba")
    for classes in (2, 3):
        data = with_classes(classes)
        resolve_metrics(spec, data)
    assert shapes == [((30,), (30,)), ((30,), (30, 3))]


def test_what_a_run_is_asked_for():
    accuracy, f1_macro, cost = resolve_metrics(["accuracy", "f1_macro", COST], TWO)
    assert to_measure([accuracy, f1_macro], "classes") == ()  # every run has them
    assert to_measure([f1_macro, accuracy], "classes") == (f1_macro,)
    assert to_measure([f1_macro, accuracy], "classes", curve=False) == ()
    assert to_measure([accuracy, cost], "classes") == (accuracy, cost)
    assert to_measure([cost], "classes", curve=False) == (ours("accuracy"), cost)
    assert to_measure([cost, accuracy], "classes") == (cost,)
    assert shown([cost, f1_macro], "classes") == ("cost", "f1_macro", "nll")
    assert shown([ours("nll")], "classes") == ("nll",)


def spec_of(*metrics):
    settings, model, method = parts(epochs=4)
    return RunSpec("rings", TWO.fingerprint, "s" * 24, 0, 0, 0, settings, model, method, metrics)


FOLD = Fold(0, 0, tuple(range(16)), tuple(range(16, 22)), tuple(range(22, 30)))


def test_a_metric_of_the_user_s_chooses_the_epoch():
    cost, f1 = resolve_metrics([COST, "f1"], TWO)
    found = run(spec_of(cost, f1), TWO, FOLD)
    assert found.metric == "cost"
    curve, loss = found.curves["validation_cost"], found.curves["validation_loss"]
    best = max(range(4), key=lambda epoch: (-curve[epoch], -loss[epoch]))
    assert found.metrics["chosen_cost"] == found.curves["test_cost"][best]
    assert found.metrics["cost"] == found.curves["test_cost"][-1]
    assert {"f1", "chosen_f1", "accuracy", "chosen_mcc"} <= found.metrics.keys()
    usual = run(spec_of(), TWO, FOLD)
    assert usual.curves["train_loss"] == found.curves["train_loss"]  # it changes no training
    assert usual.metrics["mcc"] == found.metrics["mcc"]


def test_the_metric_is_in_the_key_where_a_run_has_to_be_asked_for_it():
    cost, f1 = resolve_metrics([COST, "f1"], TWO)
    keys = {spec_of(*each).key for each in ((), (cost,), (cost, f1), (ours("mcc"),))}
    assert len(keys) == 4
    assert "metrics" not in spec_of().to_dict()
    for spec in (spec_of(), spec_of(cost, f1)):
        assert RunSpec.of(spec.to_dict()) == spec


def test_a_metric_that_is_not_defined_somewhere_is_missing_there():
    (spec,) = resolve_metrics("roc_auc_ovo", with_classes(3))
    out, y = torch.zeros(3, 3), torch.tensor([0, 0, 1])
    assert math.isnan(measure(spec, out, y, "classes", None))
