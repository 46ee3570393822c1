import signal
import subprocess
import sys
import time

import pytest
import torch

from ifmixup.cli import main
from ifmixup.training import load_checkpoint

OPTIONS = ["--hidden", "8", "--layers", "2", "--method", "ifmixup"]


def test_on_all_graphs(tmp_path, capsys):
    path = tmp_path / "model.pt"
    assert main(["train", "MUTAG", "--save", str(path), "--epochs", "2", *OPTIONS]) == 0
    assert "on 188 graphs of MUTAG: 2 epochs" in " ".join(capsys.readouterr().out.split())
    assert load_checkpoint(path).about["graphs"] == 188


def test_on_a_split(tmp_path, capsys):
    path = tmp_path / "model.pt"
    words = ["train", "MUTAG", "--save", str(path), "--epochs", "2", "--fold", "3", *OPTIONS]
    assert main(words) == 0
    assert "Accuracy on the 19 graphs of fold 3" in capsys.readouterr().out
    assert main(words) == 2
    assert "is there already. Go on with --resume" in capsys.readouterr().err
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
        command(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    while not stopped.exists():
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "with --resume goes on from there" in " ".join(output.split())
    assert load_checkpoint(stopped).state["epoch"] < int(epochs)
    subprocess.run(command("--resume"), check=True, capture_output=True)
    one, other = load_checkpoint(whole).state, load_checkpoint(stopped).state
    assert one["curves"] == other["curves"]
    assert all(torch.equal(one["model"][key], other["model"][key]) for key in one["model"])


# The command, saving after every epoch so that the test need not wait.
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
    assert main(["train", "MUTAG", "--epochs", "9", "--print-config"]) == 0
    assert "epochs = 9" in capsys.readouterr().out


def test_nothing_to_resume_is_said(tmp_path, capsys):
    path = tmp_path / "model.pt"
    words = ["train", "MUTAG", "--save", str(path), "--resume", "--epochs", "1", *OPTIONS]
    assert main(words) == 0
    assert "to go on from: starting at epoch 0" in " ".join(capsys.readouterr().out.split())
