"""The picture of what a method makes of graphs."""

import pytest
import torch

from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.report.draw.change import draw_change
from ifmixup.report.draw.colours import EDGE_COLOURS
from ifmixup.report.draw.provenance import trace
from ifmixup.training.packed import pack

A, B = 3, 17


@pytest.fixture(scope="module")
def mutag():
    return load("MUTAG")


def picture(mutag, name, b=B):
    data = pack(mutag)
    generator = torch.Generator().manual_seed(0)
    method = resolve("method", name).build(num_classes=2, generator=generator)
    found = trace(method, data.graphs, A, b)
    last = mutag[A if b is None else b]
    return found, draw_change(found, (mutag[A].x, last.x), title="the title", result="changed")


def test_both_sources_and_the_result(mutag):
    found, figure = picture(mutag, "submix")
    titles = [axes.get_title() for axes in figure.axes[:3]]
    assert titles[:2] == ["A: 19 nodes, 22 edges", "B: 17 nodes, 19 edges"]
    assert titles[2] == f"changed: 19 nodes, {len(found.edges)} edges"
    nodes = [each for each in figure.axes[2].patches if each.get_label() == "node"]
    from matplotlib.colors import to_hex

    rings = [to_hex(each.get_edgecolor()).upper() for each in nodes]
    assert rings == [EDGE_COLOURS[origin] for origin in found.origins]
    numbers = [text.get_text() for text in figure.axes[2].texts]
    assert numbers == found.labels
    said = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert f"of B: {found.origins.count('B')} nodes" in " ".join(said)
    assert any(each.startswith("joining A and B: ") for each in said)


def test_one_source(mutag):
    found, figure = picture(mutag, "attribute_masking", None)
    assert len(figure.axes) == 2
    before, after = (
        [each.get_facecolor() for each in axes.patches if each.get_label() == "node"]
        for axes in figure.axes
    )
    changed = [i for i in range(19) if before[i] != after[i]]
    old = mutag[A].x
    assert changed == (old != found.x).any(1).nonzero().view(-1).tolist()
    assert changed


def test_sampled_nodes_are_mixtures_of_kinds(mutag):
    found, figure = picture(mutag, "g_mixup")
    assert set(found.origins) == {"new"}
    assert len([p for p in figure.axes[2].patches if p.get_label() == "node"]) == 17
