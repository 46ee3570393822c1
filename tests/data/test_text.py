import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.data.files import TextFile
from ifmixup.data.text import floats, integers, require
from ifmixup.errors import DatasetError


def file(text: str | bytes) -> TextFile:
    return TextFile("X.zip: X_A.txt", text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "1, 2\n3, 4\n",
        "1,2\n3,4",
        "1,2\r\n3, 4\r\n",
        "1, 2\n3, 4\n\n \r\n\t\n",
        "\n1, 2\n\n3, 4\n",
        "\r\n 1 ,\t2\r\n\r\n3 , 4 ",
        "1.0, 2e0\n+3, 4.",
        "1, 2\r3, 4\r",
    ],
)
def test_integers_however_they_are_written(text):
    values = integers(file(text), columns=2)
    assert values.dtype == np.int64
    assert values.tolist() == [[1, 2], [3, 4]]


def test_floats_and_any_number_of_columns():
    assert floats(file("0.5, -1e-3, .25\n1, 2, 3\n")).tolist() == [[0.5, -0.001, 0.25], [1, 2, 3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1, 2\nx, 4\n", r"line 2: 'x' is no number"),
        ("1, 2\n\n\n3, 4_0\n", r"line 4: '4_0' is no number"),
        ("1, 2\n3, 0x1\n", r"line 2: '0x1' is no number"),
        ("1, 2\n3, \n", r"line 2: '' is no number"),
        ("1, 2\n  \n3, 4\n", r"line 2: expected 2 columns, found 1: ''"),
        ("1, 2\r3, 4\r5\r", r"line 3: expected 2 columns, found 1: '5'"),
        ("1, 2\n3\n", r"line 2: expected 2 columns, found 1: '3'"),
        ("1, 2\n3, 4, 5\n", r"line 2: expected 2 columns, found 3: '3, 4, 5'"),
        ("\n1\n2\n", r"line 2: expected 2 columns, found 1: '1'"),
        ("1, 2\n3, nan\n", r"line 2: \[3\.0, nan\] is not finite"),
        ("1, inf\n", r"line 1: \[1\.0, inf\] is not finite"),
        ("1, 2\n1e999, 2\n", r"line 2: \[inf, 2\.0\] is not finite"),
        (
            "1, 2\r\n\r\n3, 4.5\r\n",
            r"line 3: expected whole numbers up to 2\^53, not \[3\.0, 4\.5\]",
        ),
        ("1, 9223372036854775808\n", r"line 1: expected whole numbers up to 2\^53"),
        (b"1, 2\n3, \xff\n", r"line 2: '�' is no number"),
        (b"1, 2\n3, 4\0\n", r"line 2: '4\\x00' is no number"),
        ("1, 2\n" + "y" * 100, r"line 2: expected 2 columns, found 1: 'y{57}\.\.\.'"),
        ("", r"is empty"),
        ("\n \r\n", r"is empty"),
    ],
)
def test_what_is_broken_is_named_with_its_line(text, message):
    with pytest.raises(DatasetError, match=r"^X\.zip: X_A\.txt(, | )" + message):
        integers(file(text), columns=2)


def test_one_column_is_not_columns():
    with pytest.raises(DatasetError, match="expected 1 column, found 2"):
        integers(file("1, 2\n"), columns=1)


def test_whole_numbers_are_exact_to_the_last():
    assert integers(file(f"{2**53}\n{-(2**53) + 1}")).tolist() == [[2**53], [-(2**53) + 1]]


def test_require_counts_lines_not_rows():
    good = np.array([[True, True], [True, False], [False, True]])
    require(file("1\n"), good[:1], str)
    with pytest.raises(DatasetError, match="line 5: row 1"):
        require(file("\n1\n\r\n\n2\n3\n"), good, lambda row: f"row {row}")


@given(st.text(alphabet="01,.-e+ \r\n\tnaix_", max_size=30))
def test_any_text_is_numbers_or_an_error_with_a_line(text):
    try:
        values = floats(file(text)).tolist()
    except DatasetError as error:
        message = str(error)
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        assert values == [[float(field) for field in line.split(",")] for line in lines]
        return
    assert ", line " in message or message.endswith("is empty.")
