"""The command as people use it: started, killed, stopped, started twice."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from engine_here import Here
from ifmixup.cli import main
from ifmixup.errors import StoreError
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies
from stored_runs import heed_interrupts

SMALL = ["--hidden-channels", "8", "--num-layers", "2", "--workers", "2"]
OPTIONS = ["--folds", "4", "--epochs", "40", *SMALL]


def start(folder: Path, *options: str, method: str = "ifmixup") -> subprocess.Popen:
    command = [sys.executable, "-m", "ifmixup", "compare", "MUTAG", "--folder", str(folder)]
    return subprocess.Popen(
        [*command, "--methods", "none", method, *OPTIONS, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


def wait_for_runs(folder: Path, count: int, process: subprocess.Popen) -> None:
    for _ in range(2400):
        # until the study has made its file there is nothing to read
        with contextlib.suppress(StoreError), Store(folder, read_only=True) as store:
            if len(store.keys("done")) >= count:
                return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    raise AssertionError("no runs came")


def results(folder: Path) -> dict[str, tuple]:
    with Store(folder, read_only=True) as store:
        return {
            record.key: (record.finished_at, record.result.curves)
            for record in store.records(status="done")
        }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    process = start(folder)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output, results(folder)


def curves(found: dict[str, tuple]) -> dict[str, dict]:
    return {key: values for key, (_, values) in found.items()}


def test_the_table_the_verdict_and_where_the_results_lie(undisturbed):
    output, found = undisturbed
    assert len(found) == 8
    assert "MUTAG gcn" in output
    assert "Best on MUTAG is gcn with" in output
    assert "ifmixup train MUTAG --model gcn --method" in output
    assert "8 runs and the table in csv, md, tex and json" in output


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_or_stopped_the_same_command_goes_on(undisturbed, tmp_path, how):
    process = start(tmp_path)
    wait_for_runs(tmp_path, 1, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to all of them
    else:
        process.kill()
    output, _ = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command continues" in output
    _, alive = psutil.wait_procs(children, timeout=15)
    assert not alive

    before = results(tmp_path)
    assert 1 <= len(before) < 8
    again = start(tmp_path)
    output, _ = again.communicate(timeout=300)
    assert again.returncode == 0, output
    after = results(tmp_path)
    assert {key: after[key] for key in before} == before  # not run again
    assert curves(after) == curves(undisturbed[1])


def test_two_studies_on_one_folder_at_once(undisturbed, tmp_path):
    processes = [start(tmp_path), start(tmp_path, method="drop_edge")]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    found = results(tmp_path)
    assert len(found) == 4 * 3  # none is shared
    expected = curves(undisturbed[1])
    assert {key: value for key, value in curves(found).items() if key in expected} == expected


def test_a_failed_run_is_named_and_is_exit_code_one(tmp_path, capsys):
    words = ["compare", "MUTAG", "--folder", str(tmp_path), "--methods", "none", *SMALL]
    words += ["--folds", "4", "--epochs", "3", "--learning-rate", "1e30", "--norm", "none"]
    assert main(words) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "Failed: gcn none repeat 0 fold 0: TrainingError: The training loss is" in output
    assert "--retry-failed tries them again" in output


def test_print_config_can_be_read_back(tmp_path, capsys):
    words = ["--models", "gcn", "gin", "--epochs", "7", "--num-layers", "3", "--no-coalesce"]
    assert main(["compare", "MUTAG", *words, "--print-config"]) == 0
    printed = capsys.readouterr().out
    path = tmp_path / "study.toml"
    path.write_text(printed)
    assert main(["compare", "MUTAG", "--config", str(path), "--folds", "5", "--print-config"]) == 0
    assert capsys.readouterr().out == printed.replace("folds = 10", "folds = 5")
    # what was not typed is there too, with its origin, where it is the same for all
    assert printed.startswith("# Settings of gcn: recommended for MUTAG and GCN.\n")
    assert "# Not set below, because it differs: jk (gcn last, gin sum).\n" in printed
    assert "learning_rate = 0.01\n" in printed
    assert 'models = ["gcn", "gin"]' in printed
    assert "num_layers = 3" in printed
    assert "coalesce = false" in printed


def test_unknown_names_are_answered(tmp_path, capsys):
    assert main(["compare", "MUTAG", "--methods", "mixpu", "--folder", str(tmp_path)]) == 2
    assert "Unknown method 'mixpu'" in capsys.readouterr().err
    assert main(["compare", "MUTAG", "--engine", "locl", "--folder", str(tmp_path)]) == 2
    assert "Did you mean 'local'" in capsys.readouterr().err


def test_the_json_holds_the_figures(tmp_path, capsys):
    words = ["compare", "MUTAG", "--folder", str(tmp_path), "--epochs", "1", "--folds", "2"]
    assert main([*words, *SMALL]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    # what sees no graph structure has no method, and comes first
    assert [row["method"] for row in rows] == [None, None, "none", "ifmixup"]


def test_one_model_is_not_taken_for_several(tmp_path, capsys):
    assert main(["compare", "MUTAG", "--method", "ifmixup", "--folder", str(tmp_path)]) == 2
    assert "Unknown option --method. Did you mean --methods?" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["epohs = 3", "num_layer = 3"])
def test_a_misspelt_name_in_a_file_is_answered(tmp_path, capsys, text):
    path = tmp_path / "bad.toml"
    path.write_text(f"{text}\n")
    assert main(["compare", "MUTAG", "--config", str(path)]) == 2
    assert re.search("Did you mean --(epochs|num-layers)", capsys.readouterr().err)


NETS = """
from torch import nn
from torch_geometric.nn import GraphConv, global_mean_pool

