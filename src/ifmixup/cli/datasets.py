"""``ifmixup datasets``: the statistics table of the datasets that are here."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from ifmixup.data import NAMES, load, statistics
from ifmixup.data.find import VARIABLE, find
from ifmixup.errors import DatasetError

_CAPTION = (
    "Nodes and edges are means over the graphs; an edge counts once in each direction. The paper's "
    "table counts so too, except for IMDB, where it has half as many edges and no features, and it "
    "has 334 graphs for the 344 of PTC_MR. Independent: whether the distinct node features are "
    "linearly independent, so that mixed graphs can be taken apart."
)


def datasets(root: Path | None = None) -> int:
    """Print the statistics of the paper's datasets that are available; nothing is downloaded.

    Args:
        root: A folder of TU zips, or a PyG root, to look in first.
    """
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
            row = statistics(load(name, root))
        except DatasetError as error:
            broken.append(str(error))
            continue
        table.add_row(
            row.name,
            str(row.graphs),
            f"{row.mean_nodes:.1f}",
            f"{row.mean_edges:.1f}",
            str(row.features),
            str(row.classes),
            "yes" if row.independent_features else "no",
        )

    console = Console(highlight=False, markup=False)
    console.print(table)
    for message in broken:
        console.print(f"Broken: {message}", soft_wrap=True)
    for name in missing:
        console.print(f"Not found: {name}. Put {name}.zip into --root or ${VARIABLE}.")
    if missing:
        console.print("Or be online: ifmixup.data.load(name) downloads what it does not find.")
    return 1 if broken else 0
