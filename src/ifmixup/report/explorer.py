"""The mixing explorer: two graphs, their mix at every λ, and what is recovered from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch_geometric.data import Data

from ifmixup.errors import IfmixupError, MissingExtraError, RecoveryError, import_extra
from ifmixup.mixing import mix
from ifmixup.recovery import recover
from ifmixup.report.draw.colours import (
    Colours,
    Features,
    blend,
    distinguish,
    fade,
    feature_names,
)
from ifmixup.report.draw.pair import Edge, take_pair
from ifmixup.report.html import Html, Section, element, json_script, legend, notes, plot
from ifmixup.report.method_explorer import method_explorer
from ifmixup.report.plotly_chart import layout_of, scatter
from ifmixup.study.examples import Examples

if TYPE_CHECKING:
    from ifmixup.report.draw.layout import Points

STEPS = 40
_START = 30  # λ = 0.75
_EDGE_COLOURS = {"A": "#9E4FB5", "B": "#22A35A", "both": "#878787"}
_RING = {"size": 28, "symbol": "circle-open", "color": "#878787", "line": {"width": 1.5}}
_BOXES = {"A": (300, 240), "B": (300, 240), "mixed": (540, 480)}  # of the graphs, in points

_INTRO = (
    "λ is the weight of A. Nodes with the same number are mixed: their colours blend as their "
    "features do. Nodes and edges that only one graph has fade with their weight. A ring marks a "
    "dummy node, where one graph has no node."
)
_PROVISO = (
    "Both graphs can be recovered if the distinct feature rows are linearly independent, as rows "
    "with one category per node are. With several categories per node or continuous features this "
    "is not guaranteed: run "
)
_CAPTIONS = ("mixed: λA + (1 − λ)B", "recovered: the larger part", "recovered: the smaller part")


def explorer(examples: Examples | None) -> Section | None:
    """The section with two graphs of a study's dataset; None if there are none.

    If a package for drawing is missing, it is a line that names the extra to install.
    """
    if examples is None:
        return None
    name, title = "explorer", "Mix two of these graphs, and recover them"
    try:
        import_extra("networkx", "plot")
        import_extra("matplotlib", "plot")
    except MissingExtraError as error:
        return Section(name, title, [notes([f"Not drawn. {error}"])])
    a, b = examples.graphs
    known = distinguish(torch.cat([a.x, b.x]), feature_names(examples.dataset, a, b))
    first, second = examples.indices
    about = f"Graphs {first} (A) and {second} (B) of {examples.dataset}. {_INTRO}"
    parts = [_html(about, known, mix_states(a, b, known))]
    try:
        others = [method_explorer(a, b, known)]
    except IfmixupError:  # a method that cannot take these two graphs
        others = []
    return Section(name, title, parts, below=others)


def mix_states(a: Data, b: Data, features: Features) -> dict[str, Any]:
    """What the page's script needs: the plots' traces at every λ = step / STEPS."""
    from ifmixup.report.draw.layout import fit

    whole = take_pair(a, b, 0.5)
    colours = features.colour(a.x), features.colour(b.x)
    positions = {}
    for i, (name, box) in enumerate(_BOXES.items()):
        ends = [(edge.source, edge.target) for edge in whole.edges[i]]
        positions[name], _ = fit((*whole.sizes, whole.num_nodes)[i], ends, *box)
    apart = {
        name: [*_edges(positions[name], whole.edges[i]), _nodes(positions[name], colours[i])]
        for i, name in enumerate("AB")
    }
    states: dict[str, list[Any]] = {"texts": [], "mixed": [], "order": []}
    for lam in (step / STEPS for step in range(STEPS + 1)):
        pair = take_pair(a, b, lam)
        # At λ = 0 and 1 the edges of one graph have weight 0, and the mixed graph lacks them.
        weight = {"A": lam, "B": 1 - lam, "both": 1.0}
        edges = [Edge(e.source, e.target, weight[e.origin], e.origin) for e in whole.edges[2]]
        nodes = _nodes(positions["mixed"], fade(blend(*colours, lam), pair.node_weight))
        dummies = positions["mixed"][min(pair.sizes) :].round(1).tolist()
        rings = {**scatter("markers", dummies), "marker": _RING}
        states["mixed"].append([*_edges(positions["mixed"], edges), rings, nodes])
        told, order = _recovered(a, b, lam)
        states["texts"].append(f"{pair}. {told}")
        states["order"].append(order)
    layouts = {name: layout_of(points) for name, points in positions.items()}
    return {"steps": STEPS, "layouts": layouts, "apart": apart, **states}


def _html(about: str, features: Features, states: dict[str, Any]) -> Html:
    from matplotlib.colors import to_hex

    kinds = list(zip(features.names, map(to_hex, features.colours), strict=True))
    if not features.few:  # a colour for each would be a legend that nobody reads
        about += f" Nodes with the same features have the same colour; there are {len(kinds)}."
        kinds = []
    edges = [(f"edge of {origin}", colour) for origin, colour in _EDGE_COLOURS.items()]
    slider = element(
        "label",
        "λ ",
        Html(
            f'<input type="range" id="explorer-lam" min="0" max="{STEPS}" step="1" '
            f'value="{_START}" aria-describedby="explorer-says">'
        ),
        element("output", f"{_START / STEPS:.3f}", id="explorer-value", for_="explorer-lam"),
        class_="slider",
    )
    plots = [
        plot(caption, f"explorer-{index}", wide=index == 0, aria_label=caption)
        for index, caption in enumerate(_CAPTIONS)
    ]
    return Html(
        element("p", about)
        + legend([*kinds, *edges])
        + slider
        + element("p", "", id="explorer-says", class_="says", aria_live="polite")
        + element("div", *plots, class_="panels explorer")
        + element("p", _PROVISO, element("code", "ifmixup audit"), " to check a dataset.")
        + json_script(states, id="explorer-data")
    )


def _recovered(a: Data, b: Data, lam: float) -> tuple[str, str | None]:
    """What is recovered from a mix, in words, and the names of both graphs, larger part first."""
    try:
        found = recover(mix(a, b, lam))
    except RecoveryError as error:
        return f"Recovered: nothing. {error}", None
    if found.lam is None:
        return "Recovered: one graph. The other has weight 0.", None
    pairs = [(graph, *known) for graph in (found.a, found.b) for known in (("A", a), ("B", b))]
    names = "".join(name for graph, name, known in pairs if _same(graph, known))
    told = (
        f"Recovered from the mixed graph alone: weight {found.lam:.3f} of a graph of "
        f"{found.a.num_nodes} nodes and {1 - found.lam:.3f} of one of {found.b.num_nodes}."
    )
    return told, names if len(names) == 2 else None


def _same(one: Data, other: Data) -> bool:
    first, second = (set(zip(*g.edge_index.tolist(), strict=True)) for g in (one, other))
    return one.num_nodes == other.num_nodes and torch.equal(one.x, other.x) and first == second


def _edges(positions: Points, edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """One trace per origin: all of its edges have the same weight."""
    traces = []
    for origin, colour in _EDGE_COLOURS.items():
        mine = [edge for edge in edges if edge.origin == origin]
        lines = [[*positions[[e.source, e.target]].round(1).tolist(), (None, None)] for e in mine]
        points = [point for line in lines for point in line]
        weight = mine[0].weight if mine else 0.0
        traces.append(
            {
                **scatter("lines", points),
                "opacity": round(0.25 + 0.75 * weight, 3) if weight else 0,
                "line": {"color": colour, "width": round(1 + 4 * weight, 2)},
            }
        )
    return traces


def _nodes(positions: Points, colours: Colours) -> dict[str, Any]:
    from matplotlib.colors import to_hex

    return {
        **scatter("markers+text", positions.round(1).tolist()),
        "text": [str(node) for node in range(len(positions))],
        "textfont": {"size": 10, "color": "#111111"},
        "marker": {
            "size": 20,
            "color": [to_hex(colour) for colour in colours],
            "line": {"width": 1, "color": "#444444"},
        },
    }
