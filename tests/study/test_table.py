import math

import pytest

from ifmixup.study.statistics import Difference
from ifmixup.study.table import Table, difference_text, metric_text, number, percent

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


def test_markdown_has_names_to_the_left_and_numbers_to_the_right():
    found = Table(("name", "a", "b"), [("x", "1", "2"), ("y", "", "3")]).markdown()
    assert found.splitlines() == [
        "| name | a | b |",
        "| :-- | --: | --: |",
        "| x | 1 | 2 |",
        "| y |  | 3 |",
    ]
    assert found.endswith("\n")
    assert Table(("a",), []).markdown() == "| a |\n| :-- |\n"


def test_markdown_with_everything():
    table = Table(
        ("name", "accuracy ± folds"),
        [("a|b", "89.4 ± 6.3*"), ("drop_edge", "[1]\n`x`")],
        title="A *table*",
        notes=["* optimistic"],
        bold={(0, 1)},
    )
    assert table.markdown().splitlines() == [
        r"## A \*table\*",
        "",
        "| name | accuracy ± folds |",
        "| :-- | --: |",
        r"| a\|b | **89.4 ± 6.3\*** |",
        r"| drop\_edge | \[1\] \`x\` |",
        "",
        r"\* optimistic",
    ]


def test_latex():
    table = Table(
        ("dataset", "accuracy ± folds", "difference [95 %]"),
        [(r"A_1&\~^{", "90.2 ± 5.5*", "+0.8 [−1.1, +2.7]"), ("B", "–", "")],
        title="What\nit is",
        notes=["Accuracy in %."],
        bold={(1, 1)},
        rules={1},
    )
    assert table.latex().splitlines() == [
        "% What it is",
        "% Accuracy in %.",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"dataset & accuracy $\pm$ folds & difference [95 \%] \\",
        r"\midrule",
        r"A\_1\&\textbackslash{}\textasciitilde{}\textasciicircum{}\{ & 90.2 $\pm$ 5.5$^*$ "
        r"& +0.8 [$-$1.1, +2.7] \\",
        r"\midrule",
        r"B & \textbf{--} &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
