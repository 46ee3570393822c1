import json
import time

import pytest
import torch

from ifmixup.errors import StoreError
from ifmixup.study.record import Record
from stored_runs import RESULT, done, failed, spec


def values(outcome=None):
    """A record as it comes from a file."""
    return json.loads(json.dumps(Record.of_outcome(outcome or done()).to_dict()))


def changed(*path, to):
    result = values()
    place = result
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return result


@pytest.mark.parametrize("outcome", [done(), failed(), done(steps_per_epoch=5, model="gin")])
def test_round_trip(outcome):
    record = Record.of_outcome(outcome)
    assert Record.of(values(outcome) | {"finished_at": record.finished_at}) == record


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
        ({**values(), "more": 1}, r"the record has \['more'\], which is not known"),
        (changed("key", to=5), "key must be str; got 5"),
        (changed("status", to="fine"), "the status 'fine' does not go"),
        (changed("status", to=["done"]), "the status"),
        (changed("result", to=None), "the status 'done' does not go"),
        (changed("error", to=1), "error must be str or NoneType"),
        (changed("versions", "torch", to=2), "the version of torch must be str"),
        (changed("finished_at", to="2024-05-01T00:00:00"), "no time zone"),
        (changed("finished_at", to="now"), "ValueError"),
        (changed("spec", to="MUTAG"), "'MUTAG' is not an object"),
        (changed("spec", "fold", to=True), "fold must be int; got True"),
        (changed("spec", "fold", to=2**70), "fold must fit into 64 bits"),
        (changed("spec", "protocol", to="papr"), "Did you mean 'paper'"),
        (changed("spec", "more", to=1), "the spec has"),
        (changed("spec", "settings", to=[]), "is not an object"),
        (changed("spec", "settings", "model", to=[]), "model must be str"),
        (changed("spec", "settings", "model", to="gcnn"), "Did you mean 'gcn'"),
        (changed("spec", "settings", "epochs", to="2"), "epochs must be int; got '2'"),
        (changed("spec", "settings", "epochs", to=-1), "epochs must be at least 1"),
        (changed("spec", "settings", "steps_per_epoch", to=1.5), "must be int or NoneType"),
        (changed("spec", "settings", "batchsize", to=1), "Did you mean 'batch_size'"),
        (changed("result", "metrics", "accuracy", to="high"), "'high' is not a number"),
        (changed("result", "metrics", "accuracy", to=True), "True is not a number"),
        (changed("result", "curves", "train_loss", to=1.0), "1.0 is not a list"),
        (changed("result", "curves", "train_loss", to=[None]), "None is not a number"),
        (changed("result", "curves", "train_loss", to=[10**400]), "OverflowError"),
        (changed("result", "seconds", to=-1), "-1 is no number of seconds"),
        (changed("result", "seconds", to="nan"), "'nan' is no number of seconds"),
        (changed("key", to=["x" * 1000]), r"x\.\.\.$"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(StoreError, match=message):
        Record.of(given)


def test_a_hostile_width_costs_nothing_and_randomness_is_left_alone():
    wide, wider = (changed("spec", "settings", "hidden", to=to) for to in (10**7, 2**62))
    before, began = torch.get_rng_state(), time.perf_counter()
    assert Record.of(wide).spec.settings.hidden == 10**7
    with pytest.raises(StoreError):
        Record.of(wider)
    assert time.perf_counter() - began < 5
    assert torch.equal(torch.get_rng_state(), before)


def test_the_spec_is_the_same():
    assert Record.of(values()).spec == spec()
    assert Record.of(values()).spec.key == spec().key
