"""``ifmixup show``: a picture of graphs and what a method makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
import tyro
from torch_geometric.data import Data

from ifmixup.augment import IfMixup
from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT, Source, SourceGroup, SourceOptions, default
from ifmixup.components import METHODS, Component, resolve
from ifmixup.data import GraphDataset
from ifmixup.errors import InputError
from ifmixup.report import draw_mixed_pair
from ifmixup.report.draw.change import draw_change
from ifmixup.report.draw.colours import feature_names
from ifmixup.report.draw.pair import take_pair
from ifmixup.report.draw.provenance import Provenance, trace
from ifmixup.report.save import check_output, save_figure
from ifmixup.training.packed import pack


def show(
    source: Source,
    a: Annotated[int, tyro.conf.Positional],
    b: Annotated[int | None, tyro.conf.Positional, NO_DEFAULT] = None,
    *,
    method: str = "ifmixup",
    lam: Annotated[float | None, default("0.75 for ifmixup, else random")] = None,
    seed: int = 0,
    output: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("mix.png"),
    root: Annotated[Path | None, NO_DEFAULT] = None,
    options: SourceGroup = SourceOptions(),  # noqa: B008
) -> int:
    """Draw one or two graphs of a SOURCE and the graph that a method makes of them.

    For ifmixup, the pair is padded with dummy nodes. For other methods, one random draw is shown.

    Colours show which graph a node or an edge comes from.

    Args:
        source: The graphs.
        a: Index of the first graph, starting at 0.
        b: Index of its partner; not needed for a method that changes single graphs.
        method: A name (ifmixup, submix, ...), a variant ('submix(subgraph_ratio=1)') or your own
            class (noise.py:Noise).
        lam: Ratio λ in [0, 1], the weight of the first graph.
        seed: Seed of the draw.
        output: PNG, SVG or PDF file to write.
        root: Folder to look for named datasets in.
        options: How the SOURCE is read.
    """
    check_output(output)
    chosen = resolve("method", method)
    graphs = options.load(source, root)
    if options.features is None and graphs.rows.smiles:  # an atom is drawn as its element
        graphs = replace(options, features="element").load(source, root)
    for index in (a, b):
        if index is not None and not 0 <= index < len(graphs):
            raise InputError(
                f"{graphs.name} has {len(graphs)} graphs, 0 to {len(graphs) - 1}; got {index}."
            )
    pair = [graphs[index] for index in (a, b) if index is not None]
    names = _names(graphs, pair)
    if chosen.cls is IfMixup:
        if b is None:
            raise InputError("ifMixup mixes two graphs: give the index of a second one.")
        ratio = 0.75 if lam is None else lam
        title = f"{graphs.name}: graph {a} (A) and graph {b} (B)"
        first, second = pair
        figure = draw_mixed_pair(first, second, ratio, title=title, features=names)
        told = f"Mixed {graphs.name} {a} and {b} with λ = {ratio:g}: "
        told += f"{take_pair(first, second, ratio)}."
    else:
        title, found = _traced(chosen, graphs, a, b, lam, seed)
        figure = draw_change(
            found,
            (pair[0].x, pair[-1].x),
            title=title,
            result=METHODS.title(chosen.spec),
            features=names,
        )
        told = f"{title}: {found}."
    save_figure(figure, output)
    console = PlainConsole()
    console.print(told)
    console.print(f"Saved as {output}")
    return 0


def _traced(
    chosen: Component, graphs: GraphDataset, a: int, b: int | None, lam: float | None, seed: int
) -> tuple[str, Provenance]:
    """What a method makes of graphs, and the title of its picture."""
    data = pack(graphs)
    generator = torch.Generator().manual_seed(seed)
    method = chosen.build(num_classes=data.num_classes, generator=generator)
    found = trace(method, data.graphs, a, b, lam=lam)
    name = METHODS.title(chosen.spec)
    sources = f"{a} (A) and {b} (B)" if found.two_sources else f"{a} (A)"
    fitted = f", fitted to {found.fitted_to} graphs" if found.fitted_to else ""
    return f"{name} of {graphs.name} {sources}{fitted}", found


def _names(graphs: GraphDataset, pair: Sequence[Data]) -> str | Sequence[str]:
    """The names of the kinds of nodes: those of the source, if each node has one kind."""
    columns = () if graphs.encoder is None else graphs.encoder.nodes
    kinds = columns[0].kinds if len(columns) == 1 else None
    if kinds and all(isinstance(kind, str) for kind in kinds):
        return [str(kind) for kind in kinds]
    return feature_names(graphs.name, *pair)
