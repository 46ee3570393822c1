import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import own_classes
from ifmixup.cli import main
from ifmixup.data import GraphDataset, load
from ifmixup.training.checkpoint import load_checkpoint
from stored_runs import heed_interrupts

OPTIONS = ["--hidden-channels", "8", "--num-layers", "2", "--method", "ifmixup"]


def test_on_all_graphs(tmp_path, capsys):
    path = tmp_path / "model.pt"
    assert main(["train", "MUTAG", "--save", str(path), "--epochs", "2", *OPTIONS]) == 0
    assert "on 188 graphs of MUTAG: 2 epochs" in " ".join(capsys.readouterr().out.split())
    assert load_checkpoint(path).about["graphs"] == 188


def test_on_a_split(tmp_path, capsys):
    path = tmp_path / "model.pt"
    words = ["train", "MUTAG", "--save", str(path), "--epochs", "2", "--fold", "3", *OPTIONS]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Accuracy on the 19 graphs of fold 3: \d+\.\d %, log-loss \d\.\d+ ", said)
    assert main(words) == 2
    assert "already exists. Continue with --resume" in capsys.readouterr().err
    assert main([*words, "--fold", "10"]) == 2
    assert "--fold must be from 0 to 9; got 10" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_or_stopped_it_ends_with_the_same_weights(tmp_path, how):
    epochs = "250"
    whole, stopped = tmp_path / "whole.pt", tmp_path / "stopped.pt"
    assert main(["train", "MUTAG", "--save", str(whole), "--epochs", epochs, *OPTIONS]) == 0

    def command(*more):
        words = [sys.executable, "-c", SCRIPT, "train", "MUTAG", "--save", str(stopped)]
        return [*words, "--epochs", epochs, *OPTIONS, *more]

    process = subprocess.Popen(
        command(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed_interrupts,
    )
    while not stopped.exists():
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "with --resume continues from there" in " ".join(output.split())
    assert load_checkpoint(stopped).state["epoch"] < int(epochs)
    subprocess.run(command("--resume"), check=True, capture_output=True)
    one, other = load_checkpoint(whole).state, load_checkpoint(stopped).state
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])


# The command, saving after every epoch: the test need not wait.
SCRIPT = """
import sys
from ifmixup.cli import main
from ifmixup.training import fit
fit.SAVE_EVERY = 0.0
sys.exit(main())
"""


def test_a_file_that_is_no_checkpoint(tmp_path, capsys):
    path = tmp_path / "model.pt"
    path.write_text("not a model")
    assert main(["train", "MUTAG", "--save", str(path), "--resume", "--epochs", "1", *OPTIONS]) == 2
    assert "not a checkpoint of ifmixup" in capsys.readouterr().err


