"""The mix of a pair at every λ, and what is recovered from it, as traces for Plotly."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.data import Data

from ifmixup.errors import RecoveryError
from ifmixup.mixing import mix
from ifmixup.recovery import Recovery, recover
from ifmixup.report.feature_names import ATOMS
from ifmixup.report.pair import Edge, take_pair

STEPS = 40
EDGE_COLOURS = {"A": "#9E4FB5", "B": "#22A35A", "both": "#878787"}
_MIXED, _APART = (540, 480), (300, 240)  # the boxes of the graphs, in points


def mix_states(a: Data, b: Data) -> dict[str, Any]:
    """What the page's script needs: the plots' traces at every λ = step / STEPS.

    Args:
        a: The first graph, with one-hot node features.
        b: The partner.
    """
    from ifmixup.report.graph_layout import fit
    from ifmixup.report.plotly_chart import layout_base

    mixed, texts, order = [], [], []
    whole = take_pair(a, b, 0.5)
    ends = [(edge.source, edge.target) for edge in whole.edges[2]]
    positions, _ = fit(whole.num_nodes, ends, *_MIXED)
    apart, apart_at = {}, {}
    for name, graph, edges in (("A", a, whole.edges[0]), ("B", b, whole.edges[1])):
        own = [(edge.source, edge.target) for edge in edges]
        place, _ = fit(int(graph.num_nodes), own, *_APART)
        apart_at[name] = place
        colours = _colours(a, b, 1.0 if name == "A" else 0.0)[: graph.num_nodes]
        apart[name] = [*_edge_traces(place, edges, 1.0), _nodes(place, colours)]
    for step in range(STEPS + 1):
        lam = step / STEPS
        pair = take_pair(a, b, lam)
        # At λ = 0 and 1 the edges of one graph have no weight and are not there.
        edges = [
            Edge(e.source, e.target, {"A": lam, "B": 1 - lam, "both": 1.0}[e.origin], e.origin)
            for e in whole.edges[2]
        ]
        mixed.append(
            [
                *_edge_traces(positions, edges, None),
                _padding(positions, min(whole.sizes)),
                _nodes(positions, _colours(a, b, lam)),
            ]
        )
        found = _recovered(a, b, lam)
        texts.append(f"{pair}. {_says(found)}")
        order.append(_order(found, a, b))
    axis = {"visible": False, "fixedrange": True}
    layouts = {
        name: {
            **layout_base(None),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "xaxis": {**axis, "range": _around(points[:, 0])},
            "yaxis": {**axis, "range": _around(points[:, 1]), "scaleanchor": "x"},
        }
        for name, points in {"mixed": positions, **apart_at}.items()
    }
    return {
        "steps": STEPS,
        "texts": texts,
        "layouts": layouts,
        "mixed": mixed,
        "apart": apart,
        "order": order,
    }


def _recovered(a: Data, b: Data, lam: float) -> Recovery | str:
    try:
        return recover(mix(a, b, lam))
    except RecoveryError as error:
        return str(error)


def _order(found: Recovery | str, a: Data, b: Data) -> str | None:
    """The names of the two recovered graphs, the larger part first; None where there are none."""
    if isinstance(found, str) or found.lam is None:
        return None
    names = [
        name
        for graph in (found.a, found.b)
        for name, known in (("A", a), ("B", b))
        if _same(graph, known)
    ]
    return "".join(names) if len(names) == 2 else None


def _same(one: Data, other: Data) -> bool:
    edges = [set(zip(*graph.edge_index.tolist(), strict=True)) for graph in (one, other)]
    return (
        one.num_nodes == other.num_nodes
        and torch.equal(one.x, other.x)
        and len(set(map(frozenset, edges))) == 1
    )


def _says(found: Recovery | str) -> str:
    if isinstance(found, str):
        return f"Recovered: nothing. {found}"
    if found.lam is None:
        return "Recovered: one graph, since there is nothing of the other."
    return (
        f"Recovered from the mixed graph alone: weight {found.lam:.3f} of a graph of "
        f"{found.a.num_nodes} nodes and {1 - found.lam:.3f} of one of {found.b.num_nodes}."
    )


def _around(values: Any) -> list[float]:
    return [round(float(values.min()) - 30, 1), round(float(values.max()) + 30, 1)]


def _colours(a: Data, b: Data, lam: float) -> list[str]:
    from ifmixup.report.node_colours import blend, distinguish

    known = distinguish(torch.cat([a.x, b.x]), ATOMS["MUTAG"])
    return [css_colour(colour) for colour in blend(known.colour(a.x), known.colour(b.x), lam)]


def css_colour(colour: Any) -> str:
    """A colour of three parts from 0 to 1 as ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour)


def _edge_traces(positions: Any, edges: list[Edge], weight: float | None) -> list[dict[str, Any]]:
    """A trace an origin: all of its edges have the same weight."""
    traces = []
    for origin, colour in EDGE_COLOURS.items():
        mine = [edge for edge in edges if edge.origin == origin]
        x: list[float | None] = []
        y: list[float | None] = []
        for edge in mine:
            for node in (edge.source, edge.target):
                x.append(round(float(positions[node][0]), 1))
                y.append(round(float(positions[node][1]), 1))
            x.append(None)
            y.append(None)
        strength = weight if weight is not None else mine[0].weight if mine else 0.0
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "opacity": round(0.25 + 0.75 * strength, 3) if strength else 0,
                "line": {"color": colour, "width": round(1 + 4 * strength, 2)},
                "hoverinfo": "skip",
            }
        )
    return traces


def _nodes(positions: Any, colours: list[str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [round(float(point[0]), 1) for point in positions],
        "y": [round(float(point[1]), 1) for point in positions],
        "text": [str(node) for node in range(len(positions))],
        "textfont": {"size": 10, "color": "#111111"},
        "marker": {"size": 20, "color": colours, "line": {"width": 1, "color": "#444444"}},
        "hoverinfo": "skip",
    }


def _padding(positions: Any, smaller: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(float(point[0]), 1) for point in positions[smaller:]],
        "y": [round(float(point[1]), 1) for point in positions[smaller:]],
        "marker": {"size": 28, "symbol": "circle-open", "color": "#878787", "line": {"width": 1.5}},
        "hoverinfo": "skip",
    }
