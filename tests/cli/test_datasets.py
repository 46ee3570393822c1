import os
import zipfile

import pytest
import tyro

from ifmixup.cli.datasets import datasets
from ifmixup.data import NAMES
from ifmixup.data.find import find

FOLDER = os.environ.get("IFMIXUP_DATA")


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    def no_network(*arguments, **options):
        raise AssertionError("this command downloads nothing")

    monkeypatch.delenv("IFMIXUP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("ifmixup.data.download.download_url", no_network)


def cells(out: str) -> dict[str, list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in out.splitlines()
        if line.startswith("│")
    ]
    return {name: values for name, *values in rows}


def test_what_is_here_and_what_is_not(capsys):
    assert datasets() == 0
    out = capsys.readouterr().out
    assert cells(out) == {"MUTAG": ["188", "17.9", "39.6", "7", "2", "yes"]}
    for name in set(NAMES) - {"MUTAG"}:
        assert f"Not found: {name}. Put {name}.zip into --root or $IFMIXUP_DATA.\n" in out
    assert "Or be online" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_broken_dataset_does_not_hide_the_others(capsys, tmp_path):
    with zipfile.ZipFile(tmp_path / "NCI1.zip", "w") as archive:
        archive.writestr("NCI1/NCI1_A.txt", "1, 2\n")
    assert datasets(tmp_path) == 1
    out = capsys.readouterr().out
    assert list(cells(out)) == ["MUTAG"]
    assert f"Broken: {tmp_path / 'NCI1.zip'} has no NCI1_graph_indicator.txt" in out
    assert "Not found: NCI1." not in out


def test_the_option_and_its_help(capsys, tmp_path):
    assert tyro.cli(datasets, args=["--root", str(tmp_path)]) == 0
    with pytest.raises(SystemExit):
        tyro.cli(datasets, args=["--help"])
    assert "--root" in capsys.readouterr().out


@pytest.mark.skipif(
    not FOLDER or any(find(name, FOLDER) is None for name in NAMES),
    reason="needs IFMIXUP_DATA to name a folder with the paper's eight datasets",
)
def test_the_whole_table(capsys):
    assert datasets(FOLDER) == 0
    out = capsys.readouterr().out
    assert cells(out) == {
        "PTC_MR": ["344", "14.3", "29.4", "18", "2", "yes"],
        "NCI109": ["4127", "29.7", "64.3", "38", "2", "yes"],
        "NCI1": ["4110", "29.9", "64.6", "37", "2", "yes"],
        "MUTAG": ["188", "17.9", "39.6", "7", "2", "yes"],
        "ENZYMES": ["600", "32.6", "124.3", "3", "6", "yes"],
        "PROTEINS": ["1113", "39.1", "145.6", "3", "2", "yes"],
        "IMDB-MULTI": ["1500", "13.0", "131.9", "89", "3", "yes"],
        "IMDB-BINARY": ["1000", "19.8", "193.1", "136", "2", "yes"],
    }
    assert "Not found" not in out
    assert "334" in out
    assert max(map(len, out.splitlines())) <= 80