def test_print_config(capsys):
    words = ["train", "MUTAG", "--epochs", "9", "--model", "gin", "--num-layers", "3"]
    assert main([*words, "--method", "ifmixup", "--alpha", "1", "--print-config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"epochs = 9", 'model = "gin"', "num_layers = 3", "alpha = 1.0"} <= set(lines)


def test_nothing_to_resume_is_said(tmp_path, capsys):
    path = tmp_path / "model.pt"
    words = ["train", "MUTAG", "--save", str(path), "--resume", "--epochs", "1", *OPTIONS]
    assert main(words) == 0
    assert "does not exist; starting at epoch 0" in " ".join(capsys.readouterr().out.split())


MOLECULES = "smiles,toxic\nCCO,no\nc1ccccc1,yes\nCC(=O)O,no\nnothing,no\nCCN,yes\nC1CC1,yes\nO,no\n"


def test_molecules_of_a_table(tmp_path, capsys):
    pytest.importorskip("rdkit")
    (tmp_path / "molecules.csv").write_text(MOLECULES)
    path = tmp_path / "model.pt"
    words = ["train", str(tmp_path / "molecules.csv"), "--label", "toxic", "--save", str(path)]
    assert main([*words, "--epochs", "1", *OPTIONS]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Skipped line 5: 'nothing': not SMILES" in said
    assert "on 6 graphs of molecules-toxic: 1 epoch," in said
    data = load_checkpoint(path).about["data"]
    assert data["class_names"] == ["no", "yes"]
    assert data["encoder"]["nodes"][0]["kinds"] == ["C", "N", "O"]
    assert main([*words, "--epochs", "1", "--strict", *OPTIONS]) == 2
    assert "line 5: 'nothing': not SMILES" in capsys.readouterr().err


def test_values_are_measured_by_their_error(tmp_path, capsys):
    pytest.importorskip("rdkit")
    rows = "".join(f"{'C' * (n + 1)},{n / 3}\n" for n in range(30))
    (tmp_path / "alkanes.csv").write_text(f"smiles,melting\n{rows}")
    path = tmp_path / "model.pt"
    words = ["train", f"{tmp_path / 'alkanes.csv'}:smiles:melting", "--save", str(path)]
    assert main([*words, "--epochs", "2", "--fold", "0", "--folds", "3", *OPTIONS]) == 0
    assert "MAE on the 10 graphs of fold 0" in " ".join(capsys.readouterr().out.split())
    assert load_checkpoint(path).about["measured"]["graphs"] == 10


def test_patience(tmp_path, capsys):
    path = tmp_path / "model.pt"
    words = ["train", "MUTAG", "--save", str(path), "--epochs", "60", "--patience", "2", *OPTIONS]
    assert main(words) == 2
    assert "--patience needs validation graphs" in capsys.readouterr().err
    assert main([*words, "--fold", "0"]) == 0
    found = load_checkpoint(path)
    assert found.state["epoch"] < 60
    assert found.about["graphs"] < 169  # the rest of them chose the epoch
    assert found.about["measured"]["part"] == "test"


def test_a_split_of_its_own(tmp_path, capsys, monkeypatch):
    mutag = load("MUTAG")
    parts = {"train": range(100), "validation": range(100, 140), "test": range(140, 188)}
    split = {name: torch.tensor(index) for name, index in parts.items()}
    made = GraphDataset("own", mutag._data, mutag.slices, split=split)
    monkeypatch.setattr("ifmixup.data.load", lambda *_, **__: made)
    path = tmp_path / "model.pt"
    assert main(["train", "own", "--save", str(path), "--epochs", "2", *OPTIONS]) == 0
    assert "Accuracy on the 48 graphs of the test part" in " ".join(capsys.readouterr().out.split())
    about = load_checkpoint(path).about
    assert about["graphs"] == 100
    assert (about["measured"]["part"], about["measured"]["graphs"]) == ("test", 48)
    words = ["train", "own", "--split", "all", "--epochs", "1", *OPTIONS]
    assert main([*words, "--save", str(tmp_path / "all.pt")]) == 0
    about = load_checkpoint(tmp_path / "all.pt").about
    assert (about["graphs"], about["measured"]) == (188, None)
    assert main([*words, "--fold", "0"]) == 2
    assert "--split all trains on all graphs: leave out --fold" in _words(capsys)
    assert main([*words, "--patience", "3"]) == 2
    assert "--patience needs validation graphs" in _words(capsys)


def test_the_configuration_can_be_read_back(tmp_path, capsys):
    words = ["train", "MUTAG", "--epochs", "9", "--label", "toxic", *OPTIONS, "--print-config"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert 'label = "toxic"' in text
    (tmp_path / "options.toml").write_text(text)
    assert main(["train", "MUTAG", "--config", str(tmp_path / "options.toml"), words[-1]]) == 0
    assert capsys.readouterr().out == text


def test_names_are_printed_as_they_are(tmp_path, capsys):
    source, path = tmp_path / "mol[v2].pt", tmp_path / "k[v2].pt"
    torch.save(list(load("MUTAG")), source)
    assert main(["train", str(source), "--save", str(path), "--epochs", "1", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert "graphs of mol[v2]: 1 epoch," in out
    assert f"Saved to {path}\n" in out


def test_settings_and_options_reach_the_training(tmp_path):
    path = tmp_path / "model.pt"
    typed = ["--epochs", "1", "--dropout", "0.25", "--alpha=3", "--no-node-weight"]
    assert main(["train", "MUTAG", "--save", str(path), *OPTIONS, *typed]) == 0
    about = load_checkpoint(path).about
    assert about["settings"]["epochs"] == 1
    assert about["model"]["options"]["dropout"] == 0.25
    assert about["model"]["options"]["num_layers"] == 2
    assert about["method"]["options"]["alpha"] == 3.0
    assert about["method"]["options"]["node_weight"] is False


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--num-layer", "3"], "Unknown option --num-layer. Did you mean --num-layers?"),
        (["--epoch", "3"], "Unknown option --epoch. Did you mean --epochs?"),
        (["--num-layers"], "--num-layers needs a value"),
        (["--num-layers", "3", "--num-layers", "2"], "--num-layers was given twice"),
        (["--num-layers", "many"], "num_layers of gcn must be int; got 'many'"),
        (["--alpha", "1"], "--alpha is an option of"),
        (["--model", "gni"], "Unknown model 'gni'. Did you mean 'gin'?"),
        (["--model", "nets.py:Net"], "There is no file 'nets.py'"),
    ],
)
def test_what_is_mistyped_is_said_before_anything_is_loaded(capsys, typed, message):
    assert main(["train", "no such file", *typed]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A folder with a user's classes in a file of its own."""
    (tmp_path / "my_nets.py").write_text(Path(own_classes.__file__).read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_users_classes(nets, capsys):
    words = ["train", "MUTAG", "--model", "my_nets.py:Net", "--method", "my_nets.py:Noise"]
    words += ["--width", "4", "--std", "0.5", "--epochs", "2"]
    assert main([*words, "--fold", "0"]) == 0
    assert "Trained Net with Noise on 169 graphs of MUTAG" in capsys.readouterr().out
    about = load_checkpoint(Path("model.pt")).about
    assert about["model"]["target"] == "my_nets.py:Net"
    assert about["model"]["options"] == {"width": 4, "depth": 1}
    assert about["method"]["options"] == {"std": 0.5}
    assert main([*words, "--fold", "0", "--resume"]) == 0
    assert main([*words, "--fold", "0", "--resume", "--width", "8"]) == 2
    capsys.readouterr()
    assert main([*words[:-6], "--depth", "2", "--epochs", "2", "--fold", "0", "--resume"]) == 2
    assert "trained with other model: depth was 1, is 2, width was 4" in capsys.readouterr().err


def test_a_split_that_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rings = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCCC1", "c1ccoc1")
    rows = [f"{rest}{ring}" for ring in rings for rest in ("C", "O", "N", "CC")]
    part = ["train"] * 14 + [""] + ["val"] * 2 + ["test"] * 3
    lines = [f"{s},{i % 2},{p}" for i, (s, p) in enumerate(zip(rows, part, strict=True))]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,label,split", *lines]) + "\n")
    words = ["train", "m.csv", "--epochs", "2", *OPTIONS]
    assert main([*words, "--split", "column:split", "--save", "a.pt", "--patience", "5"]) == 0
    out = capsys.readouterr().out
    assert "1 of 20 graphs are not used" in out
    assert "on 14 graphs of m" in out
    assert "on the 3 graphs of the test part" in out
    assert main([*words, "--split", "scaffold", "--save", "b.pt"]) == 2
    assert "gives 10 folds" not in capsys.readouterr().err  # five scaffolds are too few for ten
    assert main([*words, "--split", "scaffold", "--folds", "3", "--save", "b.pt"]) == 2
    assert "gives 3 folds. Choose the one to hold out" in capsys.readouterr().err
    words += ["--split", "scaffold"]
    assert main([*words, "--folds", "3", "--fold", "2", "--save", "b.pt"]) == 0
    assert "on the 4 graphs of fold 2" in capsys.readouterr().out
    assert main([*words, "--folds", "1", "--save", "c.pt"]) == 0
    assert "on 12 graphs of m" in capsys.readouterr().out  # a part has at least one scaffold


def _words(capsys):
    found = capsys.readouterr()
    return " ".join((found.out + found.err).split())
