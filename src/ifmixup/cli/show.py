"""``ifmixup show``: a picture of two graphs and their mix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from torch_geometric.data import Data

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import GROUP, NO_DEFAULT, Source, SourceOptions
from ifmixup.data import GraphDataset
from ifmixup.errors import InputError
from ifmixup.report import draw_mixed_pair
from ifmixup.report.draw.colours import feature_names
from ifmixup.report.draw.pair import take_pair
from ifmixup.report.save import check_output, save_figure


def show(
    source: Source,
    a: Annotated[int, tyro.conf.Positional],
    b: Annotated[int, tyro.conf.Positional],
    *,
    lam: float = 0.75,
    output: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("mix.png"),
    root: Annotated[Path | None, NO_DEFAULT] = None,
    options: Annotated[SourceOptions, GROUP] = SourceOptions(),  # noqa: B008
) -> int:
    """Draw two graphs of a SOURCE, the pair padded with dummy nodes, and the mixed graph.

    Args:
        source: The graphs.
        a: The index of the first graph, starting at 0.
        b: The index of its partner.
        lam: The ratio λ in [0, 1]: the weight of the first graph.
        output: The picture to write: a png, svg or pdf file.
        root: Where datasets with names are.
        options: How the SOURCE is read.
    """
    check_output(output)
    graphs = options.load(source, root)
    for index in (a, b):
        if not 0 <= index < len(graphs):
            raise InputError(
                f"{graphs.name} has {len(graphs)} graphs, 0 to {len(graphs) - 1}; got {index}."
            )
    pair = graphs[a], graphs[b]
    figure = draw_mixed_pair(
        *pair,
        lam,
        title=f"{graphs.name}: graph {a} (A) and graph {b} (B)",
        features=_names(graphs, pair),
    )
    save_figure(figure, output)
    console = PlainConsole()
    console.print(f"Mixed {graphs.name} {a} and {b} with λ = {lam:g}: {take_pair(*pair, lam)}.")
    console.print(f"Saved as {output}")
    return 0


def _names(graphs: GraphDataset, pair: tuple[Data, Data]) -> str | Sequence[str]:
    """The names of the kinds of nodes: those of the source, if each node has one kind."""
    columns = () if graphs.encoder is None else graphs.encoder.nodes
    kinds = columns[0].kinds if len(columns) == 1 else None
    if kinds and all(isinstance(kind, str) for kind in kinds):
        return [str(kind) for kind in kinds]
    return feature_names(graphs.name, *pair)
