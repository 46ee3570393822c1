import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


CURVES = {"test_loss": [0.1 + 0.2, 1e-300, float("inf")], "train_loss": [], "test_mae": [2.0]}


def test_stored_curves_are_the_same_bit_for_bit():
    found = StoredCurves(StoredCurves.pack(CURVES))
    assert list(found) == list(CURVES)
    assert found == CURVES
    assert len(found) == 3
    assert found["test_loss"][-1] == float("inf")
    assert type(found["test_mae"][0]) is float
    assert StoredCurves.pack(found) == StoredCurves.pack(CURVES)
    assert StoredCurves(StoredCurves.pack({})) == {}
    (nan,) = StoredCurves(StoredCurves.pack({"test_loss": [float("nan")]}))["test_loss"]
    assert math.isnan(nan)


def test_stored_curves_cannot_be_changed():
    found = StoredCurves(StoredCurves.pack(CURVES))["test_loss"]
    with pytest.raises(ValueError, match="read-only"):
        found.array[0] = 1.0


@given(st.dictionaries(st.text(), st.lists(st.floats(allow_nan=False))))
def test_any_names_and_numbers(curves):
    packed = StoredCurves.pack(curves)
    assert StoredCurves(packed) == curves
    assert (packed.index(b"\n") + 1) % 8 == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'[["a", 1]]',  # no line
        b'[["a", 1]]\n' + bytes(7),
        b'[["a", 1]]\n' + bytes(9),
        b'[["a", -1]]\n',
        b'[["a", 1.0]]\n' + bytes(8),
        b'[["a", 1e99]]\n',
        b'[["a", 99999999999999999999]]\n',
        b'[["a", true]]\n' + bytes(8),
        b'[["a", 0], ["a", 0]]\n',
        b"[[1, 0]]\n",
        b'{"a": 0}\n',
        b"[" * 1000 + b"\n",
        b"no JSON\n",
    ],
)
def test_what_is_not_curves_is_refused(content):
    with pytest.raises((ValueError, RecursionError)):
        StoredCurves(content)


def test_values_are_counted():
    found = StoredCurves(StoredCurves.pack(CURVES))
    assert [length_of(found, name) for name in (*CURVES, "validation_loss")] == [3, 0, 1, 0]
    assert length_of({"test_loss": [0.5, 1.0]}, "test_loss") == 2


def test_a_curve_keeps_every_bit():
    values = [0.1 + 0.2, 1e-300, float("inf"), 2 / 3]
    assert Curve(values) == values
    assert max(Curve(values[3:])) == 2 / 3
