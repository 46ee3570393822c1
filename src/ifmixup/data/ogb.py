"""Graph-property datasets of the Open Graph Benchmark, from the text files that OGB unpacks.

OGB's own cache is a pickle, which could run any code; the text files are beside it.
"""

from __future__ import annotations

import csv
import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.catalog import PathLike, cache_folder, named_folders
from ifmixup.data.dataset import Skips
from ifmixup.data.raw import RawGraphs
from ifmixup.data.targets import number_targets, target_names
from ifmixup.data.text_files import TextFile, floats, integers, read_gzip
from ifmixup.errors import DatasetError, InputError, MissingExtraError, unknown_name

PREFIX = "ogb:"
"""The beginning of the names of these datasets: ``ogb:ogbg-molhiv``."""

_TASKS = {
    "binary classification": "labels",
    "multiclass classification": "classes",
    "regression": "values",
}
_METRICS = {"rocauc": "roc_auc", "ap": "average_precision", "acc": "accuracy", "mae": "mae"}
_PARTS = {"train": "train", "valid": "validation", "test": "test"}


@dataclass(frozen=True)
class _Facts:
    """OGB's description of a dataset."""

    task: str
    metric: str
    split: str
    both_directions: bool
    folders: tuple[str, ...]


def read_ogb(
    name: str,
    root: PathLike | None = None,
    *,
    metric: str | None = None,
    labelled: bool = True,
) -> tuple[RawGraphs, str | None]:
    """A dataset such as ``ogbg-molhiv``, and the metric that OGB judges it by.

    Args:
        name: OGB's name of the dataset.
        root: The folder of OGB's ``ogbg_molhiv``. Then the folder that ``IFMIXUP_DATA`` names, the
            folder ``dataset`` here (OGB's default) and the cache are searched.
        metric: A metric that the user prefers.
        labelled: Whether to read labels.

    Raises:
        MissingExtraError: If the package ``ogb`` is not installed.
        DatasetError: If the dataset is not on the disk, or its files are broken.
    """
    facts = _facts(name)
    folder = _folder(name, facts, root)
    raw = folder / "raw"
    nodes = _integers(raw, "num-node-list.csv.gz")[:, 0]
    edges = _integers(raw, "num-edge-list.csv.gz")[:, 0]
    if len(nodes) != len(edges) or bool((nodes < 0).any()) or bool((edges < 0).any()):
        raise DatasetError(f"{raw}: the numbers of nodes and edges do not fit together.")
    graphs = _graphs(raw, nodes, edges, facts.both_directions)
    targets = None
    if labelled:
        labels = _labels(raw, len(nodes))
        targets = number_targets(labels, target_names(name, labels.size(1)), facts.task)
    found = RawGraphs(
        name=name,
        where=str(folder),
        graphs=graphs,
        skips=Skips(str(folder)),
        targets=targets,
        split=_split(folder / "split" / facts.split, len(nodes)),
    )
    return found, metric or _metric(name, facts)


def _facts(name: str) -> _Facts:
    """The description in the table inside the package ``ogb``; the package is not imported."""
    spec = importlib.util.find_spec("ogb")
    packages = [] if spec is None else list(spec.submodule_search_locations or [])
    tables = [Path(package, "graphproppred", "master.csv") for package in packages]
    table = next((path for path in tables if path.is_file()), None)
    if table is None:
        raise MissingExtraError(
            f"{PREFIX}{name} needs the package 'ogb', which is not installed. Install it with: "
            "pip install 'ifmixup[ogb]'"
        )
    with table.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    if name not in header[1:]:
        raise unknown_name("OGB dataset", name, header[1:])
    facts = {row[0]: row[header.index(name)] for row in rows}
    if facts["task type"] not in _TASKS:
        raise InputError(
            f"{name} is about {facts['task type']}, which ifmixup does not support. It supports: "
            f"{', '.join(_TASKS)}."
        )
    return _Facts(
        task=_TASKS[facts["task type"]],
        metric=facts["eval metric"],
        split=facts["split"],
        both_directions=facts["add_inverse_edge"] == "True",
        folders=(name.replace("-", "_"), facts["download_name"]),
    )


def _metric(name: str, facts: _Facts) -> str | None:
    if facts.metric not in _METRICS:
        warnings.warn(
            f"OGB judges {name} by {facts.metric.upper()}, which ifmixup does not have; the usual "
            "metric of the task is used instead. Do not compare it with OGB's leaderboard.",
            stacklevel=4,
        )
    return _METRICS.get(facts.metric)


