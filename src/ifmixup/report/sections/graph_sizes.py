"""How large graphs are before and after mixing: the paper's histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from ifmixup.data import load
from ifmixup.data.catalog import canonical, find
from ifmixup.errors import DatasetError
from ifmixup.paper.experiments import EXPERIMENTS
from ifmixup.paper.graph_size import SIZES_OF, GraphSizes
from ifmixup.paper.graph_size import graph_sizes as count
from ifmixup.report.chart import Grid, Panel, Series
from ifmixup.report.html import Section, notes
from ifmixup.report.studies import Studies

_MOST = 4  # datasets; the paper shows one
_BINS = 40
_BEFORE, _AFTER = "#2E86C1", "#D95F0E"


def graph_sizes(studies: Studies) -> Section:
    """Nodes and edges of the studies' datasets, and of the paper's where its experiments are."""
    of_paper = SIZES_OF if any(each.name in EXPERIMENTS for each in studies.experiments) else ()
    names = list(dict.fromkeys([*of_paper, *(cell.dataset for cell in studies.cells)]))
    panels, said = [], []
    if len(names) > _MOST:
        said.append(f"Of {len(names)} datasets these are the first {_MOST}.")
    for name in names[:_MOST]:
        try:
            sizes = _sizes(name)
        except DatasetError:
            said.append(f"{name} is not on this machine, so that its graphs are not counted.")
            continue
        panels.append(_panel(name, "nodes", sizes.nodes, sizes.mixed_nodes))
        panels.append(_panel(name, "edges", sizes.edges, sizes.mixed_edges))
    title = "Graphs by their number of nodes and of edges (both directions), before and after."
    parts = [Grid("graph-sizes", title, panels)] if panels else []
    return Section("graph-sizes", "Graph sizes before and after mixing", [*parts, notes(said)])


def _sizes(name: str) -> GraphSizes:
    if find(canonical(name)) is None:  # a report makes no downloads
        raise DatasetError(f"{name} is not here.")
    return count(load(name))


def _panel(dataset: str, what: str, before: Tensor, after: Tensor) -> Panel:
    largest = int(max(before.max(), after.max()))
    # Bins hold equally many whole numbers, else some would look higher; both directions of an
    # edge are counted, so that their number is even.
    unit = 2 if what == "edges" else 1
    width = unit * math.ceil((largest + 1) / (unit * _BINS))
    edges = np.arange(0, largest + 1 + width, width)
    middles: Sequence[float] = (edges[:-1] + (width - 1) / 2).tolist()
    series = [
        Series(name, "steps", middles, np.histogram(sizes.numpy(), edges)[0].tolist(), colour)
        for name, sizes, colour in (("before", before, _BEFORE), ("after mixing", after, _AFTER))
    ]
    return Panel(dataset, series, what, "graphs")
