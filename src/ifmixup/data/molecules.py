"""Molecules in a table: a column of SMILES, one or more columns of labels.

Atoms are nodes, bonds are edges in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from ifmixup.data.dataset import NoGraphError, Rows, Skips
from ifmixup.data.raw import LoadOptions, RawGraphs
from ifmixup.data.table import Row, Table
from ifmixup.data.targets import read_targets
from ifmixup.errors import DatasetError, import_extra

MAX_SMILES = 10_000  # characters

# molecules.csv, molecules.csv:smiles, molecules.csv:smiles:label; the first colon after the
# ending counts, because a Windows drive is part of the path.
_SOURCE = re.compile(r"(.*?\.(?:csv|csv\.gz|parquet))(?::([^:]*))?(?::(.*))?", re.I | re.S)

_SMILES = ("smiles",)
_LABELS = ("label", "labels", "y", "target", "class")


def table_source(source: str) -> tuple[str, str | None, str | None] | None:
    """The path, the SMILES column and the label columns of a source; None if it is not a table."""
    match = _SOURCE.fullmatch(source)
    return None if match is None else (match[1], match[2] or None, match[3] or None)


def read_molecules(path: Path, smiles: str | None, options: LoadOptions) -> RawGraphs:
    """The molecules of a table, with their SMILES in the column ``smiles``.

    By default that is the column called ``smiles``, and the labels are in the one called label,
    labels, y, target or class.
    """
    table, label = Table(path), options.label if options.labelled else None
    label_columns: list[int] = []
    if label is not None:
        label_columns = table.indices(label)
    elif options.labelled:
        label_columns = [_usual(table, _LABELS, "labels", "label")]

    more = [*label_columns, *map(table.index, options.columns)]
    skips = Skips(str(path), options.strict)
    rows, ids, graphs, numbers = [], [], [], []
    for number, (row, name, found) in enumerate(
        molecules_in(table, smiles, options.identifier, more)
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
            raise DatasetError(f"{path}: {error}") from error
    return RawGraphs(
        name=table_name(path, label),
        graphs=graphs,
        skips=skips,
        targets=targets,
        ids=ids,
        lines=lines,
        texts=[row.cells[0] for row in rows],
        node_names=["element"],
        edge_names=["bond"],
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
    table: Table, smiles: str | None, identifier: str | None, more: Sequence[int] = ()
) -> Iterator[tuple[Row, str, Data | str]]:
    """Each row with its SMILES and the columns ``more``, its identifier, and its graph.

    A text in place of a graph says why there is none.
    """
    columns = [table.index(smiles) if smiles else _usual(table, _SMILES, "SMILES", "smiles"), *more]
    if identifier is not None:
        columns.append(table.index(identifier))
    with smiles_reader() as read:
        for count, row in enumerate(table.rows(columns)):
            if row.problem is not None:
                yield row, str(count), row.problem
                continue
            found: Data | str
            try:
                found = read(row.cells[0])
            except NoGraphError as error:
                found = str(error)
            yield row, str(count) if identifier is None else row.cells[-1].strip(), found


def table_name(path: Path, label: str | None = None) -> str:
    """The name of a table: its file without the ending, and the label column if named.

    Two columns of one table are two datasets, whose studies must not share a folder.
    """
    stem = re.sub(r"(?<=.)\.(csv|csv\.gz|parquet)\Z", "", path.name, flags=re.I)
    return stem if label is None else f"{stem}-{label}"


@contextmanager
def smiles_reader() -> Iterator[Callable[[str], Data]]:
    """A function from SMILES to graphs; RDKit's messages to stderr are silent meanwhile.

    A node has the symbol of its element and nothing else: with one category per node the features
    are linearly independent and mixing is lossless. An edge has the type of its bond. Hydrogens
    are nodes only where the SMILES writes them as atoms.
    """
    chem = import_extra("rdkit.Chem", "chem")
    base = import_extra("rdkit.rdBase", "chem")
    with base.BlockLogs():
        yield lambda smiles: _graph(chem, smiles)


def _graph(chem: Any, smiles: str) -> Data:
    if len(smiles) > MAX_SMILES:
        raise NoGraphError(f"longer than the {MAX_SMILES} characters allowed")
    if not smiles.strip():
        raise NoGraphError("no SMILES")
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise NoGraphError(_problem(chem, smiles))
    # By number: RDKit's own iterators are Python code, and slower.
    atoms = [(molecule.GetAtomWithIdx(i).GetSymbol(),) for i in range(molecule.GetNumAtoms())]
    if not atoms:
        raise NoGraphError("a molecule without atoms")
    ends, kinds = [], []
    for i in range(molecule.GetNumBonds()):
        bond = molecule.GetBondWithIdx(i)
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += [(one, other), (other, one)]
        kinds += [(bond.GetBondType().name.lower(),)] * 2
    return Data(
        edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).t().contiguous(),
        num_nodes=len(atoms),
        node_kinds=atoms,
        edge_kinds=kinds,
    )


def _problem(chem: Any, smiles: str) -> str:
    """Why RDKit refuses a SMILES."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return "not SMILES"
    problems = chem.DetectChemistryProblems(molecule)
    return problems[0].Message().strip() if problems else "RDKit cannot make a molecule of it"


def _usual(table: Table, names: Sequence[str], what: str, option: str) -> int:
    """The index of the column with one of some usual names, first in this case, then in any."""
    for columns in (table.columns, [column.lower() for column in table.columns]):
        for name in names:
            if columns.count(name) == 1:
                return columns.index(name)
    raise DatasetError(
        f"{table.path} has no column called {' or '.join(names)}. Name the column of the "
        f"{what}: {table.path.name}:SMILES:LABEL or {option}= (--{option}). Its columns: "
        f"{table.shown_columns}."
    )
