import pytest
import torch
from torch_geometric.data import Data

from ifmixup.cli import main


def test_mutag_is_lossless(capsys):
    assert main(["audit", "MUTAG", "--pairs", "60", "--alpha", "1"]) == 0
    lines = capsys.readouterr().out
    assert "60 random pairs, λ ~ Beta(1, 1)" in lines
    assert "60 of 60" in lines
    assert "Lossless" in lines


def test_a_broken_guarantee_is_exit_code_one_and_says_why(tmp_path, capsys):
    folder = tmp_path / "TINY"
    folder.mkdir()
    for part, text in {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": "1\n1\n2\n2\n",
        "graph_labels": "0\n1\n",
        "node_attributes": "1.0\n2.0\n3.0\n4.0\n",
    }.items():
        (folder / f"TINY_{part}.txt").write_text(text)
    assert main(["audit", "TINY", "--pairs", "5", "--root", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "NOT lossless" in out
    assert "4 different feature rows are not linearly independent" in " ".join(out.split())


def test_continuous_features_are_no_guarantee(tmp_path, capsys):
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [
        Data(x=torch.tensor([[1.5, 0.0], [0.0, 1.0]]), edge_index=edges, y=0),
        Data(x=torch.tensor([[0.0, 1.0]]), edge_index=edges[:, :0], y=1),
    ]
    torch.save(graphs, tmp_path / "own.pt")
    assert main(["audit", str(tmp_path / "own.pt"), "--pairs", "5"]) == 0
    out = capsys.readouterr().out
    assert "own: 5 random pairs" in out
    assert "continuous feature columns            1 of 2" in out
    assert "Losslessness is not guaranteed with continuous features" in out
    assert "Lossless in these graphs" in out


def test_the_options_of_a_source(tmp_path, capsys):
    (tmp_path / "m.csv").write_text("s,label\nCCO,1\nC,0\n")
    assert main(["audit", str(tmp_path / "m.csv"), "--smiles", "s", "--pairs", "5"]) == 0
    out = capsys.readouterr().out
    assert "m: 5 random pairs" in out
    assert "not guaranteed with continuous features" in out  # the mass of an atom is one
    words = ["--smiles", "s", "--pairs", "5", "--features", "element"]
    assert main(["audit", str(tmp_path / "m.csv"), *words]) == 0
    assert "not guaranteed" not in capsys.readouterr().out


def test_the_help_names_the_options(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["audit", "--help"])
    assert stop.value.code == 0
    assert "--pairs" in capsys.readouterr().out