class Net(nn.Module):
    def __init__(self, in_channels, out_channels, *, width: int = 4):
        super().__init__()
        self.conv = GraphConv(in_channels, width)
        self.head = nn.Linear(width, out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index, edge_weight).relu(), batch))
"""
NOISE = """
from dataclasses import replace
import torch
from ifmixup.augment import Method

class Noise(Method):
    def __init__(self, num_classes=None, *, std: float = 0.1, generator=None):
        super().__init__(num_classes, generator=generator)
        self.std = std

    def draw(self, graphs):
        return torch.randn(graphs.nodes["x"].shape, generator=self.generator)

    def change(self, graphs, plan):
        x = graphs.nodes["x"] + self.std * plan
        return replace(graphs, nodes={**graphs.nodes, "x": x})
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a user's model, method, grid and configuration."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "nets.py": NETS,
        "noise.py": NOISE,
        "grid.toml": "std = [0.1, 0.3]\n",
        "study.toml": 'models = ["gin", "nets.py:Net"]\nwidth = 6\nfolds = 2\nepochs = 1\n',
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_classes_of_the_users_own_and_variants(own, capsys):
    words = ["compare", "MUTAG", "--config", "study.toml", "--folder", "out", "--workers", "2"]
    words += ["--models", "gin", "./nets.py:Net", "small=gin(num_layers=1)", "--grid", "grid.toml"]
    words += ["--methods", "none", "wide=ifmixup(alpha=1,beta=1)", "noise.py:Noise"]
    assert main([*words, "--hidden-channels", "4", "--no-coalesce"]) == 0
    out = capsys.readouterr().out
    for name in ("MUTAG gin", "MUTAG Net", "MUTAG small", "wide", "Noise"):
        assert f"\n{name} " in out
    (study,) = load_studies(own / "out")
    by_name = {trial.name: trial for trial in study.trials}
    noisy = [dict(each.method.options)["std"] for each in by_name["Net Noise"].candidates]
    assert noisy == [0.1, 0.3]
    (one,) = by_name["small wide"].candidates
    assert dict(one.model.options)["num_layers"] == 1
    assert dict(one.model.options)["hidden_channels"] == 4
    assert (dict(one.method.options)["alpha"], dict(one.method.options)["coalesce"]) == (1.0, False)
    (net,) = by_name["Net none"].candidates
    assert dict(net.model.options) == {"width": 6}
    assert study.config["command"] == "compare"
    assert study.config["models"] == ["gin", "nets.py:Net", "small=gin(num_layers=1)"]
    assert (study.config["grid"], study.config["width"]) == ("grid.toml", 6)
    assert "folder" not in study.config


def test_an_option_that_no_chosen_class_has(own, capsys):
    words = ["compare", "MUTAG", "--models", "nets.py:Net", "--folder", "out"]
    assert main([*words, "--num-layers", "3"]) == 2
    assert "--num-layers is an option of gat, gatv2, gcn and gin" in capsys.readouterr().err
    assert main([*words, "--widht", "3"]) == 2
    assert "Did you mean --width?" in capsys.readouterr().err
    assert not (own / "out").exists()


def test_an_option_with_the_name_of_an_argument_of_compare(own, capsys):
    (own / "nets.py").write_text(NETS.replace("width: int = 4", "width: int = 4, progress=1"))
    words = ["compare", "MUTAG", "--models", "nets.py:Net", "--folder", "out", "--progress", "3"]
    assert main(words) == 2
    assert "'progress' is also an argument" in capsys.readouterr().err


