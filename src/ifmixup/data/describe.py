"""What a source turned out to hold, in a few lines for its owner to check."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ifmixup.data.columns import Column
from ifmixup.data.dataset import GraphDataset
from ifmixup.data.skipped import summary
from ifmixup.data.statistics import feature_set, linearly_independent

_MOST = 12  # names in a line


def describe(dataset: GraphDataset) -> list[tuple[str, str]]:
    """What there is to know about a dataset, as pairs of a word and a text."""
    graphs, encoder = list(dataset), dataset.encoder
    node_columns = None if encoder is None else encoder.nodes
    edge_columns = None if encoder is None else encoder.edges
    nodes = [int(graph.num_nodes or 0) for graph in graphs]
    edges = [int(graph.num_edges) for graph in graphs]
    lines = [
        ("graphs", f"{len(graphs):,}"),
        ("nodes", _sizes(nodes)),
        ("edges", f"{_sizes(edges)}, each direction counted"),
        ("node features", _columns(dataset.num_features, node_columns)),
        ("edge features", _columns(dataset.num_edge_features, edge_columns)),
        ("task", f"{dataset.task}, judged by {dataset.metric}"),
        _targets(dataset),
    ]
    values = feature_set(dataset)
    numbers = continuous(values)
    independent = "yes" if linearly_independent(values) else "no"
    lines.append(("independent", f"{independent}, {len(values):,} different feature rows"))
    if numbers:
        lines.append(("continuous", f"{len(numbers)} columns: lossless mixing is not guaranteed"))
    if dataset.split is not None:
        parts = [f"{part} {len(index):,}" for part, index in dataset.split.items()]
        lines.append(("own split", ", ".join(parts)))
    lines.append(("skipped", f"{len(dataset.skipped):,}"))
    lines += [("", line) for line in summary(dataset.skipped)]
    return lines


def continuous(values: torch.Tensor) -> list[int]:
    """The columns of features that are not all 0 or 1."""
    return [int(i) for i in ((values != 0) & (values != 1)).any(0).nonzero().flatten()]


def _sizes(counts: list[int]) -> str:
    mean = sum(counts) / len(counts)
    return f"{mean:.1f} in a graph ({min(counts):,} to {max(counts):,})"


def _columns(width: int, columns: Sequence[Column] | None) -> str:
    if not width or not columns:
        return str(width)
    shown = [
        f"{column.name} ({_names(column.kinds)})" if column.kinds is not None else column.name
        for column in columns[:_MOST]
    ]
    return f"{width}: {', '.join(shown)}{_more(len(columns))}"


def _names(names: Sequence[object]) -> str:
    return " ".join(str(name) or "(none)" for name in names[:_MOST]) + _more(len(names))


def _more(count: int) -> str:
    return f" and {count - _MOST} more" if count > _MOST else ""


def _targets(dataset: GraphDataset) -> tuple[str, str]:
    y = dataset._data.get("y")
    if y is None:
        return "targets", "none"
    y = torch.cat([graph.y for graph in dataset])
    if dataset.task == "classes":
        counts = y.bincount(minlength=dataset.num_classes).tolist()
        names = dataset.class_names or [str(i) for i in range(len(counts))]
        shown = [f"{n} ({c:,})" for n, c in zip(names, counts, strict=True)][:_MOST]
        return "classes", f"{len(counts)}: {', '.join(shown)}{_more(len(counts))}"
    names = dataset.class_names or [f"y[{i}]" for i in range(y.size(1))]
    shown = []
    for name, column in list(zip(names, y.t(), strict=True))[:_MOST]:
        known = column[~column.isnan()]
        if not len(known):
            shown.append(f"{name} (nothing known)")
        elif dataset.task == "labels":
            shown.append(f"{name} ({int(known.sum()):,} of {len(known):,} yes)")
        else:
            shown.append(f"{name} ({float(known.min()):g} to {float(known.max()):g})")
    missing = int(y.isnan().sum())
    more = f"; {missing:,} not known" if missing else ""
    return "targets", f"{y.size(1)}: {', '.join(shown)}{_more(y.size(1))}{more}"
