"""Molecules in a table: a column of SMILES, one or more columns of labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from ifmixup.data.dataset import Rows, Skips
from ifmixup.data.frames import Frame
from ifmixup.data.parallel_smiles import parse_all
from ifmixup.data.raw import LoadOptions, RawGraphs
from ifmixup.data.smiles import check_features, column_names
from ifmixup.data.table import Row, Table
from ifmixup.data.targets import read_targets
from ifmixup.errors import DatasetError, InputError
from ifmixup.values import listed

# molecules.csv, molecules.csv:smiles, molecules.csv:smiles:label; the first colon after the
# ending counts, because a Windows drive is part of the path.
_SOURCE = re.compile(r"(.*?\.(?:csv|csv\.gz|parquet))(?::([^:]*))?(?::(.*))?", re.I | re.S)

_SMILES = ("smiles",)
_LABELS = ("label", "labels", "y", "target", "class")


def table_source(source: str) -> tuple[str, str | None, str | None] | None:
    """The path, the SMILES column and the label columns of a source; None if it is not a table."""
    match = _SOURCE.fullmatch(source)
    return None if match is None else (match[1], match[2] or None, match[3] or None)


def read_molecules(
    table: Table, smiles: str | None, options: LoadOptions, features: str | None = None
) -> RawGraphs:
    """The molecules of a table, with their SMILES in the column ``smiles``.

    By default that is the column called ``smiles``, and the labels are in the one called label,
    labels, y, target or class. What is read of atoms and bonds is in
    :func:`~ifmixup.data.smiles.smiles_reader`.
    """
    label = options.label if options.labelled else None
    features = check_features(features, options.encoder)
    label_columns: list[int] = []
    if label is not None:
        label_columns = table.indices(label)
    elif options.labelled:
        label_columns = [_usual(table, _LABELS, "labels", "label")]

    more = [*label_columns, *map(table.index, options.columns)]
    skips = Skips(str(table.path), options.strict)
    rows, ids, graphs, numbers = [], [], [], []
    for number, (row, name, found) in enumerate(
        molecules_in(table, smiles, options.identifier, more, features=features)
    ):
        if isinstance(found, str):
            skips.add(row.line, row.cells[0], found, name)
            continue
        rows.append(row)
        ids.append(name)
        graphs.append(found)
        numbers.append(number)
    if not graphs:
        raise skips.nothing_left("molecule")
    lines = [row.line for row in rows]
    targets = None
    if options.labelled:
        names = [table.columns[column] for column in label_columns]
        cells = [row.cells[1 : 1 + len(names)] for row in rows]
        try:
            targets = read_targets(cells, names, options.task, lines)
        except DatasetError as error:
            raise DatasetError(f"{table.path}: {error}") from error
    node_names, edge_names = column_names(features)
    if isinstance(table, Frame):
        called = table.name([smiles_column(table, smiles), *label_columns])
    else:
        called = table_name(table.path, label)
    return RawGraphs(
        name=called,
        graphs=graphs,
        skips=skips,
        targets=targets,
        ids=ids,
        lines=lines,
        texts=[row.cells[0] for row in rows],
        node_names=node_names,
        edge_names=edge_names,
        rows=Rows(
            numbers,
            [row.cells[0] for row in rows],
            {
                column: [row.cells[at] for row in rows]
                for at, column in enumerate(options.columns, 1 + len(label_columns))
            },
            total=len(numbers) + len(skips.lines),
        ),
    )


def molecules_in(
    table: Table,
    smiles: str | None,
    identifier: str | None,
    more: Sequence[int] = (),
    *,
    features: str = "standard",
) -> Iterator[tuple[Row, str, Data | str]]:
    """Each row with its SMILES and the columns ``more``, its identifier, and its graph.

    A text in place of a graph says why there is none.
    """
    columns = [smiles_column(table, smiles), *more]
    if identifier is not None:
        columns.append(table.index(identifier))
    ahead, rows = tee(table.rows(columns))
    graphs = parse_all((row.cells[0] for row in ahead if row.problem is None), features)
    for count, row in enumerate(rows):
        if row.problem is not None:
            yield row, str(count), row.problem
        else:
            name = str(count) if identifier is None else row.cells[-1].strip()
            yield row, name, next(graphs)


def graphs_of(source: Any, features: str = "standard") -> list[Data]:
    """The graphs of a DataFrame or of a list of SMILES, one for each row, not encoded yet.

    Raises:
        InputError: If a row is not a molecule: rows must line up with labels and predictions.
    """
    found, wrong = [], []
    for row, name, graph in molecules_in(Frame(source), None, None, features=features):
        if isinstance(graph, str):
            wrong.append(f"row {name}: {row.cells[0][:60]!r}: {graph}")
        else:
            found.append(graph)
    if wrong:
        raise InputError(
            f"{len(wrong)} of {len(wrong) + len(found)} rows cannot be read as molecules: "
            f"{listed(wrong, 3)}. Leave them out."
        )
    return found


def rows_of(source: Any, columns: Sequence[str] = ()) -> Rows:
    """The SMILES of a DataFrame or of a list of SMILES, and some of its other columns."""
    table = Frame(source)
    cells = [
        row.cells for row in table.rows([smiles_column(table, None), *map(table.index, columns)])
    ]
    kept = {column: [row[at] for row in cells] for at, column in enumerate(columns, 1)}
    return Rows(range(len(cells)), [row[0] for row in cells], kept)


def smiles_column(table: Table, smiles: str | None) -> int:
    """The index of the column of SMILES: the one called ``smiles``, by default the usual one."""
    return table.index(smiles) if smiles else _usual(table, _SMILES, "SMILES", "smiles")


def table_name(path: Path, label: str | None = None) -> str:
    """The name of a table: its file without the ending, and the label column if named.

    Two columns of one table are two datasets, whose studies must not share a folder.
    """
    stem = re.sub(r"(?<=.)\.(csv|csv\.gz|parquet)\Z", "", path.name, flags=re.I)
    return stem if label is None else f"{stem}-{label}"


def _usual(table: Table, names: Sequence[str], what: str, option: str) -> int:
    """The index of the column with one of some usual names, first in this case, then in any."""
    for columns in (table.columns, [column.lower() for column in table.columns]):
        for name in names:
            if columns.count(name) == 1:
                return columns.index(name)
    how = f"{option}=" if isinstance(table, Frame) else f"{table.path.name}:SMILES:LABEL or "
    how = how if isinstance(table, Frame) else f"{how}{option}= (--{option})"
    raise DatasetError(
        f"{table.path} has no column called {' or '.join(names)}. Name the column of the "
        f"{what}: {how}. Its columns: {table.shown_columns}."
    )
