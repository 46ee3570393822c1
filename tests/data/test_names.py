import pytest

from ifmixup.data.names import NAMES, canonical, check_name, is_name, suggestion
from ifmixup.errors import DatasetError


def test_the_papers_eight_in_its_order():
    assert NAMES == (
        "PTC_MR",
        "NCI109",
        "NCI1",
        "MUTAG",
        "ENZYMES",
        "PROTEINS",
        "IMDB-MULTI",
        "IMDB-BINARY",
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("MUTAG", "MUTAG"),
        ("mutag", "MUTAG"),
        ("Ptc_mr", "PTC_MR"),
        ("IMDB-B", "IMDB-BINARY"),
        ("imdb-m", "IMDB-MULTI"),
        ("REDDIT-BINARY", "REDDIT-BINARY"),
        ("reddit-binary", "reddit-binary"),
    ],
)
def test_canonical(given, expected):
    assert canonical(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "..",
        ".",
        "../MUTAG",
        "a/b",
        "a\\b",
        "/etc",
        "C:x",
        "-x",
        "MUTAG\n",
        "é",
        "x" * 101,
        None,
    ],
)
def test_what_is_not_a_name(given):
    with pytest.raises(DatasetError, match="cannot be the name of a dataset"):
        canonical(given)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("PROTEIN", " Did you mean 'PROTEINS'?"),
        ("enzyme", " Did you mean 'ENZYMES'?"),
        ("imdb_b", " Did you mean 'IMDB-BINARY'?"),
        ("MUTAG", ""),
        ("something", ""),
    ],
)
def test_suggestion(given, hint):
    assert suggestion(given) == hint


@pytest.mark.parametrize(
    ("text", "expected"), [("MUTAG", True), ("a.b-c_1", True), ("../x", False), ("", False)]
)
def test_what_can_be_a_name(text, expected):
    assert is_name(text) is expected
    if expected:
        assert check_name(text) == text
