import os
import zipfile

import pytest
import torch
import tyro
from torch_geometric.data import Data

from ifmixup.cli import main
from ifmixup.cli.datasets import datasets
from ifmixup.data import NAMES
from ifmixup.data.catalog import find

FOLDER = os.environ.get("IFMIXUP_DATA")


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    def no_network(*arguments, **options):
        raise AssertionError("this command downloads nothing")

    monkeypatch.delenv("IFMIXUP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("ifmixup.data.catalog.download_url", no_network)


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
    assert "With a network" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_broken_dataset_does_not_hide_the_others(capsys, tmp_path):
    with zipfile.ZipFile(tmp_path / "NCI1.zip", "w") as archive:
        archive.writestr("NCI1/NCI1_A.txt", "1, 2\n")
    assert datasets(root=tmp_path) == 1
    out = capsys.readouterr().out
    assert list(cells(out)) == ["MUTAG"]
    assert f"Broken: {tmp_path / 'NCI1.zip'} has no NCI1_graph_indicator.txt" in out
    assert "Not found: NCI1." not in out


def test_the_limit_on_the_size_of_a_file_is_an_option(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("IFMIXUP_MAX_BYTES", "")
    path = tmp_path / "m.csv"
    path.write_text("smiles,label\n" + "CCO,1\nC,0\n" * 20)
    assert main(["datasets", str(path), "--max-bytes", "100"]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "more than the 100 allowed. If you trust it, allow more with the option --max-by" in text
    assert main(["datasets", str(path), "--max-bytes", "100000"]) == 0
    assert main(["datasets", str(path), "--max-bytes", "0"]) == 2
    assert "max_bytes must be a number of bytes" in capsys.readouterr().err


def test_a_source(capsys, tmp_path):
    path = tmp_path / "m.csv"
    bad = "".join("XX,no\n" for _ in range(12))
    path.write_text(f"smiles,label\nCCO,yes\nC,no\nO,\n{bad}")
    assert datasets(f"{path}:smiles:label") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:10] == [
        "m-label",
        "  graphs         2",
        "  nodes          2.0 in a graph (1 to 3)",
        "  edges          2.0 in a graph (0 to 4), each direction counted",
        "  node features  14: element (C O), degree (2 4), charge (0), hydrogens (1 2 3 4), "
        "chirality (unspecified), hybridisation (sp3), aromatic (no), ring (no), mass",
        "  edge features  4: bond (single), stereo (none), conjugated (no), ring (no)",
        "  task           classes, evaluated by accuracy",
        "  classes        2: no (1), yes (1)",
        "  independent    yes, 4 different feature rows",
        "  continuous     1 column: lossless mixing is not guaranteed",
    ]
    assert out[10] == "  skipped        13"
    assert out[11] == "                 line 4: 'O': no label"
    assert out[12] == "                 line 5: 'XX': not SMILES"
    assert out[-1] == "                 and 3 more"
    assert len(out) == 22


def test_the_options_of_a_source(capsys, tmp_path):
    (tmp_path / "m.csv").write_text("s,y\nC,0.5\nCC,1\n")
    words = [str(tmp_path / "m.csv"), "--smiles", "s", "--task", "values"]
    assert tyro.cli(datasets, args=words) == 0
    assert "1: y (0.5 to 1)" in capsys.readouterr().out


def test_the_option_and_its_help(capsys, tmp_path):
    assert tyro.cli(datasets, args=["--root", str(tmp_path)]) == 0
    with pytest.raises(SystemExit):
        tyro.cli(datasets, args=["--help"])
    assert "SOURCE" in (out := capsys.readouterr().out)
    assert "--root" in out


@pytest.mark.skipif(
    not FOLDER or any(find(name, FOLDER) is None for name in NAMES),
    reason="needs IFMIXUP_DATA to name a folder with the paper's eight datasets",
)
def test_the_whole_table(capsys):
    assert datasets(root=FOLDER) == 0
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
    assert max(map(len, out.splitlines())) <= 80


def test_names_of_a_file_do_not_steer_the_terminal(tmp_path, capsys):
    graphs = [
        Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n]))
        for n in (0, 1)
    ]
    torch.save(graphs, tmp_path / "a[v2]\x1b.pt")
    assert main(["datasets", str(tmp_path / "a[v2]\x1b.pt")]) == 0
    assert capsys.readouterr().out.startswith("a[v2]?\n")
