import pytest

from ifmixup.data.skipped import Skipped, Skips, summary
from ifmixup.errors import DatasetError


def test_lines_are_collected_and_shortened():
    skips = Skips("m.csv")
    skips.add(4, "X" * 70, "not SMILES")
    skips.add(2, "CC", "no label", "ethane")
    assert skips.lines == [
        Skipped(4, "X" * 57 + "...", "not SMILES"),
        Skipped(2, "CC", "no label", "ethane"),
    ]


def test_strict_stops_at_the_first():
    with pytest.raises(DatasetError, match=r"m\.csv, line 4: 'XX': not SMILES\. .*--strict"):
        Skips("m.csv", strict=True).add(4, "XX", "not SMILES")


def test_ten_lines_in_the_order_of_the_file_then_a_number():
    skipped = [Skipped(line, "X", "why") for line in range(12, 0, -1)]
    shown = summary(skipped)
    assert shown[0] == "line 1: 'X': why"
    assert len(shown) == 11
    assert shown[-1] == "and 2 more"
    assert summary(skipped[:10])[-1] == "line 12: 'X': why"
    assert summary([]) == []
