"""The notebooks run from the first cell to the last, and their stored output is fit to publish."""

import os
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for package in ("ipykernel", "pandas", "matplotlib", "rdkit"):
    pytest.importorskip(package)

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Shorter trainings: what runs is the same.
SHORTER = {
    "epochs=200": "epochs=50",
    "epochs=30": "epochs=2",
    "--epochs 30": "--epochs 2",
    "epochs=20": "epochs=2",
    "--pairs 1000": "--pairs 50",
}


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path, tmp_path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for usual, short in SHORTER.items():
            cell.source = cell.source.replace(usual, short)
    # The kernel and its shell commands use this environment.
    programs = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(programs))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, resources=where, kernel_name="python3"
    ).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_stored_output_has_no_warnings_and_no_paths(path):
    notebook = nbformat.read(path, as_version=4)
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    assert outputs
    for output in outputs:
        assert output.get("name") != "stderr"
        assert output["output_type"] != "error"
        assert "site-packages" not in str(output)
        assert str(Path.home()) + os.sep not in str(output)
