"""Loading graphs from any source, as a whole or in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from torch_geometric.data import Data, Dataset

from ifmixup.data.catalog import NAMES, PathLike, canonical, check_name, download, find, is_name
from ifmixup.data.dataset import GraphDataset, Skips, check_metric, check_task
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.frames import Frame, is_frame, is_smiles
from ifmixup.data.graph_files import graph_files, read_graph_files
from ifmixup.data.molecules import molecules_in, read_molecules, table_source
from ifmixup.data.networkx import from_networkx, is_networkx
from ifmixup.data.ogb import PREFIX, read_ogb
from ifmixup.data.pyg import from_pyg
from ifmixup.data.raw import LoadOptions, assemble
from ifmixup.data.saved_graphs import read_saved
from ifmixup.data.smiles import check_features
from ifmixup.data.table import Table
from ifmixup.data.table_cache import remembered
from ifmixup.data.tu import read_tu, tu_in
from ifmixup.errors import DatasetError, InputError, InputTypeError

# Its identifier, its graph or why there is none, and its cells by column.
_Row = tuple[str, Data | str, dict[str, str]]


@dataclass
class Part:
    """Some rows of a source, in its order.

    Attributes:
        ids: An identifier for each row.
        problems: Why a row has no graph; None where it has one.
        graphs: The graphs of the rows that have one.
        encoder: The encoder of their features; None where they are not encoded yet.
        cells: What a table has in each row, by column; empty for other sources.
    """

    ids: list[str]
    problems: list[str | None]
    graphs: list[Data]
    encoder: FeatureEncoder | None = None
    cells: list[dict[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


def load(
    source: Any,
    root: PathLike | None = None,
    *,
    smiles: str | None = None,
    label: Any = None,
    identifier: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    strict: bool = False,
    encoder: FeatureEncoder | None = None,
    labelled: bool = True,
    features: str | None = None,
    columns: str | Sequence[str] = (),
) -> GraphDataset:
    """Load graphs from a source; its kind is detected.

    ========================================  ====================================================
    source                                    what it is
    ========================================  ====================================================
    ``MUTAG``                                 a name of the TU collection; MUTAG comes with ifmixup
    ``molecules.csv:smiles:label``            molecules in a ``.csv``, ``.csv.gz`` or ``.parquet``
    ``folder/`` or ``dataset.zip``            a dataset in TU format (``NAME_A.txt``, ...)
    ``folder/``                               one GraphML or node-link JSON file per graph
    ``graphs.pt``                             a list of PyG ``Data`` that ``torch.save`` wrote
    ``ogb:ogbg-molhiv``                       a graph-property dataset of OGB that is on the disk
    a PyG dataset, a list of ``Data``         see :func:`from_pyg`
    a :class:`GraphDataset`                   itself, with another metric or without its labels
    a list of NetworkX graphs                 see :func:`from_networkx`
    a DataFrame                               molecules, as in a table
    a list or a Series of SMILES              molecules; ``label=`` are their labels
    ========================================  ====================================================

    A name is looked for in ``root``, in the folder that the environment variable ``IFMIXUP_DATA``
    names and in the cache folder, as ``NAME.zip`` or as the unpacked text files of a PyG root
    (``NAME/raw/NAME_A.txt``); only then is it downloaded. Its ``x``, ``edge_index``, ``y`` and,
    where there are edge labels, ``edge_attr`` equal those of PyG's ``TUDataset``.

    Categories become one-hot features, described by ``dataset.encoder``. Graphs without node
    attributes get one-hot degrees. Lines that cannot be used are skipped and listed in
    ``dataset.skipped``. Molecules of a table are kept in the
    user's cache, and read again where the file or the options changed (see
    :mod:`ifmixup.data.table_cache`); other files are read each time.

    Args:
        source: See above. Names are not case-sensitive; ``IMDB-B`` and ``IMDB-M`` work too.
        root: Folder in which to look for names first, and to download to.
        smiles: Column of a table with the SMILES.
        label: Column of a table with the labels, or several separated by commas; for graphs, the
            attribute; for a list of SMILES, the labels themselves, one (or one row) per molecule.
        identifier: Column, or attribute of graphs, that identifies a graph.
        task: ``"classes"``, ``"labels"`` or ``"values"``; by default it follows from the labels.
        metric: Metric of the predictions; by default that of the task.
        strict: Whether to stop at the first line that cannot be read instead of skipping it.
        encoder: The encoder of the training graphs, for prediction.
        labelled: Whether there are labels; if not, graphs have no ``y``.
        features: Features of molecules: ``"standard"`` (the default; see
            :func:`~ifmixup.data.smiles.smiles_reader`) or ``"element"``, with which mixing is
            lossless. With an ``encoder`` it is what the encoder was learned on.
        columns: Other columns of a table, or attributes of graphs, to keep in
            ``dataset.rows.columns``, such as the one that says which part a molecule is in.

    Raises:
        DatasetError: If the dataset cannot be found, or its files are broken.

    Example:
        >>> load("MUTAG")
        MUTAG(188)
    """
    in_memory = is_frame(source) or is_smiles(source)
    table = None if not isinstance(source, str | os.PathLike) else table_source(os.fspath(source))
    if features is not None:
        check_features(features)
        if not in_memory and table is None:
            raise InputError(
                f"features={features!r} is for molecules in a table or as SMILES; other graphs "
                f"have their own features."
            )
    own = label if label is None or isinstance(label, str) else "label"
    kept = (columns,) if isinstance(columns, str) else tuple(columns)
    options = LoadOptions(own, identifier, task, metric, strict, encoder, labelled, kept)
    if in_memory:
        return _from_memory(source, label, smiles, options, features)
    if own is not label:
        raise InputTypeError("label takes the name of a column or attribute, not labels.")
    if not isinstance(source, str | os.PathLike):
        return _from_python(source, options)
    text = os.fspath(source)
    if not text:
        raise InputError("The name of the source is empty. Give a name such as MUTAG, or a path.")
    if text.startswith(PREFIX):
        _check_no_columns(text, options)
        return assemble(read_ogb(text.removeprefix(PREFIX), root, options), options)
    if table is not None:
        options = replace(options, label=label or table[2])
        path, column = Path(table[0]).expanduser(), smiles or table[1]

        def read() -> GraphDataset:
            return assemble(read_molecules(Table(path), column, options, features), options)

        if encoder is not None:  # of a model that predicts, which reads each table once
            return read()
        return remembered(path, {**vars(options), "smiles": column, "features": features}, read)
    path = Path(text).expanduser()
    if text.lower().endswith(".pt"):
        return from_pyg(read_saved(path), name=path.stem, **vars(options))
    if _is_path(source, path, root):
        found = _tu_at(path)
        if found is not None:
            _check_no_columns(text, options)
            return read_tu(*found, options)
        return assemble(read_graph_files(path, options), options)
    _check_no_columns(text, options)
    name = canonical(text)
    return read_tu(find(name, root) or download(name, root), name, options)


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

    A table of molecules (CSV, CSV.gz, Parquet) may have any length: only one part of it is in
    memory, and its graphs are not encoded yet. Any other source is loaded as a whole, encoded, and
    then cut.

    Args:
        size: The number of rows of a part.
        source, root, smiles, identifier, strict, encoder: As for :func:`load`.
    """
    if size < 1:
        raise InputError(f"A part has at least 1 row; got {size}.")
    table = table_source(source)
    used = None
    if table is not None:
        path, column = Path(table[0]).expanduser(), smiles or table[1]
        rows = _table_rows(path, column, identifier, strict, check_features(None, encoder))
    else:
        dataset = load(
            source, root, identifier=identifier, strict=strict, encoder=encoder, labelled=False
        )
        rows, used = _in_order(dataset), dataset.encoder
    while several := list(islice(rows, size)):
        yield Part(
            [name for name, _, _ in several],
            [found if isinstance(found, str) else None for _, found, _ in several],
            [found for _, found, _ in several if not isinstance(found, str)],
            used,
            [cells for _, _, cells in several if cells],
        )


