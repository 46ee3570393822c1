"""The command as people use it: started, killed, stopped, started twice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ifmixup.cli import main
from ifmixup.errors import StoreError
from ifmixup.study.store import Store

OPTIONS = ["--folds", "4", "--epochs", "40", "--hidden", "8", "--layers", "2", "--workers", "2"]


def start(folder: Path, *options: str, method: str = "ifmixup") -> subprocess.Popen:
    command = [sys.executable, "-m", "ifmixup", "compare", "MUTAG", "--folder", str(folder)]
    return subprocess.Popen(
        [*command, "--methods", "none", method, *OPTIONS, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
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
    assert "ifmixup with gcn on MUTAG (holdout):" in output
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
        assert "the same command goes on" in output
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
    words = ["compare", "MUTAG", "--folder", str(tmp_path), "--methods", "none", *OPTIONS]
    words += ["--epochs", "3", "--learning-rate", "1e30", "--norm", "none"]
    assert main(words) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "Failed: gcn none repeat 0 fold 0: TrainingError: The training loss is" in output
    assert "--retry-failed tries them again" in output


def test_print_config_can_be_read_back(tmp_path, capsys):
    assert (
        main(["compare", "MUTAG", "--models", "gcn", "gin", "--epochs", "7", "--print-config"]) == 0
    )
    printed = capsys.readouterr().out
    path = tmp_path / "study.toml"
    path.write_text(printed)
    assert main(["compare", "MUTAG", "--config", str(path), "--folds", "5", "--print-config"]) == 0
    assert capsys.readouterr().out == printed.replace("folds = 10", "folds = 5")
    assert 'models = ["gcn", "gin"]' in printed


def test_unknown_names_are_answered(tmp_path, capsys):
    assert main(["compare", "MUTAG", "--methods", "mixpu", "--folder", str(tmp_path)]) == 2
    assert "Unknown method 'mixpu'" in capsys.readouterr().err
    assert main(["compare", "MUTAG", "--engine", "locl", "--folder", str(tmp_path)]) == 2
    assert "Did you mean 'local'" in capsys.readouterr().err


def test_the_json_holds_the_figures(undisturbed, tmp_path, capsys):
    words = ["compare", "MUTAG", "--folder", str(tmp_path), "--epochs", "1", "--folds", "2"]
    assert main([*words, "--hidden", "4", "--layers", "1", "--workers", "1"]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["method"] for row in rows] == ["none", "ifmixup"]


def test_one_model_is_not_taken_for_several(tmp_path, capsys):
    assert main(["compare", "MUTAG", "--method", "ifmixup", "--folder", str(tmp_path)]) == 2
    assert "takes --models and --methods" in capsys.readouterr().err


def test_a_misspelt_name_in_a_file_is_answered(tmp_path, capsys):
    path = tmp_path / "bad.toml"
    path.write_text("epohs = 3\n")
    with pytest.raises(SystemExit):
        main(["compare", "MUTAG", "--config", str(path)])
    captured = capsys.readouterr()
    assert "--epohs" in captured.out + captured.err
