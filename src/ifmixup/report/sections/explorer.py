"""The mixing explorer: two molecules, their mix at every λ, and what is recovered from it."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.errors import MissingExtraError, import_extra
from ifmixup.report.feature_names import ATOMS
from ifmixup.report.markup import Html, element, json_script, notes
from ifmixup.report.mix_states import EDGE_COLOURS, STEPS, css_colour, mix_states
from ifmixup.report.section import Section

PAIR = (4, 87)  # of MUTAG: different sizes, four kinds of atoms
_START = 30  # λ = 0.75
_KEPT = ("x", "edge_index")


def explorer() -> Section:
    """The section; without the packages that lay graphs out, a line that names the extra."""
    name, title = "explorer", "See two molecules mix, and come apart again"
    try:
        import_extra("networkx", "plot")
        import_extra("matplotlib", "plot")
    except MissingExtraError as error:
        return Section(name, title, [notes([f"Not drawn. {error}"])])
    graphs = load("MUTAG")
    a, b = (bare(graphs[place]) for place in PAIR)
    return Section(name, title, [_html(a, b)])


def _html(a: Data, b: Data) -> Html:
    intro = (
        f"Graphs {PAIR[0]} (A) and {PAIR[1]} (B) of MUTAG. λ is the weight of A. Nodes with the "
        f"same number meet: their colours blend as their features do, and an edge of one graph "
        f"only fades with its weight. A ring is a padding node: the other graph has no atom there."
    )
    proviso = (
        "Both come back because the kinds of atoms are linearly independent, as one-hot features "
        "are. For continuous features nothing guarantees it: "
    )
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
        element(
            "figure",
            element("figcaption", caption),
            element("div", class_="plot", id=f"explorer-{place}", role="img", aria_label=caption),
            class_="panel wide" if place == 0 else "panel",
        )
        for place, caption in enumerate(
            ("mixed: λA + (1 − λ)B", "recovered: the larger part", "recovered: the smaller part")
        )
    ]
    return Html(
        element("p", intro)
        + _legend(a, b)
        + slider
        + element("p", "", id="explorer-says", class_="says", aria_live="polite")
        + element("div", *plots, class_="panels explorer")
        + element("p", proviso, element("code", "ifmixup audit"), " says what holds for a dataset.")
        + json_script(mix_states(a, b), id="explorer-data")
    )


def _legend(a: Data, b: Data) -> Html:
    from ifmixup.report.node_colours import distinguish

    known = distinguish(torch.cat([a.x, b.x]), ATOMS["MUTAG"])
    atoms = zip(known.names, known.colours, strict=True)
    swatches = [(name, css_colour(colour)) for name, colour in atoms]
    swatches += [(f"bond of {origin}", colour) for origin, colour in EDGE_COLOURS.items()]
    items = [
        element("li", element("i", style=f"background:{colour}"), name) for name, colour in swatches
    ]
    return element("ul", *items, class_="legend")


def bare(graph: Data) -> Data:
    """A graph with what is mixed and recovered, and nothing else."""
    return Data(**{name: graph[name] for name in _KEPT})
