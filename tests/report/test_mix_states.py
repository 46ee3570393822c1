import pytest

from ifmixup.data import load
from ifmixup.report.mix_states import STEPS, css_colour, mix_states
from ifmixup.report.sections.explorer import PAIR, bare

pytest.importorskip("networkx")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def states():
    graphs = load("MUTAG")
    return mix_states(*(bare(graphs[place]) for place in PAIR))


def test_what_is_recovered_is_the_pair_the_larger_part_first(states):
    middle = STEPS // 2
    assert states["order"][0] is states["order"][middle] is states["order"][STEPS] is None
    assert set(states["order"][1:middle]) == {"BA"}
    assert set(states["order"][middle + 1 : STEPS]) == {"AB"}
    assert "λ = 0.5" in states["texts"][middle]
    assert "weight 0.750" in states["texts"][30]


def test_edges_fade_with_their_weight(states):
    of_a, of_b, of_both = (
        [state[place]["opacity"] for state in states["mixed"]] for place in range(3)
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
    assert css_colour((1.0, 0.5, 0.0)) == "#ff8000"
