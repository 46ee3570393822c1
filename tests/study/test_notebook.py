"""A DataFrame of molecules compared in a notebook, run by nbclient in a kernel of its own."""

import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for package in ("ipykernel", "pandas", "matplotlib", "rdkit"):
    pytest.importorskip(package)

CELLS = """
import sys
sys.path[:0] = {paths!r}
import ifmixup, pandas
smiles = ["C" * n + end for n in range(2, 14) for end in ("O", "N")]
frame = pandas.DataFrame({{"smiles": smiles, "acid": [each[-1] == "O" for each in smiles]}})
----
found = ifmixup.compare(
    frame, models=["gin"], label="acid", smiles="smiles", folds=2, epochs=1, hidden_channels=4,
    num_layers=1, workers=1, progress=False, folder={folder!r},
)
----
print(found)
----
found
----
found.to_dataframe()
----
found.plot()
----
found.best().trial.model
----
print(found.answer())
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    text = CELLS.format(paths=sys.path, folder=str(tmp_path_factory.mktemp("runs")))
    cells = [nbformat.v4.new_code_cell(each.strip()) for each in text.split("----")]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    nbclient.NotebookClient(made, timeout=300, startup_timeout=300).execute()
    return [[each for each in cell.outputs if each.get("name") != "stderr"] for cell in made.cells]


def test_print_is_the_table(outputs):
    text = "".join(each.text for each in outputs[2])
    lines = [line.split()[:1] for line in text.splitlines()]
    assert ["method"] in lines
    assert ["none"] in lines
    assert ["ifmixup"] in lines
    assert "…" not in text


def test_showing_it_is_the_table_with_the_answer(outputs):
    (shown,) = outputs[3]
    html = shown.data["text/html"]
    said, _, line = "".join(each.text for each in outputs[7]).partition("\n")
    assert html.startswith("<div style='overflow-x:auto'><table>")
    assert "<td>ifmixup</td>" in html
    assert f"<p>{said.split(':')[0]}" in html
    assert line.startswith("model = ifmixup.GraphClassifier('gin', '")


def test_a_frame_a_figure_and_the_best(outputs):
    (frame,), (figure,), (best,) = outputs[4:7]
    assert "<td>gin ifmixup</td>" in frame.data["text/html"]
    assert figure.data["image/png"]
    assert best.data["text/plain"] == "'gin'"