def _folder(name: str, facts: _Facts, root: PathLike | None) -> Path:
    bases = [*named_folders(root), Path("dataset"), cache_folder()]
    for base in bases:
        for folder in (base, *(base / name for name in facts.folders)):
            if (folder / "raw" / "num-node-list.csv.gz").is_file():
                return folder
    raise DatasetError(
        f"There is no {facts.folders[0]}/raw/num-node-list.csv.gz in "
        f"{', '.join(map(str, bases))}. Let OGB download it once, "
        f"ogb.graphproppred.GraphPropPredDataset({name!r}, root=FOLDER), and give root=FOLDER "
        "(--root)."
    )


def _graphs(
    raw: Path, nodes: NDArray[np.int64], edges: NDArray[np.int64], both_directions: bool
) -> list[Data]:
    count_nodes, count_edges = int(nodes.sum()), int(edges.sum())
    ends = torch.empty(0, 2, dtype=torch.long)
    if count_edges:
        ends = torch.from_numpy(_integers(raw, "edge.csv.gz", columns=2))
    _check_rows(raw, "edge.csv.gz", len(ends), count_edges)
    x = _features(raw, "node-feat.csv.gz", count_nodes)
    attributes = _features(raw, "edge-feat.csv.gz", count_edges)
    node_counts, edge_counts = nodes.tolist(), edges.tolist()
    ends_of = ends.split(edge_counts)
    x_of = None if x is None else x.split(node_counts)
    attributes_of = None if attributes is None else attributes.split(edge_counts)
    graphs = []
    for index, number in enumerate(node_counts):
        edge_index = ends_of[index].t()
        graph = Data(edge_index=edge_index, num_nodes=number)
        if both_directions:
            graph.edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
        if x_of is not None:
            graph.x = x_of[index]
        if attributes_of is not None:
            graph.edge_attr = attributes_of[index].repeat(2 if both_directions else 1, 1)
        graphs.append(graph)
    return graphs


def _features(raw: Path, name: str, rows: int) -> Tensor | None:
    """Integers as categories, other numbers as floats; None if there is no such file."""
    if not (raw / name).is_file() or not rows:
        return None
    values = floats(read_gzip(raw / name))
    _check_rows(raw, name, len(values), rows)
    whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 2**53).all())
    return torch.from_numpy(values.astype(np.int64)) if whole else torch.from_numpy(values).float()


def _labels(raw: Path, rows: int) -> Tensor:
    """The labels ``[graphs, T]``; an empty field is NaN."""
    path = raw / "graph-label.csv.gz"
    found = []
    for line, fields in enumerate(_fields(read_gzip(path)), 1):
        try:
            found.append([float(field) if field.strip() else float("nan") for field in fields])
        except ValueError as error:
            raise DatasetError(f"{path}, line {line}: {error}.") from error
        if len(fields) != len(found[0]):
            raise DatasetError(
                f"{path}, line {line}: expected {len(found[0])} columns, found {len(fields)}."
            )
    _check_rows(raw, path.name, len(found), rows)
    return torch.tensor(found, dtype=torch.float64)


def _fields(file: TextFile) -> Iterator[list[str]]:
    # A line of one column may be empty; its label is then unknown.
    for line in file.content.decode("ascii", errors="replace").splitlines():
        yield line.split(",")


def _split(folder: Path, count: int) -> dict[str, Tensor] | None:
    """OGB's own parts; None if they are not there."""
    if not all((folder / f"{part}.csv.gz").is_file() for part in _PARTS):
        return None
    split = {}
    for part, name in _PARTS.items():
        index = torch.from_numpy(_integers(folder, f"{part}.csv.gz")[:, 0])
        if int(index.min()) < 0 or int(index.max()) >= count or len(index.unique()) < len(index):
            raise DatasetError(
                f"{folder / part}.csv.gz must name graphs from 0 to {count - 1}, each once."
            )
        split[name] = index
    if len(torch.cat(list(split.values())).unique()) < sum(map(len, split.values())):
        raise DatasetError(f"{folder}: a graph is in two parts of the split.")
    return split


def _integers(folder: Path, name: str, columns: int | None = None) -> NDArray[np.int64]:
    return integers(read_gzip(folder / name), columns)


def _check_rows(raw: Path, name: str, found: int, expected: int) -> None:
    if found != expected:
        raise DatasetError(f"{raw / name} has {found} lines, expected {expected}.")
