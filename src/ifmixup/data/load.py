"""Loading a dataset from whatever names or holds it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from torch_geometric.data import Dataset

from ifmixup.data.dataset import GraphDataset, check_metric, check_task
from ifmixup.data.download import download
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.find import PathLike, find
from ifmixup.data.graph_files import graph_files, read_graph_files
from ifmixup.data.molecules import read_molecules, table_source
from ifmixup.data.names import NAMES, canonical, is_name
from ifmixup.data.networkx_graphs import from_networkx
from ifmixup.data.ogb import PREFIX, read_ogb
from ifmixup.data.pyg_graphs import from_pyg
from ifmixup.data.raw import RawGraphs, assemble
from ifmixup.data.saved_graphs import read_saved
from ifmixup.data.tu_source import read_tu, tu_in
from ifmixup.errors import DatasetError, InputError, InputTypeError


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
    """Load graphs from what the source looks like.

    ========================================  ====================================================
    source                                    what it is
    ========================================  ====================================================
    ``MUTAG``                                 a name of the TU collection; MUTAG comes with ifmixup
    ``molecules.csv:smiles:label``            molecules in a ``.csv``, ``.csv.gz`` or ``.parquet``
    ``folder/`` or ``dataset.zip``            a dataset in TU format (``NAME_A.txt``, ...)
    ``folder/``                               a GraphML or node-link JSON file for each graph
    ``graphs.pt``                             a list of PyG ``Data`` that ``torch.save`` wrote
    ``ogb:ogbg-molhiv``                       a graph-property dataset of OGB that is on the disk
    a PyG dataset, a list of ``Data``         see :func:`from_pyg`
    a :class:`GraphDataset`                   itself, with another metric or without its labels
    a list of NetworkX graphs                 see :func:`from_networkx`
    ========================================  ====================================================

    A name is looked for in ``root``, in the folder that the environment variable ``IFMIXUP_DATA``
    names and in the cache folder, as ``NAME.zip`` or as the unpacked text files of a PyG root
    (``NAME/raw/NAME_A.txt``); only then it is downloaded. Its ``x``, ``edge_index``, ``y`` and,
    where there are edge labels, ``edge_attr`` equal those of PyG's ``TUDataset``.

    Categories become one-hot features, as ``dataset.encoder`` says. Graphs whose nodes carry
    nothing get one-hot degrees. What cannot be used is skipped and stands in ``dataset.skipped``.
    Files are read anew each time and nothing is cached, so there is nothing stale.

    Args:
        source: See above. A name may be in any case, and also ``IMDB-B`` or ``IMDB-M``.
        root: A folder in which names are looked for first, and to download to.
        smiles: The column of a table that holds SMILES.
        label: The column of a table, or several separated by commas, that hold the labels; for
            graphs the attribute that does.
        identifier: The column, or the attribute of graphs, that identifies a graph.
        task: ``"classes"``, ``"labels"`` or ``"values"``; by default as the labels look.
        metric: How predictions are judged; by default the usual metric of the task.
        strict: Stop at the first line that cannot be used instead of skipping it.
        encoder: How to make the features, at prediction: that of the training graphs.
        labelled: Whether there are labels. Without, graphs have no ``y``.

    Raises:
        DatasetError: If the dataset cannot be had, or its files are broken.

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
    """A dataset that is loaded already, as it is asked for; the given one is not changed."""
    given = {"label": label, "identifier": identifier}
    if task is not None and check_task(task) != dataset.task:
        given["task"] = task
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{dataset.name} is loaded already, so {option}={value!r} comes too late. Load "
                f"what it was made of with {option}=."
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
    """Whether a folder or zip is meant: a name that is known comes first, then what is here."""
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
            f"{path} holds no graphs that are known: NAME_A.txt and its companions (TU format), "
            "*.graphml, *.json, or a file that ends in .csv, .csv.gz, .parquet or .pt."
        )
    return found
