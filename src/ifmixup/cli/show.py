"""``ifmixup show``: a picture of two graphs and their mix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.report import draw_mixed_pair
from ifmixup.report.feature_names import feature_names
from ifmixup.report.pair import take_pair
from ifmixup.report.save_figure import check_output, save_figure


def show(
    dataset: Annotated[str, tyro.conf.Positional],
    a: Annotated[int, tyro.conf.Positional],
    b: Annotated[int, tyro.conf.Positional],
    *,
    lam: float = 0.75,
    output: Annotated[Path, tyro.conf.arg(aliases=("-o",))] = Path("mix.png"),
    root: Path | None = None,
) -> int:
    """Draw two graphs of a dataset, the pair padded with dummy nodes, and the mixed graph.

    Args:
        dataset: A dataset's name, such as MUTAG.
        a: The number of the first graph, counted from 0.
        b: The number of its partner.
        lam: The ratio λ in [0, 1]: the weight of the first graph.
        output: Where the picture goes: a png, svg or pdf file.
        root: Where the dataset lies.
    """
    check_output(output)
    graphs = load(dataset, root)
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
        features=feature_names(graphs.name, *pair),
    )
    save_figure(figure, output)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"Mixed {graphs.name} {a} and {b} with λ = {lam:g}: {take_pair(*pair, lam)}.")
    console.print(f"Saved as {output}")
    return 0
