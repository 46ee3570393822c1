"""Graphs to predict, a part at a time: a table of any length fits into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from torch_geometric.data import Data

from ifmixup.data.dataset import GraphDataset
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.find import PathLike
from ifmixup.data.load import load
from ifmixup.data.molecules import read_molecule, smiles_place, table_source
from ifmixup.data.skipped import Skips
from ifmixup.data.smiles import smiles_reader
from ifmixup.data.table import Table
from ifmixup.errors import InputError


@dataclass
class Part:
    """Some rows of a source, in its order.

    Attributes:
        ids: An identifier for each row.
        problems: Why a row has no graph; None where it has one.
        graphs: The graphs of the rows that have one.
        encoder: How their features were made; None where that is yet to be done.
    """

    ids: list[str]
    problems: list[str | None]
    graphs: list[Data]
    encoder: FeatureEncoder | None = None

    def __len__(self) -> int:
        return len(self.ids)


def read_in_parts(
    source: str,
    size: int,
    root: PathLike | None = None,
    *,
    smiles: str | None = None,
    identifier: str | None = None,
    strict: bool = False,
    encoder: FeatureEncoder | None = None,
) -> Iterator[Part]:
    """Read a source without its labels, part by part.

    A table of molecules (CSV, CSV.gz, Parquet) is read as it is asked for, so that only a part of
    it is in memory; its graphs are not encoded yet. Any other source is loaded as a whole, encoded,
    and then cut.

    Args:
        source: What :func:`ifmixup.data.load` takes.
        size: How many rows a part has.
        root: Where datasets with names lie.
        smiles: The column of the SMILES.
        identifier: The column of the identifiers; rows are counted from 0 without one.
        strict: Whether the first row that cannot be used is an error.
        encoder: How to make the features, as a model knows them.
    """
    if size < 1:
        raise InputError(f"A part has at least 1 row; got {size}.")
    table = table_source(source)
    used = None
    if table is not None:
        rows = _table_rows(Path(table[0]).expanduser(), smiles or table[1], identifier, strict)
    else:
        known = {"identifier": identifier, "strict": strict, "encoder": encoder}
        dataset = load(source, root, labelled=False, **known)  # type: ignore[arg-type]
        rows, used = _in_order(dataset), dataset.encoder
    while several := list(islice(rows, size)):
        ids, graphs, problems = zip(*several, strict=True)
        there = [graph for graph in graphs if graph is not None]
        yield Part(list(ids), list(problems), there, used)


_Row = tuple[str, Data | None, str | None]  # identifier, graph, problem


def _table_rows(
    path: Path, smiles: str | None, identifier: str | None, strict: bool
) -> Iterator[_Row]:
    table = Table(path)
    places = [smiles_place(table, smiles)]
    if identifier is not None:
        places.append(table.place(identifier))
    with smiles_reader() as read:
        for count, row in enumerate(table.rows(places)):
            skips = Skips(str(path), strict)
            graph = read_molecule(row, read, skips)
            named = identifier is not None and row.problem is None
            name = row.cells[-1].strip() if named else str(count)
            yield name, graph, None if graph is not None else skips.lines[0].reason


def _in_order(dataset: GraphDataset) -> Iterator[_Row]:
    """The graphs, and between them what was skipped, where it stood: line n is the n-th row."""
    kept = zip(dataset.ids, dataset, strict=True)
    done = 0
    for one in sorted(dataset.skipped, key=lambda skipped: skipped.line):
        for name, graph in islice(kept, max(0, one.line - 1 - done)):
            yield name, graph, None
        yield one.text if one.identifier is None else one.identifier, None, one.reason
        done = one.line
    for name, graph in kept:
        yield name, graph, None
