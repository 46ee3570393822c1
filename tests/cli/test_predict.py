import csv
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import own_classes
from ifmixup.cli import main
from ifmixup.cli import predict as command
from ifmixup.data import load
from ifmixup.prediction.predictor import Predictor

OPTIONS = ["--hidden-channels", "8", "--num-layers", "2", "--epochs", "2"]
MOLECULES = """\
name,smiles,toxic
ethanol,CCO,no
benzene,c1ccccc1,yes
acid,CC(=O)O,no
amine,CCN,yes
ring,C1CC1,yes
water,O,no
"""
ASKED = """\
who,smiles
a,CCO
b,this is no molecule
c,[Te]CC
d,
e,CCN
"""


@pytest.fixture(scope="module")
def mutag_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutag") / "model.pt"
    assert main(["train", "MUTAG", "--save", str(path), "--fold", "3", *OPTIONS]) == 0
    return path


@pytest.fixture(scope="module")
def molecule_model(tmp_path_factory):
    pytest.importorskip("rdkit")
    folder = tmp_path_factory.mktemp("molecules")
    (folder / "train.csv").write_text(MOLECULES)
    (folder / "asked.csv").write_text(ASKED)
    words = ["train", f"{folder / 'train.csv'}:smiles:toxic", "--save", str(folder / "model.pt")]
    assert main([*words, *OPTIONS]) == 0
    return folder / "model.pt"


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_dataset_with_a_name(mutag_model, tmp_path, capsys):
    output = tmp_path / "predictions.csv"
    assert main(["predict", str(mutag_model), "MUTAG", "-o", str(output)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "188 rows predicted. Saved as" in captured.err
    rows = table(output.read_text())
    assert list(rows[0]) == ["id", "prediction", "probability_-1", "probability_1", "problem"]
    assert [row["id"] for row in rows] == [str(number) for number in range(188)]
    expected = torch.cat(list(Predictor.load(mutag_model).predict(load("MUTAG"))))
    for row, output_ in zip(rows, expected.tolist(), strict=True):
        assert float(row["probability_-1"]) == pytest.approx(output_[0], rel=1e-4, abs=1e-6)
        assert row["prediction"] == ("-1" if output_[0] > output_[1] else "1")
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]


def test_molecules_line_up_with_their_rows(molecule_model, capsys):
    asked = molecule_model.with_name("asked.csv")
    assert main(["predict", str(molecule_model), str(asked), "--identifier", "who"]) == 0
    captured = capsys.readouterr()
    rows = table(captured.out)
    assert [row["id"] for row in rows] == ["a", "b", "c", "d", "e"]
    assert [bool(row["prediction"]) for row in rows] == [True, False, True, False, True]
    assert {row["prediction"] for row in rows} <= {"", "yes", "no"}
    assert rows[0]["problem"] == ""
    assert rows[1]["problem"] == "not SMILES"
    assert rows[1]["probability_yes"] == ""
    assert "1 node with an unknown element" in rows[2]["problem"]
    assert rows[3]["problem"] == "no SMILES"
    assert "element 'Te' (1x)" in captured.err
    assert "3 of 5 rows predicted" in captured.err


def test_parts_make_no_difference(molecule_model, capsys, monkeypatch):
    asked = str(molecule_model.with_name("asked.csv"))
    assert main(["predict", str(molecule_model), asked]) == 0
    whole = table(capsys.readouterr().out)
    monkeypatch.setattr(command, "ROWS", 2)
    assert main(["predict", str(molecule_model), asked, "--batch-size", "1"]) == 0
    assert table(capsys.readouterr().out) == whole
    assert [row["id"] for row in whole] == ["0", "1", "2", "3", "4"]


def test_json(molecule_model, capsys):
    asked = str(molecule_model.with_name("asked.csv"))
    assert main(["predict", str(molecule_model), asked, "--json", "-o", "-"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 5
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1)
    assert rows[1].pop("row")["smiles"] == "this is no molecule"
    assert rows[1] == {
        "id": "1",
        "prediction": None,
        "probabilities": None,
        "problem": "not SMILES",
    }


def test_the_columns_of_the_table_are_kept(molecule_model, tmp_path, capsys):
    asked = tmp_path / "asked.csv"
    asked.write_text("name,smiles,prediction,id\nx,CCO,mine,7\ny,not one,too,8\nz,C\n")
    output = tmp_path / "out.csv"
    assert main(["predict", str(molecule_model), str(asked), "-o", str(output)]) == 0
    rows = table(output.read_text())
    assert list(rows[0])[:6] == [
        "name", "smiles", "prediction", "id", "id_predicted", "prediction_predicted"
    ]  # fmt: skip
    assert [row["name"] for row in rows] == ["x", "y", ""]
    assert [row["prediction"] for row in rows] == ["mine", "too", ""]
    assert [row["id_predicted"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["prediction_predicted"] in ("yes", "no")
    assert rows[1]["problem"] == "not SMILES"
    assert rows[2]["problem"] == "expected 4 columns, found 2"
    said = " ".join(capsys.readouterr().err.split())
    assert "renamed: id_predicted (id), prediction_predicted (prediction)." in said


def test_strict_stops_and_leaves_nothing(molecule_model, tmp_path, capsys):
    output = tmp_path / "predictions.csv"
    output.write_text("as it was")
    asked = str(molecule_model.with_name("asked.csv"))
    assert main(["predict", str(molecule_model), asked, "-o", str(output), "--strict"]) == 2
    assert "line 3: 'this is no molecule': not SMILES" in capsys.readouterr().err
    assert output.read_text() == "as it was"
    assert len(list(tmp_path.iterdir())) == 1


def test_graphs_that_do_not_fit_are_explained(mutag_model, tmp_path, capsys):
    edges = torch.empty(2, 0, dtype=torch.long)
    torch.save([Data(x=torch.ones(2, 3), edge_index=edges)], tmp_path / "graphs.pt")
    assert main(["predict", str(mutag_model), str(tmp_path / "graphs.pt")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3 columns of x" in captured.err
    assert "It was trained on MUTAG, with 7 features" in captured.err


def test_labels_have_a_column_each(tmp_path, capsys):
    pytest.importorskip("rdkit")
    rows = ["CCO,1,0", "c1ccccc1,0,", "CCN,1,1", "O,0,1", "CC,,0", "CCC,1,1"]
    path = tmp_path / "train.csv"
    path.write_text("\n".join(["smiles,toxic,soluble", *rows, ""]))
    model = str(tmp_path / "model.pt")
    words = ["train", f"{path}:smiles:toxic,soluble", "--save", model]
    assert main([*words, *OPTIONS, "--method", "ifmixup"]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(path)]) == 0
    found = table(capsys.readouterr().out)
    # the table's own columns stay, so those of the predictions have other names
    assert list(found[0])[:3] == ["smiles", "toxic", "soluble"]
    assert {"toxic_predicted", "soluble_predicted"} <= set(found[0])
    assert all(0 < float(row["toxic_predicted"]) < 1 for row in found)


def test_describe(mutag_model, molecule_model, capsys):
    assert main(["predict", str(mutag_model), "--describe"]) == 0
    said = capsys.readouterr().out
    assert "MUTAG: trained on 169 of 188 graphs, 7 node features" in said
    assert "on 19 graphs" in said
    assert main(["predict", str(molecule_model), "--describe", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["names"] == ["no", "yes"]
    assert card["measured"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{model}"], "There is nothing to predict"),
        (["missing.pt", "MUTAG"], "There is no checkpoint missing.pt"),
        (["{model}", "MUTAG", "-o", "no/such/folder.csv"], "The folder 'no/such' does not exist"),
        (["{model}", "MUTAG", "-o", "{folder}"], "is a folder"),
        (["{model}", "nowhere.csv"], "There is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said(mutag_model, capsys, words, message):
    paths = {"model": mutag_model, "folder": mutag_model.parent}
    assert main(["predict", *(word.format(**paths) for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_what_predictions_are_made_from_is_not_replaced(molecule_model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text("smiles\nCCO\n")
    before = molecule_model.read_bytes()
    for output in (path, molecule_model):
        assert main(["predict", str(molecule_model), str(path), "-o", str(output)]) == 2
        assert "Give another file" in capsys.readouterr().err
    assert path.read_text() == "smiles\nCCO\n"
    assert molecule_model.read_bytes() == before


def test_a_users_class_is_named_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nets = tmp_path / "nets_to_predict.py"
    nets.write_text(Path(own_classes.__file__).read_text())
    given = ["--model", "nets_to_predict.py:Net"]
    typed = ["--method", "nets_to_predict.py:Noise", "--width", "4", "--epochs", "2"]
    assert main(["train", "MUTAG", *given, *typed]) == 0
    capsys.readouterr()
    expected = torch.cat(list(Predictor.load("model.pt").predict(load("MUTAG"))))[:, 0].tolist()
    monkeypatch.setattr("ifmixup.components._FOUND", {})  # as in another process
    assert main(["predict", "model.pt", "--describe"]) == 0
    assert "Net (depth 1, width 4) of nets_to_predict.py:Net" in capsys.readouterr().out
    assert main(["predict", "model.pt", "MUTAG"]) == 2
    assert "Name the class: --model nets_to_predict.py:Net" in capsys.readouterr().err
    assert main(["predict", "model.pt", "MUTAG", *given]) == 0
    captured = capsys.readouterr()
    assert "Note" not in captured.err
    found = [float(row["probability_-1"]) for row in table(captured.out)]
    assert found == pytest.approx(expected, rel=1e-4)
    changed = tmp_path / "changed.py"
    changed.write_text(nets.read_text().replace(".relu()", ".tanh()"))
    assert main(["predict", "model.pt", "MUTAG", "--model", "changed.py:Net"]) == 0
    assert "Note: model.pt was trained with Net (nets_to_predict.py:Net" in capsys.readouterr().err


def test_a_reader_that_leaves_early(mutag_model):
    run = "import sys; from ifmixup.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", run, "predict", str(mutag_model), "MUTAG", "--json"]
    source = f"{shlex.join(words)} | head -n 1"
    found = subprocess.run(["bash", "-c", source], capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == 1
    assert "Traceback" not in found.stderr
    assert "BrokenPipe" not in found.stderr
