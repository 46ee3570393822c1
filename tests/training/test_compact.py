import json
import sys

import pytest

from ifmixup.training.compact import Curve, Indices, StoredCurves


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


def test_a_curve_keeps_every_bit():
    values = [0.1 + 0.2, 1e-300, float("inf"), 2 / 3]
    assert Curve(values) == values
    assert max(Curve(values[3:])) == 2 / 3
