import math
from dataclasses import replace

import pytest

from ifmixup.study.statistics import Difference
from ifmixup.study.table_row import Row, number, percent

NAN = math.nan
ROW = Row(
    "MUTAG", "gcn", "ifmixup", "holdout", 0.894, 0.005, 0.0121, 0.88, None, None, 10, 0, False
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.894, "89.4"),
        (0.89449, "89.4"),
        (0.89451, "89.5"),
        (0.8935, "89.4"),  # halves to the even digit, whatever binary makes of them
        (0.8945, "89.4"),
        (0.9995, "100.0"),
        (0.99949, "99.9"),
        (1.0, "100.0"),
        (0.0, "0.0"),
        (1e-9, "0.0"),
        (-1e-9, "0.0"),
        (-0.0111, "−1.1"),
        (NAN, "–"),
        (math.inf, "–"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.008, "+0.8"), (-0.008, "−0.8"), (0.0004, "0.0"), (-0.0004, "0.0")]
)
def test_percent_with_sign(value, text):
    assert percent(value, sign=True) == text


def test_accuracy():
    assert ROW.score_text() == "89.4 ± 1.2"
    assert replace(ROW, optimistic=True).score_text() == "89.4 ± 1.2*"
    assert replace(ROW, std_folds=NAN).score_text() == "89.4"
    assert replace(ROW, mean=NAN, std_folds=NAN).score_text() == "–"


def test_difference():
    def text(*values):
        return replace(ROW, difference=Difference(*values)).difference_text()

    assert ROW.difference_text() == ""
    assert text(0.008, -0.011, 0.027, 0.3, 10) == "+0.8 [−1.1, 2.7]"
    assert text(-0.008, -0.011, -0.005, 0.3, 10) == "−0.8 [−1.1, −0.5]"
    assert text(0.05, NAN, NAN, 0.25, 3) == "+5.0 [–]"
    assert text(NAN, NAN, NAN, NAN, 0) == "– [–]"


def test_figures_are_unrounded_and_nan_is_none():
    third = 1 / 3
    row = replace(ROW, mean=third, std_repeats=NAN, difference=Difference(third, NAN, NAN, 0.2, 2))
    figures = row.figures()
    assert figures["mean"] == figures["difference"] == third
    assert [figures[n] for n in ("std_repeats", "low", "high", "adjusted_p")] == [None] * 4
    assert (figures["p_value"], figures["pairs"]) == (0.2, 2)
    assert set(ROW.figures()) == set(figures)
    assert ROW.figures()["difference"] is None


@pytest.mark.parametrize(
    ("value", "size", "text"),
    [
        (0.5, 0.5, "0.500"),
        (8.745, 8.745, "8.74"),
        (-0.00894, 8.7, "−0.01"),
        (-0.00094, 8.7, "0.00"),
        (0.001234, 0.001234, "0.00123"),
        (123.4, 123.4, "123"),
        (12345.6, 12345.6, "12346"),
        (0.4, 12345.6, "0"),
        (0.25, 0.0, "0.25"),
        (0.25, NAN, "0.25"),
        (NAN, 1.0, "–"),
    ],
)
def test_numbers(value, size, text):
    assert number(value, size) == text


def test_a_number_with_its_sign():
    assert number(0.3, 1.5, sign=True) == "+0.30"
    assert number(-0.3, 1.5, sign=True) == "−0.30"
    assert number(0.0, 1.5, sign=True) == "0.00"


def test_an_error_is_in_its_own_units():
    row = replace(ROW, metric="mae", mean=1.5, std_folds=0.25)
    assert row.score_text() == "1.50 ± 0.25"
    row = replace(row, difference=Difference(-0.3, -0.5, -0.1, 0.01, 10))
    assert row.difference_text() == "−0.30 [−0.50, −0.10]"
    assert replace(ROW, metric="roc_auc").score_text() == "89.4 ± 1.2"
