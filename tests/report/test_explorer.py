import json
import re

import pytest
import torch
from torch_geometric.data import Data

from ifmixup import mix
from ifmixup.data import load
from ifmixup.errors import MissingExtraError
from ifmixup.report import explorer as module
from ifmixup.report.explorer import STEPS, explorer
from ifmixup.study.examples import Examples

pytest.importorskip("networkx")
pytest.importorskip("matplotlib")


def states_of(section):
    (html,) = section.parts
    return json.loads(re.search(r'id="explorer-data">(.*?)</script>', html)[1])


def mutag():
    graphs = load("MUTAG")
    pair = [Data(x=graphs[i].x, edge_index=graphs[i].edge_index) for i in (4, 87)]
    return Examples("MUTAG", "d" * 24, (4, 87), tuple(pair))


@pytest.fixture(scope="module")
def section():
    return explorer(mutag())


@pytest.fixture(scope="module")
def states(section):
    return states_of(section)


def test_a_slider_that_keys_can_move(section):
    (html,) = section.parts
    assert '<input type="range" id="explorer-lam"' in html
    assert html.count('class="plot"') == 3
    assert 'aria-live="polite"' in html
    assert "edge of A" in html
    assert "is not guaranteed: run <code>ifmixup audit</code>" in html


def test_without_the_packages_that_draw(monkeypatch):
    def missing(name, extra):
        raise MissingExtraError(f"{name} needs ifmixup[{extra}]")

    monkeypatch.setattr(module, "import_extra", missing)
    (html,) = explorer(mutag()).parts
    assert "Not drawn. networkx needs ifmixup[plot]" in html


def test_what_is_recovered_is_the_pair_the_larger_part_first(states):
    middle = STEPS // 2
    assert states["order"][0] is states["order"][middle] is states["order"][STEPS] is None
    assert set(states["order"][1:middle]) == {"BA"}
    assert set(states["order"][middle + 1 : STEPS]) == {"AB"}
    assert "λ = 0.5" in states["texts"][middle]
    assert "weight 0.750" in states["texts"][30]


def test_edges_fade_with_their_weight(states):
    of_a, of_b, of_both = (
        [state[index]["opacity"] for state in states["mixed"]] for index in range(3)
    )
    assert of_a == sorted(of_a)
    assert of_a[0] == 0
    assert of_b == sorted(of_b, reverse=True)
    assert set(of_both) == {1.0}


def test_nodes_blend_and_padding_is_marked(states):
    first, last = states["mixed"][0], states["mixed"][STEPS]
    assert first[4]["marker"]["color"] != last[4]["marker"]["color"]
    assert last[4]["marker"]["color"][-1] == "#ffffff"  # A has no node there
    assert len(first[3]["x"]) == 1


def test_nodes_fade_with_the_node_weight_of_the_mixed_graph(monkeypatch):
    def without_node_0(a, b, lam, **options):
        mixed = mix(a, b, lam, **options)
        weight = mixed.x.new_ones(mixed.num_nodes)
        weight[0] = 0
        return mixed.update({"node_weight": weight})

    monkeypatch.setattr("ifmixup.report.draw.pair.mix", without_node_0)
    colours = states_of(explorer(mutag()))["mixed"][STEPS // 2][4]["marker"]["color"]
    assert colours[0] == "#ffffff"
    assert "#ffffff" not in colours[1:]


def test_the_users_own_graphs(section):
    def ring(n, width):
        at = torch.arange(n)
        edges = torch.stack([torch.cat([at, (at + 1) % n]), torch.cat([(at + 1) % n, at])])
        return Data(x=torch.rand(n, width), edge_index=edges)

    graphs = ring(9, 3), ring(5, 3)
    (html,) = explorer(Examples("<b>mine.csv", "d" * 24, (7, 2), graphs)).parts
    assert "Graphs 7 (A) and 2 (B) of &lt;b&gt;mine.csv" in html
    assert "Nodes with the same features have the same colour; there are 14." in html
    assert "MUTAG" not in html
    assert explorer(None) is None