def _from_memory(
    source: Any, label: Any, smiles: str | None, options: LoadOptions, features: str | None
) -> GraphDataset:
    """A DataFrame or a list of SMILES."""
    labels = None if isinstance(label, str) or not options.labelled else label
    if labels is None and options.labelled and is_smiles(source):
        raise InputError(
            "A list of SMILES has no labels. Give them with label=, one for each, or load it with "
            "labelled=False."
        )
    table = Frame(source, labels)
    if labels is not None:
        options = replace(options, label=",".join(table.labels))
    return assemble(read_molecules(table, smiles, options, features), options)


def _from_python(source: Any, options: LoadOptions) -> GraphDataset:
    if isinstance(source, GraphDataset) and options.encoder in (None, source.encoder):
        return _loaded(source, options)
    if not isinstance(source, Sequence | Dataset):
        raise InputTypeError(
            f"load takes a name, a path, a PyG dataset, a list of graphs, a DataFrame or a list of "
            f"SMILES, not a {type(source).__name__}."
        )
    of_networkx = [] if isinstance(source, Dataset) else [is_networkx(each) for each in source]
    if not any(of_networkx):
        return from_pyg(source, **vars(options))
    if not all(of_networkx):
        raise InputTypeError(
            f"The list mixes NetworkX graphs with others: item {of_networkx.index(False)} is a "
            f"{type(source[of_networkx.index(False)]).__name__}. Give graphs of one kind."
        )
    return from_networkx(source, **vars(options))


