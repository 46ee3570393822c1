import json
import sys
import time

import pytest
import torch

from ifmixup.errors import StoreError
from ifmixup.study.record import Record, _checksum
from stored_runs import RESULT, done, failed, spec


def values(record=None):
    """A record as it comes from a file."""
    return json.loads(json.dumps((record or done()).to_dict()))


def changed(*path, to):
    result = values()
    inner = result
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return result


@pytest.mark.parametrize("record", [done(), failed(), done(steps_per_epoch=5, model="gin")])
def test_round_trip(record):
    assert Record.of(values(record)) == record


def test_it_is_json_whatever_the_numbers():
    record = Record.of(changed("result", "metrics", "accuracy", to="nan"))
    text = json.dumps(record.to_dict(), allow_nan=False)
    assert json.loads(text)["result"]["metrics"]["accuracy"] == "nan"
    assert str(Record.of(json.loads(text)).result.metrics["accuracy"]) == "nan"


def test_floats_are_exact():
    assert Record.of(values()).result == RESULT


def test_times_are_in_utc():
    record = Record.of(changed("finished_at", to="2024-05-01T02:00:00+02:00"))
    assert record.finished_at == "2024-05-01T00:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "None is not an object"),
        ([], "is not an object"),
        ({}, "the record has no error, finished_at, host"),
        ({**values(), "more": 1}, r"the record has \['more'\], which is unknown"),
        (changed("key", to=5), "key must be str; got 5"),
        (changed("status", to="fine"), "the status 'fine' does not go"),
        (changed("status", to=["done"]), "the status"),
        (changed("result", to=None), "the status 'done' does not go"),
        (changed("error", to=1), "error must be str or None"),
        (changed("versions", "torch", to=2), "torch in versions must be str"),
        (changed("finished_at", to="2024-05-01T00:00:00"), "no time zone"),
        (changed("finished_at", to="now"), "ValueError"),
        (changed("spec", to="MUTAG"), "'MUTAG' is not an object"),
        (changed("spec", "fold", to=True), "fold must be int; got True"),
        (changed("spec", "fold", to=2**70), "fold must fit into 64 bits"),
        (changed("spec", "more", to=1), "the spec has"),
        (changed("spec", "settings", to=[]), "is not an object"),
        (changed("spec", "model", to="gcn"), "'gcn' is not an object"),
        (changed("spec", "model", "name", to=5), "name must be str; got 5"),
        (changed("spec", "model", "more", to=5), "The class has"),
        (changed("spec", "method", "options", to=[]), "is not an object"),
        (changed("spec", "method", "options", to={"a": {}}), "a in options must be"),
        (changed("spec", "method", "source", to=1), "source must be str or None"),
        (changed("spec", "settings", "epochs", to="2"), "epochs must be int; got '2'"),
        (changed("spec", "settings", "epochs", to=-1), "epochs must be at least 1"),
        (changed("spec", "settings", "steps_per_epoch", to=1.5), "must be int or None"),
        (changed("spec", "settings", "batchsize", to=1), "Did you mean 'batch_size'"),
        (changed("result", "metrics", "accuracy", to="high"), "'high' is not a number"),
        (changed("result", "metrics", "accuracy", to=True), "True is not a number"),
        (changed("result", "curves", "train_loss", to=1.0), "1.0 is not a list"),
        (changed("result", "curves", "train_loss", to=[None]), "None is not a number"),
        (changed("result", "curves", "train_loss", to=[10**400]), "OverflowError"),
        (changed("result", "seconds", to=-1), "-1.0 is not a number of seconds"),
        (changed("result", "seconds", to="nan"), "nan is not a number of seconds"),
        (changed("key", to=["x" * 1000]), r"x\.\.\.x{1,50}'"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(StoreError, match=message):
        Record.of(given)


def test_a_hostile_record_builds_and_imports_nothing():
    before, began = torch.get_rng_state(), time.perf_counter()
    wide = changed("spec", "model", "options", "hidden_channels", to=2**62)
    assert dict(Record.of(wide).spec.model.options)["hidden_channels"] == 2**62
    foreign = changed("spec", "model", "target", to="no_such_module:Net")
    foreign["spec"]["model"]["source"] = "digest"
    assert Record.of(foreign).spec.model.class_name == "Net"
    assert "no_such_module" not in sys.modules
    assert time.perf_counter() - began < 5
    assert torch.equal(torch.get_rng_state(), before)


def test_the_spec_is_the_same():
    assert Record.of(values()).spec == spec()
    assert Record.of(values()).spec.key == spec().key


@pytest.mark.parametrize("record", [done(), failed()])
def test_to_a_row_and_back(record):
    assert Record.of_row(record.to_row()) == record


def test_without_curves():
    row = done().to_row()
    del row["curves"]
    assert Record.of_row(row).result.curves == {}


def test_damage_is_an_error_of_ours():
    row = done().to_row()
    for damage in (
        {"metrics": "{"},
        {"seconds": 2.5},
        {"curves": b"short"},
        {"curves": row["curves"][:-7]},
        {"curves": row["curves"][:-4]},
        {"curves": bytes([row["curves"][0] ^ 1]) + row["curves"][1:]},
    ):
        with pytest.raises(StoreError, match="their checksum differs"):
            Record.of_row({**row, **damage})
    for curves in (None, "text", 5):
        with pytest.raises(StoreError, match="TypeError"):
            Record.of_row({**row, "curves": curves})


def test_curves_that_were_forged_are_refused():
    row = done().to_row()
    for curves in (b"no line", b'[["test_loss", 1000000000000]]\n', b'[["test_loss", 1]]\n'):
        forged = {**row, "curves": curves + _checksum(row, curves)}
        with pytest.raises(StoreError, match="ValueError"):
            Record.of_row(forged)


def test_text_that_is_no_text_can_be_stored():
    assert failed(error="bad \udcff byte").to_row()["error"] == r"bad \udcff byte"
