import math

import pytest

from ifmixup.errors import StoreError
from ifmixup.study.plain_values import check, number, plain, same_names, seconds, utc


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e-300, -0.0, math.inf, -math.inf, 3])
def test_numbers_come_back_exactly(value):
    assert number(plain(value)) == value


def test_nan_comes_back():
    assert plain(math.nan) == "nan"
    assert math.isnan(number("nan"))


@pytest.mark.parametrize("value", [True, None, "1.0", [1.0], "NaN"])
def test_what_is_no_number(value):
    with pytest.raises(StoreError, match="is not a number"):
        number(value)


@pytest.mark.parametrize("value", [-1, "inf", "nan"])
def test_what_is_no_time(value):
    with pytest.raises(StoreError, match="no number of seconds"):
        seconds(value)


def test_types():
    check("epochs", 3, int)
    check("rate", 3, float)
    check("steps", None, int | None)
    with pytest.raises(StoreError, match="epochs must be int; got True"):
        check("epochs", True, int)
    with pytest.raises(StoreError, match="epochs must fit into 64 bits"):
        check("epochs", 2**63, int)


def test_names():
    with pytest.raises(StoreError, match="a run has no b"):
        same_names("a run", {"a": 1}, ["a", "b"])
    with pytest.raises(StoreError, match=r"a run has \['c'\], which is not known"):
        same_names("a run", {"a": 1, "c": 1}, ["a"])


def test_times_are_of_one_zone():
    assert utc("2026-01-01T02:00:00+02:00") == "2026-01-01T00:00:00.000000+00:00"
    with pytest.raises(StoreError, match="has no time zone"):
        utc("2026-01-01T02:00:00")
