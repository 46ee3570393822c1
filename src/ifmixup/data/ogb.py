"""Graph-property datasets of the Open Graph Benchmark, from the text files that OGB unpacks.

OGB's own cache is a pickle, which could run any code; the text files are beside it.
"""

from __future__ import annotations

import csv
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.data.catalog import PathLike, named_folders
from ifmixup.data.dataset import Skips
from ifmixup.data.raw import LoadOptions, RawGraphs
from ifmixup.data.targets import number_targets, target_names
from ifmixup.data.text_files import check_lines, floats, integers, read_gzip
from ifmixup.errors import DatasetError, InputError, MissingExtraError, unknown_name
from ifmixup.safe_io import cache_folder

PREFIX = "ogb:"  # of the names of these datasets: ogb:ogbg-molhiv

_TASKS = {
    "binary classification": "labels",
    "multiclass classification": "classes",
    "regression": "values",
}
_METRICS = {"rocauc": "roc_auc", "ap": "average_precision", "acc": "accuracy", "mae": "mae"}
_PARTS = {"train": "train", "valid": "validation", "test": "test"}


def read_ogb(name: str, root: PathLike | None, options: LoadOptions) -> RawGraphs:
    """A dataset such as ``ogbg-molhiv``, with the metric that OGB judges it by.

    OGB's folder ``ogbg_molhiv`` is looked for in ``root``, in the folder that ``IFMIXUP_DATA``
    names, in the folder ``dataset`` here (OGB's default) and in the cache.
    """
    facts = _facts(name)
    folder = _folder(name, facts["download_name"], root)
    raw = folder / "raw"
    nodes = integers(read_gzip(raw / "num-node-list.csv.gz"))[:, 0]
    edges = integers(read_gzip(raw / "num-edge-list.csv.gz"))[:, 0]
    if len(nodes) != len(edges) or bool((nodes < 0).any()) or bool((edges < 0).any()):
        raise DatasetError(f"{raw}: the numbers of nodes and edges do not fit together.")
    targets = None
    if options.labelled:
        labels = _labels(raw / "graph-label.csv.gz", len(nodes))
        names = target_names(name, labels.size(1))
        targets = number_targets(labels, names, _TASKS[facts["task type"]])
    metric = facts["eval metric"]
    if options.metric is None and metric not in _METRICS:
        warnings.warn(
            f"OGB evaluates {name} by {metric.upper()}, which ifmixup does not support; the "
            f"default metric of the task is used instead. Do not compare it with OGB's "
            f"leaderboard.",
            stacklevel=3,
        )
    return RawGraphs(
        name=name,
        graphs=_graphs(raw, nodes, edges, facts["add_inverse_edge"] == "True"),
        skips=Skips(str(folder)),
        targets=targets,
        split=_split(folder / "split" / facts["split"], len(nodes)),
        metric=_METRICS.get(metric),
    )


def _facts(name: str) -> dict[str, str]:
    """The description in the table inside the package ``ogb``; the package is not imported."""
    spec = importlib.util.find_spec("ogb")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    table = folder / "graphproppred" / "master.csv"
    if not table.is_file():
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
    return facts


def _folder(name: str, download_name: str, root: PathLike | None) -> Path:
    bases = [*named_folders(root), Path("dataset"), cache_folder()]
    usual = name.replace("-", "_")
    for base in bases:
        for folder in (base, base / usual, base / download_name):
            if (folder / "raw" / "num-node-list.csv.gz").is_file():
                return folder
    raise DatasetError(
        f"There is no {usual}/raw/num-node-list.csv.gz in {', '.join(map(str, bases))}. Let OGB "
        f"download it once, ogb.graphproppred.GraphPropPredDataset({name!r}, root=FOLDER), and "
        "give root=FOLDER (--root)."
    )


def _graphs(
    raw: Path, nodes: NDArray[np.int64], edges: NDArray[np.int64], both_directions: bool
) -> list[Data]:
    node_counts, edge_counts = nodes.tolist(), edges.tolist()
    ends = torch.empty(0, 2, dtype=torch.long)
    if sum(edge_counts):
        ends = torch.from_numpy(integers(read_gzip(raw / "edge.csv.gz"), columns=2))
    check_lines(raw / "edge.csv.gz", len(ends), sum(edge_counts), "edge")
    graphs = []
    for number, own in zip(node_counts, ends.split(edge_counts), strict=True):
        edge_index = own.t()
        if both_directions:
            edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
        graphs.append(Data(edge_index=edge_index, num_nodes=number))
    x = _features(raw / "node-feat.csv.gz", sum(node_counts))
    attributes = _features(raw / "edge-feat.csv.gz", sum(edge_counts))
    if x is not None:
        for graph, rows in zip(graphs, x.split(node_counts), strict=True):
            graph.x = rows
    if attributes is not None:
        for graph, rows in zip(graphs, attributes.split(edge_counts), strict=True):
            graph.edge_attr = rows.repeat(2 if both_directions else 1, 1)
    return graphs


def _features(path: Path, rows: int) -> Tensor | None:
    """Integers as categories, other numbers as floats; None if there is no such file."""
    if not path.is_file() or not rows:
        return None
    values = floats(read_gzip(path))
    check_lines(path, len(values), rows, "node or edge")
    whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 2**53).all())
    return torch.from_numpy(values.astype(np.int64)) if whole else torch.from_numpy(values).float()


def _labels(path: Path, rows: int) -> Tensor:
    """The labels ``[graphs, T]``; an empty field is NaN."""
    found = []
    # A line of one column may be empty; its label is then unknown.
    text = read_gzip(path).content.decode("ascii", errors="replace")
    for line, fields in enumerate((line.split(",") for line in text.splitlines()), 1):
        try:
            found.append([float(field) if field.strip() else float("nan") for field in fields])
        except ValueError as error:
            raise DatasetError(f"{path}, line {line}: {error}.") from error
        if len(fields) != len(found[0]):
            raise DatasetError(
                f"{path}, line {line}: expected {len(found[0])} columns, found {len(fields)}."
            )
    check_lines(path, len(found), rows, "graph")
    return torch.tensor(found, dtype=torch.float64)


def _split(folder: Path, count: int) -> dict[str, Tensor] | None:
    """OGB's own parts; None if they are not there."""
    paths = {name: folder / f"{part}.csv.gz" for part, name in _PARTS.items()}
    if not all(path.is_file() for path in paths.values()):
        return None
    split = {}
    for name, path in paths.items():
        index = torch.from_numpy(integers(read_gzip(path))[:, 0])
        if int(index.min()) < 0 or int(index.max()) >= count or len(index.unique()) < len(index):
            raise DatasetError(f"{path} must name graphs from 0 to {count - 1}, each once.")
        split[name] = index
    if len(torch.cat(list(split.values())).unique()) < sum(map(len, split.values())):
        raise DatasetError(f"{folder}: a graph is in two parts of the split.")
    return split
