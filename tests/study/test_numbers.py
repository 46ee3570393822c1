import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.study.numbers import difference_text, metric_text, number, p_text, percent
from ifmixup.study.statistics import Difference, Margin

NAN = math.nan


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
        (1e25, "1.0e+27"),
        (-1e308, "−1.0e+310"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.008, "+0.8"), (-0.008, "−0.8"), (0.0004, "0.0"), (-0.0004, "0.0")]
)
def test_percent_with_sign(value, text):
    assert percent(value, sign=True) == text


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
        (-1e300, 1.0, "−1.00e+300"),  # of a training that diverged
    ],
)
def test_numbers(value, size, text):
    assert number(value, size) == text


def test_a_number_with_its_sign():
    assert number(0.3, 1.5, sign=True) == "+0.30"
    assert number(-0.3, 1.5, sign=True) == "−0.30"
    assert number(0.0, 1.5, sign=True) == "0.00"


def test_a_difference_and_its_interval():
    def text(*values):
        return difference_text(Difference(*values))

    assert text(0.008, -0.011, 0.027, 0.3, 10) == "+0.8 [−1.1, +2.7]"
    assert text(-0.008, -0.011, -0.005, 0.3, 10) == "−0.8 [−1.1, −0.5]"
    assert text(0.05, NAN, NAN, 0.25, 3) == "+5.0 [–]"
    assert text(NAN, NAN, NAN, NAN, 0) == "– [–]"


def test_an_error_is_in_its_own_units():
    assert metric_text("mae", 1.5, 1.5) == "1.50"
    assert metric_text("roc_auc", 0.894, 0.894) == "89.4"
    found = Difference(-0.3, -0.5, -0.1, 0.01, 10)
    assert difference_text(found, "mae", 1.5) == "−0.30 [−0.50, −0.10]"


@given(
    st.floats(-0.05, 0.05),
    st.floats(0, 0.05),
    st.sampled_from([0.001, 0.01, 0.02]),
    st.sampled_from(["accuracy", "mae"]),
)
def test_a_rounded_interval_is_on_the_side_that_the_verdict_says(mean, reach, margin, metric):
    found = Difference(mean, mean - reach, mean + reach, 0.5, 10)
    text = difference_text(found, metric, 0.5, Margin(margin))
    low, high = (
        float(part.replace("−", "-")) / (100 if metric == "accuracy" else 1)
        for part in text.partition("[")[2].rstrip("]").split(", ")
    )
    for exact, shown in ((found.low, low), (found.high, high)):
        if abs(exact) > 1e-5:  # what is nearer has the most decimals that we show
            assert (exact > 0) == (shown > 0)
        if abs(abs(exact) - margin) > 1e-5:
            assert (abs(exact) > margin) == (abs(shown) > margin)


def test_an_end_near_zero_or_the_margin_has_more_decimals():
    found = Difference(0.01, 0.0003, 0.0197, 0.01, 10)
    assert difference_text(found) == "+1.00 [+0.03, +1.97]"
    found = Difference(0.0, -0.0104, 0.0104, 0.9, 10)
    assert difference_text(found, margin=Margin(0.01)) == "0.00 [−1.04, +1.04]"
    assert difference_text(found) == "0.0 [−1.0, +1.0]"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.34, "p = 0.34"),
        (0.0499, "p = 0.0499"),
        (0.0501, "p = 0.05"),
        (0.05, "p = 0.05"),
        (1.0, "p = 1"),
        (1e-9, "p < 0.0001"),
        (NAN, "p = unknown"),
    ],
)
def test_p_values(p, text):
    assert p_text(p) == text