def _loaded(dataset: GraphDataset, options: LoadOptions) -> GraphDataset:
    """A loaded dataset with other options; the given one is not changed."""
    task = None if options.task in (None, dataset.task) else check_task(options.task)
    given = {"label": options.label, "identifier": options.identifier, "task": task}
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{dataset.name} has already been loaded, so {option}={value!r} has no effect. "
                f"Load its source with {option}=."
            )
    for column in options.columns:
        if column not in dataset.rows.columns:
            raise InputError(
                f"{dataset.name} was loaded without its column {column!r}. Load its source with "
                f"columns=[{column!r}]."
            )
    changed = copy(dataset)
    changed.metric = check_metric(options.metric or dataset.metric, dataset.task)
    if not options.labelled and "y" in dataset._data:
        changed._data, changed._data_list = copy(dataset._data), None
        del changed._data["y"]
        changed.slices = {key: value for key, value in dataset.slices.items() if key != "y"}
    elif changed.metric == dataset.metric:
        return dataset
    return changed


def _is_path(source: object, path: Path, root: PathLike | None) -> bool:
    """Whether a folder or zip is meant: a known name comes first, then a file that exists."""
    if not isinstance(source, str):
        return True
    name = canonical(source) if is_name(source) else None
    known = name is not None and (name in NAMES or find(name, root) is not None)
    return not known and path.exists()


def _tu_at(path: Path) -> tuple[Path, str] | None:
    """The TU dataset at a path; None if the path is a folder of graph files."""
    if not path.exists():
        raise DatasetError(f"There is no {path}.")
    found = tu_in(path) if path.is_dir() or path.suffix.lower() == ".zip" else None
    if found is None and not (path.is_dir() and graph_files(path)):
        raise DatasetError(
            f"{path} holds no known kind of graphs: NAME_A.txt and its companions (TU format), "
            "*.graphml, *.json, or a file that ends in .csv, .csv.gz, .parquet or .pt."
        )
    return None if found is None else (found[0], check_name(found[1]))


def _check_no_columns(source: str, options: LoadOptions) -> None:
    if options.columns:
        raise DatasetError(
            f"{source} has no column {options.columns[0]!r}. Columns are those of a table or of a "
            "labels.csv, and attributes of PyG and NetworkX graphs."
        )


def _table_rows(
    path: Path, smiles: str | None, identifier: str | None, strict: bool, features: str
) -> Iterator[_Row]:
    table = Table(path)
    columns = table.columns
    every = range(len(columns))
    for row, name, found in molecules_in(table, smiles, identifier, every, features=features):
        if isinstance(found, str):
            Skips(str(path), strict).add(row.line, row.cells[0], found)
        # A row of another length has one cell, its text; which columns it lacks is not known.
        cells = row.cells[1 : 1 + len(columns)] if row.problem is None else [""] * len(columns)
        yield name, found, dict(zip(columns, cells, strict=True))


def _in_order(dataset: GraphDataset) -> Iterator[_Row]:
    """The graphs, and between them the skipped lines: line n is the n-th row."""
    skipped: dict[int, _Row] = {
        one.line: (one.text if one.identifier is None else one.identifier, one.reason, {})
        for one in dataset.skipped
    }
    kept: Iterator[_Row] = (
        (name, graph, {}) for name, graph in zip(dataset.ids, dataset, strict=True)
    )
    for line in range(1, len(dataset) + len(skipped) + 1):
        yield skipped[line] if line in skipped else next(kept)
