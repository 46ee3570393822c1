import pytest

from ifmixup.data import NAMES
from ifmixup.study.folder_name import folder_name


@pytest.mark.parametrize("name", [*NAMES, "ogbg-molhiv", "graphs-0a1b2c3d", "Größe", "mol.v2"])
def test_usual_names_stay(name):
    assert folder_name(name) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../evil", "_.._evil"),
        ("/etc", "_etc"),
        ("a\\b:c d\x1b", "a_b_c_d_"),
        (".hidden", "hidden"),
        ("..", "graphs"),
        ("", "graphs"),
        ("x" * 300, "x" * 100),
    ],
)
def test_others_are_made_safe(name, expected):
    assert folder_name(name) == expected
