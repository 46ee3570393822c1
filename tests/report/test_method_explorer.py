"""What other methods make of a pair, in the report."""

import json
import re

import pytest
import torch

from ifmixup.data import load
from ifmixup.report.draw.colours import ATOMS, distinguish
from ifmixup.report.method_explorer import DRAWS, method_explorer

pytest.importorskip("networkx")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def html():
    graphs = load("MUTAG")
    a, b = graphs[4], graphs[87]
    (html,) = method_explorer(a, b, distinguish(torch.cat([a.x, b.x]), ATOMS["MUTAG"])).parts
    return html


def test_methods_with_two_sources_are_offered(html):
    assert re.findall(r'<option value="([^"]+)">', html) == [
        "SubMix",
        "Graph Transplant",
        "S-Mixup",
    ]
    assert '<label>method <select id="methods-name">' in html
    assert 'id="methods-draw" min="1" max="6"' in html


def test_every_draw_says_what_comes_from_where(html):
    states = json.loads(re.search(r'id="methods-data">(.*?)</script>', html)[1])
    assert all(len(draws) == DRAWS for draws in states.values())
    for name, draws in states.items():
        for state in draws:
            *lines, nodes = state["data"]
            assert nodes["mode"] == "markers+text"
            assert len(nodes["text"]) == len(nodes["marker"]["line"]["color"]) == len(nodes["x"])
            assert lines
            assert "The label: " in state["text"]
            assert ("of both" if name == "S-Mixup" else "of B") in state["text"]
