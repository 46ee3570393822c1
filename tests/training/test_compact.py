import json
import sys

import pytest

from ifmixup.errors import StoreError
from ifmixup.training.compact import Curve, Indices, StoredCurves, length_of


def test_indices_are_as_a_tuple_of_ints():
    found = Indices([3, 0, 2])
    assert found == (3, 0, 2)
    assert found == Indices([3, 0, 2])
    assert found != (3, 0)
    assert list(found) == [3, 0, 2]
    assert type(found[0]) is int
    assert found[1:] == [0, 2]
    assert found + Indices([7]) == (3, 0, 2, 7)
    assert 2 in found
    assert bool(Indices([])) is False
    assert found.tensor().tolist() == [3, 0, 2]
    assert repr(found) == "[3, 0, 2]"
    assert hash(found) == hash(Indices([3, 0, 2]))


def test_a_million_indices_take_four_megabytes():
    found = Indices(range(1_000_000))
    assert found.array.nbytes + sys.getsizeof(found) < 4.1e6


def test_stored_curves_are_decoded_when_they_are_asked_for():
    asked = []

    def decode(values):
        asked.append(values)
        return values

    text = json.dumps({"test_loss": [0.5, 1e-3], "train_loss": []}, separators=(",", ":"))
    found = StoredCurves(text.encode(), decode)
    assert list(found) == ["test_loss", "train_loss"]
    assert not asked
    assert found["test_loss"] == [0.5, 1e-3]
    assert found["test_loss"][-1] == 1e-3
    assert asked == [[0.5, 1e-3]]
    assert found == {"test_loss": [0.5, 1e-3], "train_loss": []}
    assert StoredCurves(b"{}", decode) == {}


@pytest.mark.parametrize(
    "text", [b"[1]", b'{"a":[1]', b'{"a":1]}', b'{"a":[[1]]}', b'{"a":{"b":[]}']
)
def test_what_is_not_curves_is_refused(text):
    with pytest.raises((ValueError, TypeError)):
        dict(StoredCurves(text, lambda values: [float(value) for value in values]))


def test_values_are_counted_without_decoding():
    def decode(values):
        raise AssertionError

    text = b'{"test_loss":[0.5,1e-3,-2.5e+20],"train_loss":[],"test_accuracy":[1.0]}'
    found = StoredCurves(text, decode)
    lengths = [length_of(found, name) for name in (*found, "validation_loss")]
    assert lengths == [3, 0, 1, 0]
    assert length_of({"test_loss": [0.5, 1.0]}, "test_loss") == 2


@pytest.mark.parametrize("word", ['"nan"', "null", "true", "false", "NaN", "Infinity"])
def test_words_are_decoded_when_they_are_counted(word):
    asked = []

    def decode(values):
        asked.append(values)
        return [0.0] * len(values)

    found = StoredCurves(b'{"test_loss":[0.5,%b]}' % word.encode(), decode)
    assert length_of(found, "test_loss") == 2
    assert len(asked) == 1


def test_numbers_that_were_seen_are_the_same_again():
    text = b'{"test_accuracy":[0.3333333333333333,1.0,0.5],"test_loss":[0.25]}'
    first, again = (StoredCurves(text, list) for _ in range(2))
    assert first["test_accuracy"] == again["test_accuracy"] == [1 / 3, 1.0, 0.5]
    assert first["test_loss"] == again["test_loss"] == [0.25]


@pytest.mark.parametrize("numbers", ["1..2", "0.5,,0.5", "0.5]", "--1"])
@pytest.mark.parametrize("name", ["test_accuracy", "test_loss"])
def test_a_number_that_is_none_is_an_error_of_the_store(name, numbers):
    with pytest.raises((StoreError, ValueError), match=r"curve|list of numbers"):
        StoredCurves(f'{{"{name}":[{numbers}]}}'.encode(), list)[name]


def test_a_curve_keeps_every_bit():
    values = [0.1 + 0.2, 1e-300, float("inf"), 2 / 3]
    assert Curve(values) == values
    assert max(Curve(values[3:])) == 2 / 3
