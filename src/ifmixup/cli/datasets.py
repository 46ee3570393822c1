"""``ifmixup datasets``: the statistics of a source, or of the paper's datasets that are found."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Annotated

import tyro

from ifmixup.cli.console import PlainConsole
from ifmixup.cli.options import NO_DEFAULT, SourceGroup, SourceOptions
from ifmixup.errors import DatasetError

_CAPTION = (
    "Nodes and edges are means over the graphs; an edge counts once in each direction. "
    "Independent: whether the distinct node features are linearly independent; then both graphs "
    "of a mixed graph can be recovered. Beside the paper's numbers: ifmixup reproduce statistics."
)


def datasets(
    source: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[SOURCE]"), NO_DEFAULT
    ] = None,
    *,
    root: Annotated[Path | None, NO_DEFAULT] = None,
    options: SourceGroup = SourceOptions(),  # noqa: B008
) -> int:
    """Describe a SOURCE, or list the paper's datasets that are on this machine.

    Without a SOURCE, nothing is downloaded.

    Args:
        source: A name (MUTAG, ogb:ogbg-molhiv), molecules.csv:smiles:label (or .csv.gz, .parquet),
            a folder of TU, GraphML or JSON files, or a .pt file of PyG graphs.
        root: Folder with TU zips, or a PyG root, to look in first.
        options: How the SOURCE is read.
    """
    if source is None:
        return _list_all(root)
    from ifmixup.data.statistics import describe

    graphs = options.load(source, root)
    console = PlainConsole()
    console.print(graphs.name)
    for word, text in describe(graphs):
        console.print(f"  {word:15}{text}")
    return 0


def _list_all(root: Path | None) -> int:
    from rich.table import Table

    from ifmixup.data import NAMES, load, statistics
    from ifmixup.data.catalog import VARIABLE, find

    table = Table(title="Datasets", caption=_CAPTION, caption_justify="left")
    table.add_column("name", no_wrap=True)
    for column in ("graphs", "nodes", "edges", "features", "classes", "independent"):
        table.add_column(column, justify="right")

    broken, missing = [], []
    for name in NAMES:
        if find(name, root) is None:
            missing.append(name)
            continue
        try:
            _, *numbers, independent = astuple(statistics(load(name, root)))
        except DatasetError as error:
            broken.append(str(error))
            continue
        shown = [f"{n:.1f}" if isinstance(n, float) else str(n) for n in numbers]
        table.add_row(name, *shown, "yes" if independent else "no")

    console = PlainConsole()
    console.print(table)
    for message in broken:
        console.print(f"Broken: {message}")
    for name in missing:
        console.print(f"Not found: {name}. Put {name}.zip into --root or ${VARIABLE}.")
    if missing:
        console.print("With a network, ifmixup.data.load(name) downloads what it does not find.")
    return 1 if broken else 0
