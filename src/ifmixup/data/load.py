"""Loading graphs from any source, as a whole or in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from torch_geometric.data import Data, Dataset

from ifmixup.data.catalog import NAMES, PathLike, canonical, check_name, download, find, is_name
from ifmixup.data.dataset import GraphDataset, Skips, check_metric, check_task
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.graph_files import graph_files, read_graph_files
from ifmixup.data.molecules import (
    read_molecule,
    read_molecules,
    smiles_column,
    smiles_reader,
    table_source,
)
from ifmixup.data.networkx import from_networkx
from ifmixup.data.ogb import PREFIX, read_ogb
from ifmixup.data.pyg import from_pyg
from ifmixup.data.raw import RawGraphs, assemble
from ifmixup.data.saved_graphs import read_saved
from ifmixup.data.table import Table
from ifmixup.data.tu import read_tu, tu_in
from ifmixup.errors import DatasetError, InputError, InputTypeError

_Row = tuple[str, Data | None, str | None]  # identifier, graph, problem


@dataclass
class Part:
    """Some rows of a source, in its order.

    Attributes:
        ids: An identifier for each row.
        problems: Why a row has no graph; None where it has one.
        graphs: The graphs of the rows that have one.
        encoder: The encoder of their features; None where they are not encoded yet.
    """

    ids: list[str]
    problems: list[str | None]
    graphs: list[Data]
    encoder: FeatureEncoder | None = None

    def __len__(self) -> int:
        return len(self.ids)


def load(
    source: PathLike | Dataset | Sequence[Any],
    root: PathLike | None = None,
    *,
    smiles: str | None = None,
    label: str | None = None,
    identifier: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    strict: bool = False,
    encoder: FeatureEncoder | None = None,
    labelled: bool = True,
) -> GraphDataset:
    """Load graphs from a source, whose kind is found out.

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
    ========================================  ====================================================

    A name is looked for in ``root``, in the folder that the environment variable ``IFMIXUP_DATA``
    names and in the cache folder, as ``NAME.zip`` or as the unpacked text files of a PyG root
    (``NAME/raw/NAME_A.txt``); only then is it downloaded. Its ``x``, ``edge_index``, ``y`` and,
    where there are edge labels, ``edge_attr`` equal those of PyG's ``TUDataset``.

    Categories become one-hot features, described by ``dataset.encoder``. Graphs without node
    attributes get one-hot degrees. Lines that cannot be used are skipped and listed in
    ``dataset.skipped``. Files are read again each time; nothing is cached.

    Args:
        source: See above. A name may be in any case, and also ``IMDB-B`` or ``IMDB-M``.
        root: A folder in which names are looked for first, and to download to.
        smiles: The column of a table that holds SMILES.
        label: The column of a table, or several separated by commas, that holds the labels; for
            graphs the attribute that holds them.
        identifier: The column, or the attribute of graphs, that identifies a graph.
        task: ``"classes"``, ``"labels"`` or ``"values"``; by default what the labels look like.
        metric: How predictions are judged; by default the usual metric of the task.
        strict: Stop at the first line that cannot be used instead of skipping it.
        encoder: The encoder of the training graphs, at prediction.
        labelled: Whether there are labels. Without, graphs have no ``y``.

    Raises:
        DatasetError: If the dataset cannot be found, or its files are broken.

    Example:
        >>> load("MUTAG")
        MUTAG(188)
    """
    same: dict[str, Any] = {"task": task, "metric": metric, "encoder": encoder}
    graphs: dict[str, Any] = {"label": label, "identifier": identifier, "strict": strict}
    if not isinstance(source, str | os.PathLike):
        return _from_python(source, **same, **graphs, labelled=labelled)
    text = os.fspath(source)
    if not text:
        raise InputError("The name of the source is empty. Give a name such as MUTAG, or a path.")
    raw: RawGraphs
    if text.startswith(PREFIX):
        raw, same["metric"] = read_ogb(
            text.removeprefix(PREFIX), root, metric=metric, labelled=labelled
        )
        return assemble(raw, **same)
    table = table_source(text)
    if table is not None:
        path = Path(table[0]).expanduser()
        graphs["label"] = label or table[2]
        raw = read_molecules(
            path, smiles=smiles or table[1], task=task, **graphs, labelled=labelled
        )
        return assemble(raw, **same)
    path = Path(text).expanduser()
    if text.lower().endswith(".pt"):
        saved = read_saved(path)
        return from_pyg(saved, name=path.stem, **same, **graphs, labelled=labelled)
    if _is_path(source, path, root):
        found = _tu_at(path)
        if found is not None:
            return read_tu(*found, **same, labelled=labelled)
        raw = read_graph_files(path, task=task, encoder=encoder, **graphs, labelled=labelled)
        return assemble(raw, **same)
    name = canonical(text)
    return read_tu(find(name, root) or download(name, root), name, **same, labelled=labelled)


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
        source: What :func:`ifmixup.data.load` takes.
        size: The number of rows of a part.
        root: The folder in which names are looked for first.
        smiles: The column of the SMILES.
        identifier: The column of the identifiers; rows are counted from 0 without one.
        strict: Whether the first row that cannot be used is an error.
        encoder: The encoder of the model.
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
        found = [graph for graph in graphs if graph is not None]
        yield Part(list(ids), list(problems), found, used)


def _from_python(source: Any, **options: Any) -> GraphDataset:
    if isinstance(source, GraphDataset) and options["encoder"] in (None, source.encoder):
        return _loaded(source, **options)
    if not isinstance(source, Sequence | Dataset):
        raise InputTypeError(
            f"load takes a name, a path, a PyG dataset or a list of graphs, not a "
            f"{type(source).__name__}."
        )
    if isinstance(source, Dataset):
        return from_pyg(source, **options)
    of_networkx = [
        all(hasattr(each, name) for name in ("nodes", "is_directed", "graph")) for each in source
    ]
    if any(of_networkx) and not all(of_networkx):
        raise InputTypeError(
            f"The list mixes NetworkX graphs with others: item {of_networkx.index(False)} is a "
            f"{type(source[of_networkx.index(False)]).__name__}. Give graphs of one kind."
        )
    if any(of_networkx):
        return from_networkx(source, **options)
    return from_pyg(source, **options)


def _loaded(
    dataset: GraphDataset,
    *,
    task: str | None,
    metric: str | None,
    label: str | None,
    identifier: str | None,
    labelled: bool,
    **_: Any,
) -> GraphDataset:
    """A loaded dataset with other options; the given one is not changed."""
    given = {"label": label, "identifier": identifier}
    if task is not None and check_task(task) != dataset.task:
        given["task"] = task
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{dataset.name} is loaded already, so {option}={value!r} comes too late. Load "
                f"its source with {option}=."
            )
    changed = copy(dataset)
    changed.metric = check_metric(metric or dataset.metric, dataset.task)
    if not labelled and "y" in dataset._data:
        changed._data, changed._data_list = copy(dataset._data), None
        del changed._data["y"]
        changed.slices = {key: value for key, value in dataset.slices.items() if key != "y"}
    elif changed.metric == dataset.metric:
        return dataset
    return changed


def _is_path(source: object, path: Path, root: PathLike | None) -> bool:
    """Whether a folder or zip is meant: a known name comes first, then a file that exists."""
    text = str(source)
    if not isinstance(source, str) or not is_name(text):
        return path.exists() or not isinstance(source, str)
    known = canonical(text) in NAMES or find(canonical(text), root) is not None
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


def _table_rows(
    path: Path, smiles: str | None, identifier: str | None, strict: bool
) -> Iterator[_Row]:
    table = Table(path)
    columns = [smiles_column(table, smiles)]
    if identifier is not None:
        columns.append(table.index(identifier))
    with smiles_reader() as read:
        for count, row in enumerate(table.rows(columns)):
            skips = Skips(str(path), strict)
            graph = read_molecule(row, read, skips)
            named = identifier is not None and row.problem is None
            name = row.cells[-1].strip() if named else str(count)
            yield name, graph, None if graph is not None else skips.lines[0].reason


def _in_order(dataset: GraphDataset) -> Iterator[_Row]:
    """The graphs, and between them the skipped lines: line n is the n-th row."""
    kept = zip(dataset.ids, dataset, strict=True)
    done = 0
    for one in sorted(dataset.skipped, key=lambda skipped: skipped.line):
        for name, graph in islice(kept, max(0, one.line - 1 - done)):
            yield name, graph, None
        yield one.text if one.identifier is None else one.identifier, None, one.reason
        done = one.line
    for name, graph in kept:
        yield name, graph, None
