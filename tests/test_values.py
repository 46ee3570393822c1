import math
from typing import Any, Literal, Optional

import numpy as np
import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.values import (
    as_type,
    decode_number,
    describe,
    encode_number,
    is_plain,
    parse,
    same_names,
    short,
)


@pytest.mark.parametrize("value", [None, True, 3, 2.5, "a", (), (1, ("a", None)), [1, 2]])
def test_plain_values(value):
    assert is_plain(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, {}, {1}, object(), (1, math.nan), b"a"])
def test_other_values(value):
    assert not is_plain(value)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, 1.0),
        ("5e-4", float, 5e-4),  # as YAML reads it
        (3, int, 3),
        (3, float | None, 3.0),
        (None, Optional[int], None),  # noqa: UP045 - users write it so
        ("sum", Literal["sum", "mean"], "sum"),
        (np.float32(0.5), float, 0.5),
        (np.int64(3), int, 3),
        (torch.tensor(2), int, 2),
        ([1, [2]], None, (1, (2,))),
        ([1, 2], list[int], (1, 2)),
        ((1, 2), tuple[int, ...], (1, 2)),
        ("anything", Any, "anything"),
        (3, int | float, 3),
    ],
)
def test_a_value_in_the_type_that_is_asked_for(value, hint, expected):
    found = as_type("it", value, hint)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [
        (2.5, int, r"it must be int; got 2.5"),
        (True, int, r"it must be int; got True"),
        (True, float, r"it must be float; got True"),
        (1, bool, r"it must be bool; got 1"),
        ("max", Literal["sum", "mean"], r"it must be 'sum' or 'mean'; got 'max'"),
        ("x", float | None, r"it must be float or None; got 'x'"),
        (math.inf, float, r"it must be float; got inf"),
        (10**400, float, r"it must be float"),
        ({}, None, r"it must be a number, a text or None; got \{\}"),
        (None, int, r"it must be int; got None"),
    ],
)
def test_a_value_that_does_not_fit(value, hint, message):
    with pytest.raises(InputError, match=message):
        as_type("it", value, hint)


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [
        ("3", int, 3),
        ("3", float, 3.0),
        ("3", str, "3"),
        ("3", None, 3),
        ("2.5", None, 2.5),
        ("none", int | None, None),
        ("none", str, "none"),  # the name of a norm
        ("True", bool, True),
        ("true", str, "true"),
        ("'a b'", None, "a b"),
        (" sum ", Literal["sum"], "sum"),
        ("[1, 2]", tuple[int, ...], (1, 2)),
        ("(a,b)", list[str], ("a", "b")),
        ("[]", list[str], ()),
    ],
)
def test_a_value_as_it_is_typed(text, hint, expected):
    found = parse("it", text, hint)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "hint"), [("2.5", int), ("x", float), ("nan", float), ("1", bool), ("", float)]
)
def test_a_text_that_does_not_fit(text, hint):
    with pytest.raises(InputError, match=f"it must be {hint.__name__}"):
        parse("it", text, hint)


@pytest.mark.parametrize("number", [0.1, -3.0, math.inf, -math.inf])
def test_numbers_survive_json(number):
    assert decode_number(encode_number(number)) == number


def test_nan_survives_json():
    assert encode_number(math.nan) == "nan"
    assert math.isnan(decode_number("nan"))


@pytest.mark.parametrize("wrong", ["0.1", None, True, [], "infinity"])
def test_what_is_not_a_number(wrong):
    with pytest.raises(InputError, match="is not a number"):
        decode_number(wrong)


def test_names_must_be_the_same():
    same_names("It", {"a": 1}, ["a"])
    with pytest.raises(InputError, match="It has no b, c"):
        same_names("It", {"a": 1}, ["a", "b", "c"])
    with pytest.raises(InputError, match=r"It has \['z'\], which is unknown"):
        same_names("It", {"a": 1, "z": 2}, ["a"])


def test_large_values_are_shown_short():
    assert len(short("a" * 10_000)) < 100
    assert len(short([list(range(10_000))] * 1000)) < 400
    assert describe(None) == "a number, a text or None"
