import io
import os

import pytest
from rich.console import Console

from ifmixup.data import NAMES
from ifmixup.data.catalog import VARIABLE, find
from ifmixup.paper.dataset_table import HEAD, dataset_rows, rich_table

FOLDER = os.environ.get(VARIABLE)


def test_what_agrees_with_the_paper_stands_once(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows, missing = dataset_rows()
    assert rows == [("MUTAG", "188", "17.9", "39.6", "7", "2")]
    assert len(rows[0]) == len(HEAD)
    assert set(missing) == set(NAMES) - {"MUTAG"}
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table())
    text = console.file.getvalue()
    assert "188" in text
    assert "Not here, or damaged: PTC_MR" in text


def test_a_damaged_file_does_not_hide_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "PTC_MR.zip").write_bytes(b"no zip")
    rows, missing = dataset_rows()
    assert [row[0] for row in rows] == ["MUTAG"]
    assert "PTC_MR" in missing


@pytest.mark.skipif(
    not FOLDER or any(find(name, FOLDER) is None for name in NAMES),
    reason="needs IFMIXUP_DATA to name a folder with the paper's eight datasets",
)
def test_what_differs_from_the_paper_stands_beside_it():
    rows, missing = dataset_rows()
    assert not missing
    found = {row[0]: row[1:] for row in rows}
    differing = {(name, cell) for name, row in found.items() for cell in row if "(" in cell}
    assert differing == {
        ("PTC_MR", "344 (334)"),
        ("IMDB-MULTI", "131.9 (65.9)"),
        ("IMDB-MULTI", "89 (–)"),
        ("IMDB-BINARY", "193.1 (96.5)"),
        ("IMDB-BINARY", "136 (–)"),
    }
