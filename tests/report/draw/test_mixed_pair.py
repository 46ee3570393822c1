import importlib
import io
import sys

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from torch_geometric.data import Data

import ifmixup
from ifmixup import mix
from ifmixup.data import load
from ifmixup.errors import InputError, MissingExtraError
from ifmixup.report import draw_mixed_pair
from ifmixup.report.draw.colours import PALETTE


def undirected(*edges):
    return torch.tensor([*edges, *[(v, u) for u, v in edges]]).t()


# A path 0-1-2, and a path 1-0-2-3 that has one node more.
A = Data(x=torch.eye(3)[[0, 0, 1]], edge_index=undirected((0, 1), (1, 2)))
B = Data(x=torch.eye(3)[[0, 2, 1, 2]], edge_index=undirected((0, 1), (0, 2), (2, 3)))


@pytest.fixture
def panels():
    return draw_mixed_pair(A, B, 0.75, title="a pair", features=("C", "N", "O")).axes


def labelled(artists, label):
    return [artist for artist in artists if artist.get_label() == label]


def centres(axes):
    return [patch.center for patch in labelled(axes.patches, "node")]


def texts(axes, label):
    return sorted(text.get_text() for text in labelled(axes.texts, label))


def test_five_panels_and_their_headings(panels):
    assert [axes.get_title() for axes in panels] == [
        "A: 3 nodes, 2 edges",
        "A with 1 dummy node",
        "B: 4 nodes, 3 edges",
        "B: no dummy nodes needed",
        "λA + (1 − λ)B with λ = 0.75: 4 nodes, 4 edges",
    ]


def test_nodes_dummy_nodes_and_numbers(panels):
    assert [len(labelled(axes.patches, "node")) for axes in panels] == [3, 3, 4, 4, 4]
    assert [len(labelled(axes.patches, "dummy")) for axes in panels] == [0, 2, 0, 0, 0]
    assert [texts(axes, "number") for axes in panels] == [
        list("012"),
        list("0123"),
        list("0123"),
        list("0123"),
        list("0123"),
    ]


def test_a_node_stands_where_it_stood_before_padding(panels):
    assert centres(panels[0]) == centres(panels[1])
    assert centres(panels[2]) == centres(panels[3])


def test_widths_and_numbers_are_the_weights(panels):
    mixed = panels[4]
    assert texts(mixed, "weight") == ["0.25", "0.25", "0.75", "1"]
    assert all(texts(axes, "weight") == [] for axes in panels[:4])
    widths = {lines.get_label(): list(lines.get_linewidths()) for lines in mixed.collections}
    one = widths["edges both"][0]
    assert widths == {
        "edges both": [one],
        "edges A": [0.75 * one],
        "edges B": [0.25 * one, 0.25 * one],
    }


def test_edges_end_at_their_nodes(panels):
    mixed = panels[4]
    where = np.array(centres(mixed))
    segments = {lines.get_label(): lines.get_segments() for lines in mixed.collections}
    assert segments["edges A"][0][[0, -1]] == pytest.approx(where[[1, 2]])
    assert segments["edges B"][0][[0, -1]] == pytest.approx(where[[0, 2]])
    assert segments["edges B"][1][[0, -1]] == pytest.approx(where[[2, 3]])


def test_colours_are_blended(panels):
    grey, blue, orange, white = (np.array(to_rgb(c)) for c in (*PALETTE[:3], "white"))
    faces = [patch.get_facecolor()[:3] for patch in labelled(panels[4].patches, "node")]
    expected = [grey, 0.75 * grey + 0.25 * orange, blue, 0.75 * white + 0.25 * orange]
    assert np.array(faces) == pytest.approx(np.array(expected))


def test_title_and_keys():
    figure = draw_mixed_pair(A, B, 0.75, title="a pair", features=("C", "N", "O"))
    assert figure.canvas.manager is None  # it is not one of pyplot's
    assert [text.get_text() for text in figure.texts] == ["a pair"]
    assert [[text.get_text() for text in legend.get_texts()] for legend in figure.legends] == [
        ["C", "N", "O", "dummy node"],
        [
            "weight 1: in both (1 edge)",
            "weight 0.75: only in A (1 edge)",
            "weight 0.25: only in B (2 edges)",
        ],
    ]


def test_the_mix_is_that_of_mix(monkeypatch):
    asked = []

    def spy(a, b, lam, **options):
        asked.append(lam)
        return mix(a, b, lam, **options)

    monkeypatch.setattr("ifmixup.report.draw.pair.mix", spy)
    draw_mixed_pair(A, B, 0.6)
    assert asked == [1.0, 0.0, 0.6]


def test_a_dense_pair_has_no_numbers():
    complete = [(i, j) for i in range(14) for j in range(i)]
    dense = Data(x=torch.eye(14), edge_index=undirected(*complete))
    figure = draw_mixed_pair(dense, B.clone().update({"x": torch.eye(14)[:4]}), 0.75)
    mixed = figure.axes[4]
    assert "91 edges" in mixed.get_title()
    assert texts(mixed, "weight") == []
    assert sum(len(lines.get_segments()) for lines in mixed.collections) == 91
    assert figure.axes[5].get_xlabel() == "feature"  # a colour bar


def test_directed_edges_and_loops():
    a = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 2]]))
    mixed = draw_mixed_pair(a, a, 0.75).axes[4]
    assert len(labelled(mixed.patches, "arrow both")) == 2
    assert len(labelled(mixed.patches, "loop both")) == 1
    assert texts(mixed, "weight") == ["1", "1", "1"]


def test_real_graphs_are_drawn_the_same_each_time_and_left_alone():
    dataset = load("MUTAG")
    a, b = dataset[75], dataset[4]
    before = a.clone(), b.clone(), matplotlib.rcParams.copy()
    pictures = []
    for _ in range(2):
        buffer = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "test"}):
            draw_mixed_pair(a, b, 0.75).savefig(buffer, format="svg", metadata={"Date": None})
        pictures.append(buffer.getvalue())
    assert pictures[0] == pictures[1]
    for graph, copy in zip((a, b), before[:2], strict=True):
        assert all(torch.equal(value, copy[key]) for key, value in graph.to_dict().items())
    assert all(matplotlib.rcParams[key] == before[2][key] for key in before[2] if key != "backend")


@pytest.mark.parametrize("lam", [-0.1, 1.1, float("nan")])
def test_a_ratio_out_of_range(lam):
    with pytest.raises(InputError, match=r"λ must be in \[0, 1\]"):
        draw_mixed_pair(A, B, lam)


@pytest.mark.parametrize("module", ["matplotlib", "networkx"])
def test_the_extra_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"'{module}'.*pip install 'ifmixup\[plot\]'"):
        draw_mixed_pair(A, B, 0.5)


def test_importing_needs_no_extra(monkeypatch):
    monkeypatch.setattr(
        ifmixup, "report", ifmixup.report
    )  # put back afterwards, as are the modules
    for name in list(sys.modules):
        if name.startswith(("matplotlib", "networkx", "ifmixup.report")):
            monkeypatch.delitem(sys.modules, name)
    for name in ("matplotlib", "networkx"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("ifmixup.report", "ifmixup.report.draw.colours", "ifmixup.report.save"):
        importlib.import_module(name)
