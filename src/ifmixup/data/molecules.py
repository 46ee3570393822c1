"""Molecules in a table: a column of SMILES, one or more columns of labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from torch_geometric.data import Data

from ifmixup.data.raw import RawGraphs
from ifmixup.data.skipped import Skips
from ifmixup.data.smiles import EDGE_NAMES, NODE_NAMES, BadSmilesError, smiles_reader
from ifmixup.data.table import Row, Table
from ifmixup.data.targets import read_targets
from ifmixup.errors import DatasetError

# molecules.csv, molecules.csv:smiles, molecules.csv:smiles:label; the first colon after the
# ending counts, so that a Windows drive is part of the path.
_SOURCE = re.compile(r"(.*?\.(?:csv|csv\.gz|parquet))(?::([^:]*))?(?::(.*))?", re.I | re.S)

_SMILES = ("smiles",)
_LABELS = ("label", "labels", "y", "target", "class")


def table_source(source: str) -> tuple[str, str | None, str | None] | None:
    """The path, the SMILES column and the label columns of a source; None if it is no table."""
    match = _SOURCE.fullmatch(source)
    return None if match is None else (match[1], match[2] or None, match[3] or None)


def read_molecules(
    path: Path,
    *,
    smiles: str | None = None,
    label: str | None = None,
    identifier: str | None = None,
    task: str | None = None,
    strict: bool = False,
    labelled: bool = True,
) -> RawGraphs:
    """The molecules of a table.

    Args:
        path: A ``.csv``, ``.csv.gz`` or ``.parquet`` file.
        smiles: The column of the SMILES; by default the one that is called so.
        label: The column of the labels, or several separated by commas; by default the one that is
            called label, labels, y, target or class.
        identifier: The column of the identifiers; by default rows are counted from 0.
        task: classes, labels or values; by default as the labels look.
        strict: Whether the first line that cannot be used is an error.
        labelled: Whether there are labels to be read.

    Raises:
        DatasetError: If the file cannot be read, or has no such columns.
    """
    table = Table(path)
    smiles_at = smiles_place(table, smiles)
    labels_at = _label_places(table, label) if labelled else []
    places = [smiles_at, *labels_at]
    if identifier is not None:
        places.append(table.place(identifier))

    skips = Skips(str(path), strict)
    graphs: list[Data] = []
    cells, ids, lines, texts = [], [], [], []
    with smiles_reader() as read:
        for count, row in enumerate(table.rows(places)):
            named = identifier is not None and row.problem is None
            name = row.cells[-1].strip() if named else str(count)
            graph = read_molecule(row, read, skips, name)
            if graph is None:
                continue
            graphs.append(graph)
            texts.append(row.cells[0])
            lines.append(row.line)
            cells.append(row.cells[1 : 1 + len(labels_at)])
            ids.append(name)
    if not graphs:
        first = f", the first: {skips.lines[0]}" if skips.lines else ""
        raise DatasetError(
            f"{path} has no molecule that can be used; {len(skips.lines)} were skipped{first}."
        )
    targets = None
    if labelled:
        names = [table.columns[place] for place in labels_at]
        try:
            targets = read_targets(cells, names, task, lines)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error
    return RawGraphs(
        name=table_name(path, label if labelled else None),
        where=str(path),
        graphs=graphs,
        skips=skips,
        targets=targets,
        ids=ids,
        lines=lines,
        texts=texts,
        node_names=NODE_NAMES,
        edge_names=EDGE_NAMES,
    )


def table_name(path: Path, label: str | None = None) -> str:
    """The name of a table: its file without the ending, and the column that is learnt if named.

    Two columns of one table are two datasets, whose studies must not share a folder.
    """
    match = re.fullmatch(r"(.+?)\.(?:csv|csv\.gz|parquet)", path.name, re.I)
    stem = path.name if match is None else match[1]
    return stem if label is None else f"{stem}-{label}"


def smiles_place(table: Table, smiles: str | None) -> int:
    """The place of the column of the SMILES: the one that is named, or the one called so."""
    return table.place(smiles) if smiles else _usual(table, _SMILES, "SMILES", "smiles")


def read_molecule(
    row: Row, read: Callable[[str], Data], skips: Skips, name: str | None = None
) -> Data | None:
    """The graph of a row, which is called ``name``, or None if it was skipped."""
    if row.problem is not None:
        skips.add(row.line, row.cells[0], row.problem, name)
        return None
    try:
        return read(row.cells[0])
    except BadSmilesError as error:
        skips.add(row.line, row.cells[0], str(error), name)
        return None


def _label_places(table: Table, label: str | None) -> list[int]:
    if label is None:
        return [_usual(table, _LABELS, "labels", "label")]
    if label in table.columns:  # a name may have a comma in it
        return [table.place(label)]
    return [table.place(name.strip()) for name in label.split(",")]


def _usual(table: Table, names: Sequence[str], what: str, option: str) -> int:
    """The place of the column that has one of some usual names, best as it is, else in any case."""
    for columns in (table.columns, [column.lower() for column in table.columns]):
        for name in names:
            if columns.count(name) == 1:
                return columns.index(name)
    raise DatasetError(
        f"{table.path} has no column called {' or '.join(names)}. Say which column holds the "
        f"{what}: {table.path.name}:SMILES:LABEL or {option}= (--{option}). Its columns: "
        f"{table.shown_columns}."
    )
