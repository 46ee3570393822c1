import pytest

from ifmixup.cli import main
from ifmixup.study.study import load_studies

SMOKE = ["--scale", "smoke", "--datasets", "MUTAG", "--workers", "1"]


def test_a_table_of_the_paper(tmp_path, capsys):
    command = ["reproduce", "gat", *SMOKE, "--epochs", "1", "--folder", str(tmp_path)]
    assert main([*command, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "MUTAG: 6 of 6 runs" in said
    assert "on this machine" in said
    assert load_studies(tmp_path) == []
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "GAT and GATv2 against ifMixup with GCN" in said
    assert "83.1 ± 0.2" in said
    assert main(command) == 0
    assert "MUTAG: 0 of 6 runs" in capsys.readouterr().out
    (study,) = load_studies(tmp_path)
    assert study.config == {
        "experiment": "gat",
        "epochs": 1,
        "graphs": 100,
        "search": "none",
        "seed": 0,
    }


def test_settings_and_options(tmp_path, capsys):
    command = ["reproduce", "gcn", *SMOKE, "--variants", "none", "--folder", str(tmp_path)]
    changes = ["--epochs", "1", "--weight-decay", "0.5", "--readout", "mean"]
    assert main([*command, *changes]) == 0
    (study,) = load_studies(tmp_path)
    ((candidate,),) = [trial.candidates for trial in study.trials]
    assert candidate.settings.weight_decay == 0.5
    assert dict(candidate.model.options)["readout"] == "mean"
    assert main([*command, "--raedout", "mean"]) == 2
    assert "Did you mean --readout?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Give at least one experiment: gcn"),
        (["gnc"], "Did you mean"),
        (["gcn", "--search", "halve"], "halving"),
        (["gcn", "--scale", "huge"], "smoke, small, paper"),
        (["pairing", "--datasets", "MUTAG"], "not among the datasets"),
    ],
)
def test_what_is_wrong_is_said(arguments, text, capsys):
    assert main(["reproduce", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_the_statistics(capsys):
    assert main(["reproduce", "statistics"]) == 0
    assert "MUTAG" in capsys.readouterr().out