def test_skipped_lines_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'C' * n},{n % 2}\n" for n in range(1, 21))
    (tmp_path / "m.csv").write_text(f"smiles,label\nXX,0\n{rows}")
    words = ["compare", "m.csv:smiles:label", "--methods", "none", "--folds", "2", "--epochs", "1"]
    assert main([*words, *SMALL]) == 0
    assert capsys.readouterr().out.startswith("Skipped line 2: 'XX': not SMILES\n")


@pytest.fixture
def molecules(tmp_path, monkeypatch):
    """A table of molecules with a column of parts, and a file with one split; runs in here."""
    monkeypatch.chdir(tmp_path)
    engine = Here()
    engine.workers = 2
    monkeypatch.setattr("ifmixup.cli.options.EngineOptions.make", lambda options: engine)
    rings = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCCC1", "c1ccoc1")
    rows = [f"{rest}{ring}" for ring in rings for rest in ("C", "O", "N", "CC")]
    part = ["train"] * 12 + ["val"] * 4 + ["test"] * 4
    lines = [f"{s},{i % 2},{p}" for i, (s, p) in enumerate(zip(rows, part, strict=True))]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,label,split", *lines]) + "\n")
    split = {"train": [*range(12)], "val": [*range(12, 16)], "test": [*range(16, 20)]}
    (tmp_path / "split.json").write_text(json.dumps(split))
    return ["compare", "m.csv", "--methods", "none", "--epochs", "1", "--folder", "out", *SMALL]


@pytest.mark.parametrize("split", ["column:split", "split.json"])
def test_five_seeds_on_one_split(molecules, capsys, split):
    assert main([*molecules, "--split", split, "--repeats", "5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "5 runs and the table" in out
    assert "show the effect of the training seed, not of other test graphs" in out
    (study,) = load_studies(Path("out"))
    assert study.config["split"] == split
    assert [repeat for repeat, _, _ in study.trials[0].folds] == [0, 1, 2, 3, 4]


def test_scaffold_folds(molecules, capsys):
    assert main([*molecules, "--split", "scaffold", "--folds", "2"]) == 0
    assert "2 runs and the table" in capsys.readouterr().out
    assert main([*molecules, "--split", "scaffold", "--folds", "5"]) == 2
    assert "with 5 folds at least 6 are needed" in capsys.readouterr().err
    assert main([*molecules, "--split", "scafold"]) == 2
    assert "Did you mean 'scaffold'?" in capsys.readouterr().err
    assert main([*molecules, "--split", "column:part"]) == 2
    assert "m.csv has no column 'part'. Its columns: smiles, label" in capsys.readouterr().err


def test_a_dry_run_says_how_long_and_leaves_nothing(molecules, capsys):
    words = [*molecules, "--models", "gcn", "gin", "--split", "scaffold", "--folds", "2"]
    assert main([*words, "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert "Settings of gcn (the defaults, with epochs=1, hidden_channels=8" in printed.out
    assert re.search(r"4 runs to do; about \d+ s with 2 workers; the longest, ", printed.out)
    assert not Path("out").exists()
    assert main(words) == 0
    said = capsys.readouterr().err  # before the runs, the same
    assert said.startswith("Settings of gcn (the defaults, with epochs=1")
    assert "4 runs to do; about" in said
    assert main([*words, "--dry-run"]) == 0
    assert "Nothing to do: all 4 runs are stored." in capsys.readouterr().out


def test_a_time_limit(molecules, capsys):
    words = [*molecules, "--split", "scaffold", "--folds", "2"]
    assert main([*words, "--time-limit", "1h"]) == 0
    assert "2 runs and the table" in capsys.readouterr().out
    assert main([*words, "--time-limit", "soon"]) == 2
    assert "must be a time such as 90s, 30m" in capsys.readouterr().err
    longer = [*words, "--epochs", "100000", "--folder", "long", "--time-limit", "20s"]
    assert main(longer) == 2
    assert "One fold of all models and methods takes about" in capsys.readouterr().err


def test_leaks_are_said_before_the_runs(molecules, capsys):
    path = Path("m.csv")
    path.write_text(path.read_text() + "Cc1ccccc1,0,test\n")
    assert main([*molecules, "--split", "column:split", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "Leak: 1 of 5 test graphs (20.0 %, over one split)" in out
    assert "One fold has no spread" in out
