"""What the methods that have two sources make of a pair of graphs, for the report's explorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch_geometric.data import Batch, Data

from ifmixup.augment import Method, cache
from ifmixup.batch import from_batch
from ifmixup.components import METHODS, resolve
from ifmixup.report.draw.colours import Features
from ifmixup.report.draw.pair import Edge, Origin
from ifmixup.report.draw.provenance import Provenance, trace
from ifmixup.report.html import Html, Section, element, json_script, legend, plot
from ifmixup.report.plotly_chart import layout_of, scatter

if TYPE_CHECKING:
    from ifmixup.report.draw.layout import Points

NAMES = ("submix", "graph_transplant", "s_mixup")  # ifmixup has the slider; g_mixup samples
DRAWS = 6
_COLOURS: dict[Origin, str] = {
    "A": "#9E4FB5",
    "B": "#22A35A",
    "both": "#878787",
    "new": "#E8740C",
}
_BOX = (540, 440)  # in points
_INTRO = (
    "Rings and edges have the colour of the graph that they come from; a node has its number in "
    "that graph. Each step of the slider is another random draw. For this figure, S-Mixup's "
    "matching network is trained on these two graphs only, and all nodes are equally salient for "
    "Graph Transplant."
)


def method_explorer(a: Data, b: Data, features: Features) -> Section:
    """The section: a choice of methods, and some draws of each."""
    states = {
        METHODS.title(resolve("method", name).spec): draws(name, a, b, features) for name in NAMES
    }
    options = [element("option", title, value=title) for title in states]
    chosen = element("label", "method ", element("select", *options, id="methods-name"))
    slider = element(
        "label",
        "draw ",
        Html(
            f'<input type="range" id="methods-draw" min="1" max="{DRAWS}" step="1" value="1" '
            f'aria-describedby="methods-says">'
        ),
        element("output", "1", id="methods-value", for_="methods-draw"),
        class_="slider",
    )
    colours = {"A": "from A", "B": "from B", "both": "from both", "new": "new"}
    html = (
        element("p", _INTRO)
        + legend([(text, _COLOURS[origin]) for origin, text in colours.items()])  # type: ignore[index]
        + chosen
        + slider
        + element("p", "", id="methods-says", class_="says", aria_live="polite")
        + element(
            "div",
            plot("one draw", "methods-0", wide=True, aria_label="What the method makes of A and B"),
            class_="panels explorer",
        )
        + json_script(states, id="methods-data")
    )
    return Section("other-methods", "What other methods make of them", [Html(html)])


def draws(name: str, a: Data, b: Data, features: Features) -> list[dict[str, Any]]:
    """Some draws of a method: a plot and a sentence for each."""
    pair = [Data(x=g.x, edge_index=g.edge_index, y=torch.tensor([i])) for i, g in enumerate((a, b))]
    graphs = from_batch(Batch.from_data_list(pair))
    found = []
    with cache.switched_off():
        for seed in range(DRAWS):
            generator = torch.Generator().manual_seed(seed)
            method: Method = resolve("method", name).build(num_classes=2, generator=generator)
            traced = trace(method, graphs, 0, 1)
            found.append(_state(traced, features, (a, b)))
    return found


def _state(found: Provenance, features: Features, pair: tuple[Data, Data]) -> dict[str, Any]:
    from matplotlib.colors import to_hex

    from ifmixup.report.draw.change import node_colours, positions_of

    positions, _ = positions_of(found, *_BOX)
    colours = node_colours(found, features, (pair[0].x, pair[1].x))
    nodes = {
        **scatter("markers+text", positions.round(1).tolist()),
        "text": found.labels,
        "textfont": {"size": 10, "color": "#111111"},
        "marker": {
            "size": 22,
            "color": [to_hex(colour) for colour in colours],
            "line": {"width": 3, "color": [_COLOURS[origin] for origin in found.origins]},
        },
    }
    assert found.y is not None
    share = f"The label: {100 * found.y[0]:.0f} % of A's, {100 * found.y[1]:.0f} % of B's."
    text = f"{str(found).partition('; label')[0]}. {share}"
    return {
        "data": [*_lines(positions, found.edges), nodes],
        "layout": layout_of(positions),
        "text": text,
    }


def _lines(positions: Points, edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """One trace per origin, as wide as its edges weigh on average."""
    traces = []
    for origin, colour in _COLOURS.items():
        mine = [edge for edge in edges if edge.origin == origin]
        if not mine:
            continue
        lines = [[*positions[[e.source, e.target]].round(1).tolist(), (None, None)] for e in mine]
        weight = sum(edge.weight for edge in mine) / len(mine)
        trace = scatter("lines", [point for line in lines for point in line])
        traces.append({**trace, "line": {"color": colour, "width": round(1 + 3 * weight, 2)}})
    return traces
