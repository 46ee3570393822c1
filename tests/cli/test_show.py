import re

import pytest
import tyro

from ifmixup.cli.show import show
from ifmixup.errors import InputError

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_and_a_line_about_the_mix(tmp_path, capsys, suffix):
    output = tmp_path / f"mix.{suffix}"
    arguments = ["MUTAG", "75", "4", "--lam", "0.8", "-o", str(output)]
    assert tyro.cli(show, args=arguments) == 0
    assert output.read_bytes().startswith(MAGIC[suffix])
    assert list(tmp_path.iterdir()) == [output]
    assert capsys.readouterr().out.splitlines() == [
        "Mixed MUTAG 75 and 4 with λ = 0.8: 11 nodes, 15 edges: 6 in both (weight 1), "
        "4 only in A (weight 0.8), 5 only in B (weight 0.2).",
        f"Saved as {output}",
    ]


def test_what_the_picture_says(tmp_path):
    output = tmp_path / "mix.svg"
    show("mutag", 3, 17, output=output)
    first = output.read_bytes()
    texts = re.findall(r">([^<>\n]+)</text>", first.decode())
    for expected in (
        "MUTAG: graph 3 (A) and graph 17 (B)",
        "B with 2 dummy nodes",
        "C",
        "N",
        "O",
        "dummy node",
        "weight 0.25: only in B (2 edges)",
    ):
        assert expected in texts
    assert (texts.count("0.75"), texts.count("0.25")) == (5, 2)
    show("mutag", 3, 17, output=output)
    assert output.read_bytes() == first


def test_molecules_of_a_table(tmp_path, capsys):
    (tmp_path / "m.csv").write_text("s,label\nCCO,1\nN,0\n")
    output = tmp_path / "mix.svg"
    assert tyro.cli(show, args=["m.csv", "0", "1", "--smiles", "s", "-o", str(output)]) == 0
    texts = re.findall(r">([^<>\n]+)</text>", output.read_text())
    assert {"m: graph 0 (A) and graph 1 (B)", "C", "N", "O"} <= set(texts)
    assert "Mixed m 0 and 1" in capsys.readouterr().out


def test_the_defaults(tmp_path, capsys):
    assert tyro.cli(show, args=["MUTAG", "75", "75"]) == 0
    assert (tmp_path / "mix.png").exists()
    assert capsys.readouterr().out == (
        "Mixed MUTAG 75 and 75 with λ = 0.75: 10 nodes, 10 edges: 10 in both (weight 1).\n"
        "Saved as mix.png\n"
    )


@pytest.mark.parametrize("pair", [(188, 0), (0, 188), (-1, 0)])
def test_a_graph_that_is_not_there(tmp_path, pair):
    wrong = 188 if 188 in pair else -1
    with pytest.raises(InputError, match=f"MUTAG has 188 graphs, 0 to 187; got {wrong}"):
        show("MUTAG", *pair)
    assert list(tmp_path.iterdir()) == []


def test_a_ratio_out_of_range(tmp_path):
    with pytest.raises(InputError, match=r"λ must be in \[0, 1\]; got 1.5"):
        show("MUTAG", 0, 1, lam=1.5)
    assert list(tmp_path.iterdir()) == []


def test_the_ending_is_checked_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("ifmixup.data.load", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf; got 'mix.jpg'"):
        show("MUTAG", 0, 1, output=tmp_path / "mix.jpg")


def test_another_method(tmp_path, capsys):
    output = tmp_path / "submix.svg"
    arguments = ["MUTAG", "3", "17", "--method", "submix(subgraph_ratio=1)", "-o", str(output)]
    assert tyro.cli(show, args=arguments) == 0
    told = capsys.readouterr().out.splitlines()[0]
    assert told.startswith("SubMix of MUTAG 3 (A) and 17 (B), fitted to 188 graphs: 19 nodes (")
    texts = re.findall(r">([^<>\n]+)</text>", output.read_text())
    assert {"A: 19 nodes, 22 edges", "B: 17 nodes, 19 edges", "C", "N", "O"} <= set(texts)
    first = output.read_bytes()
    assert tyro.cli(show, args=arguments) == 0
    assert output.read_bytes() == first
    assert tyro.cli(show, args=[*arguments, "--seed", "1"]) == 0
    assert output.read_bytes() != first


def test_a_method_of_one_graph(tmp_path, capsys):
    assert tyro.cli(show, args=["MUTAG", "3", "--method", "drop_edge"]) == 0
    assert capsys.readouterr().out.startswith("DropEdge of MUTAG 3 (A): 19 nodes (19 of A), ")


def test_methods_that_cannot_be_drawn(tmp_path):
    with pytest.raises(InputError, match="ifMixup mixes two graphs: give the index of a second"):
        show("MUTAG", 3)
    with pytest.raises(InputError, match="Manifold Mixup leaves the graphs as they are"):
        show("MUTAG", 3, 17, method="manifold_mixup")
    with pytest.raises(InputError, match="submx"):
        show("MUTAG", 3, 17, method="submx")
    assert list(tmp_path.iterdir()) == []
