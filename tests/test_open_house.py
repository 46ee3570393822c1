"""A PyG user's Net and Noise beside gin and ifmixup, from the first run to the last table.

The folder of the fixture ``resumed`` has the whole study: what reads a study (``runs``, ``report``)
or names the same classes (``compare``, ``train``, ``predict``) can be tested on it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ifmixup
from engine_here import Here
from ifmixup.cli import main
from ifmixup.errors import StoreError
from ifmixup.study.store import Store
from ifmixup.study.study import load_studies
from own_classes import Net, Noise

TESTS = Path(__file__).parent
STUDY = {
    "methods": ["none", "ifmixup", Noise],
    "grid": {"width": [2, 4], "std": [0.1, 0.5], "num_layers": [1]},
    "folds": 2,
    "epochs": 4,
    "hidden_channels": 8,
    "progress": False,
    "baselines": False,
}
RUNS = 2 * (1 + 1 + 2 + 2 + 2 + 4)  # folds x (gin and Net with each method, by their grids)

SCRIPT = """
import sys
import ifmixup
from own_classes import Net
from test_open_house import STUDY
ifmixup.compare("MUTAG", ["gin", Net], workers=2, folder=sys.argv[1], **STUDY)
"""


def stored(folder):
    try:
        with Store(folder, read_only=True) as store:
            return store.keys("done")
    except StoreError:  # not there yet
        return set()


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A study of two workers that was killed, with them, after a few of its runs."""
    folder = tmp_path_factory.mktemp("house") / "study"
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 300
        while len(stored(folder)) < 3:
            assert parent.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
    return folder


@pytest.fixture(scope="module")
def resumed(killed):
    """The same study, which went on where it was killed: the folder, and what was there before."""
    before = stored(killed)
    found = ifmixup.compare("MUTAG", ["gin", Net], workers=2, folder=killed, **STUDY)
    return found, before


@pytest.fixture(scope="module")
def never_killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house") / "whole"
    return ifmixup.compare("MUTAG", ["gin", Net], engine=Here(), folder=folder, **STUDY)


def test_killed_in_the_middle_and_resumed_is_as_never_killed(resumed, never_killed):
    found, before = resumed
    assert 3 <= len(before) < RUNS
    assert len(found.runs) == len(found.study.keys) == RUNS
    assert before < found.study.keys
    assert found.failed == []
    assert found.table("json") == never_killed.table("json")
    assert found.verdict() == never_killed.verdict()
    assert [row.trial.name for row in found.rows] == [
        "gin none", "gin ifmixup", "gin Noise", "Net none", "Net ifmixup", "Net Noise",
    ]  # fmt: skip


def test_the_study_is_written_down_once(resumed):
    found, _ = resumed
    assert load_studies(found.folder) == [found.study]
    noisy = found.study.trials[-1]
    assert [
        (dict(each.model.options)["width"], dict(each.method.options)["std"])
        for each in noisy.candidates
    ] == [(2, 0.1), (2, 0.5), (4, 0.1), (4, 0.5)]


def test_the_same_classes_by_their_file_are_the_same_runs(resumed):
    found, _ = resumed
    engine, file = Here(), TESTS / "own_classes.py"
    methods = ["none", "ifmixup", f"{file}:Noise"]
    again = ifmixup.compare(
        "MUTAG", ["gin", f"{file}:Net"], engine=engine, folder=found.folder, **{
            **STUDY, "methods": methods,
        },
    )  # fmt: skip
    assert engine.ran == []
    assert json.loads(again.table("json")) == json.loads(found.table("json"))
    assert len(load_studies(found.folder)) == 1


def test_on_ray_the_numbers_are_the_same(never_killed, tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed (pip install 'ifmixup[ray]')")
    from ifmixup.study.engines.ray import RayEngine

    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except Exception as error:
        pytest.skip(f"Ray cannot be started here: {error}")
    try:
        found = ifmixup.compare("MUTAG", ["gin", Net], engine=RayEngine(), folder=tmp_path, **STUDY)
    finally:
        ray.shutdown()
    assert found.failed == []
    assert found.table("json") == never_killed.table("json")


def test_the_commands_take_the_same_classes(resumed, tmp_path, monkeypatch, capsys):
    found, _ = resumed
    net, noise = (f"{TESTS / 'own_classes.py'}:{name}" for name in ("Net", "Noise"))
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text("width = [2, 4]\nstd = [0.1, 0.5]\nnum_layers = [1]\n")
    study = ["--models", "gin", net, "--methods", "none", "ifmixup", noise, "--grid", "grid.toml"]
    small = ["--folds", "2", "--epochs", "4", "--hidden-channels", "8"]
    before = stored(found.folder)
    assert main(["compare", "MUTAG", *study, *small, "--folder", str(found.folder)]) == 0
    assert stored(found.folder) == before  # the same classes, options and folds: the same runs
    assert "MUTAG Net" in capsys.readouterr().out

    assert main(["runs", str(found.folder), "--model", "Net", "--method", "Noise"]) == 0
    assert f"{2 * 4} done" in capsys.readouterr().out
    assert main(["report", str(found.folder), "-o", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(row.score_text() in page for row in found.rows)

    trained = ["train", "MUTAG", "--model", net, "--method", noise, "--width", "4", "--std", "0.2"]
    assert main([*trained, "--epochs", "1", "--save", "net.pt"]) == 0
    assert main(["predict", "net.pt", "MUTAG", "--model", net, "-o", "predictions.csv"]) == 0
    assert len(Path("predictions.csv").read_text().splitlines()) == 1 + 188
