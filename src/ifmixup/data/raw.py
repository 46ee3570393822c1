"""From the graphs of a source to a dataset: the steps that all sources share."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from ifmixup.data.dataset import GraphDataset, Rows, Skips
from ifmixup.data.encoder import DEGREE, Column, FeatureEncoder
from ifmixup.data.targets import Targets
from ifmixup.edges import check_edge_index, check_edge_weight
from ifmixup.errors import DatasetError


@dataclass(frozen=True)
class LoadOptions:
    """The arguments of :func:`ifmixup.data.load` that readers of several sources need."""

    label: str | None = None
    identifier: str | None = None
    task: str | None = None
    metric: str | None = None
    strict: bool = False
    encoder: FeatureEncoder | None = None
    labelled: bool = True
    columns: tuple[str, ...] = ()


@dataclass
class RawGraphs:
    """Graphs as a source gives them: not encoded, not checked, maybe not all with a label.

    They have ``edge_index``, ``num_nodes`` and the data of nodes and edges: ``x`` or
    ``node_kinds``, ``edge_attr`` or ``edge_kinds``, ``edge_weight``.
    """

    name: str
    graphs: list[Data]
    skips: Skips
    targets: Targets | None = None  # None where there are no labels
    ids: Sequence[str] | None = None
    lines: Sequence[int] | None = None  # of each graph in the source, counted from 1
    texts: Sequence[str] | None = None  # the content of that line
    node_names: Sequence[str] | None = None  # of the columns of the nodes
    edge_names: Sequence[str] | None = None
    split: dict[str, Tensor] | None = None  # the source's own parts, as indices of graphs
    metric: str | None = None  # the source's own
    rows: Rows | None = None  # None where each graph is a row and nothing else is known


def assemble(raw: RawGraphs, options: LoadOptions) -> GraphDataset:
    """Check the graphs, leave out those that cannot be used, encode their features."""
    ids = [str(i) for i in range(len(raw.graphs))] if raw.ids is None else list(raw.ids)
    weighted = any(graph.get("edge_weight") is not None for graph in raw.graphs)
    for name, graph in zip(ids, raw.graphs, strict=True):
        _check(graph, f"{raw.skips.where}, graph {name}", weighted)
    kept = _usable(raw, ids)
    if not kept:
        raise raw.skips.nothing_left()
    graphs, encoder = _encoded([raw.graphs[index] for index in kept], raw, options.encoder)
    known: dict[str, object] = {"task": options.task or "classes"}
    if raw.targets is not None:
        known = {"task": raw.targets.task, "class_names": raw.targets.names}
        rows = raw.targets.y[torch.tensor(kept)].split(1)
    finished = []
    for index, graph in enumerate(graphs):
        parts = {"x": graph.x, "edge_index": graph.edge_index}
        if graph.num_edge_features:  # none where edges of the training graphs had no data
            parts["edge_attr"] = graph.edge_attr
        if weighted:
            parts["edge_weight"] = graph.edge_weight
        if raw.targets is not None:
            parts["y"] = rows[index].clone()
        finished.append(Data(**parts))
    return GraphDataset.of(
        raw.name,
        finished,
        **known,
        ids=[ids[index] for index in kept],
        metric=options.metric or raw.metric,
        encoder=encoder,
        skipped=raw.skips.lines,
        split=_split(raw.split, kept, len(ids)),
        rows=(raw.rows or Rows(range(len(ids)))).select(kept),
    )


def _check(graph: Data, where: str, weighted: bool) -> None:
    """Check an untrusted graph. If ``weighted``, its weights become floats; it must have them."""
    edges, weight = graph.get("edge_index"), graph.get("edge_weight")
    check_edge_index(edges, int(graph.num_nodes or 0), where=where, error=DatasetError)
    if weighted and weight is None and edges.size(1):
        raise DatasetError(
            f"{where} has no edge_weight, but other graphs do. Give it to all graphs or to none; "
            f"an edge without one has the weight 1."
        )
    if weighted:
        weight = torch.empty(0, device=edges.device) if weight is None else weight
        graph.edge_weight = weight if weight.is_floating_point() else weight.float()
        check_edge_weight(graph.edge_weight, edges.size(1), where=where, error=DatasetError)
    for key in ("x", "edge_attr"):
        value = graph.get(key)
        if isinstance(value, Tensor) and value.is_floating_point() and not value.isfinite().all():
            raise DatasetError(f"{where}: {key} has NaN or infinity in it. Replace them first.")


def _usable(raw: RawGraphs, ids: Sequence[str]) -> list[int]:
    """The indices of the graphs that have nodes and, for classes, a class."""
    classes = raw.targets.y if raw.targets is not None and raw.targets.task == "classes" else None
    kept = []
    for index, graph in enumerate(raw.graphs):
        if not graph.num_nodes:
            reason = "no nodes"
        elif classes is not None and int(classes[index]) < 0:
            reason = "no label"
        else:
            kept.append(index)
            continue
        line = index + 1 if raw.lines is None else raw.lines[index]
        text = ids[index] if raw.texts is None else raw.texts[index]
        raw.skips.add(line, text, reason, ids[index])
    return kept


def _encoded(
    graphs: list[Data], raw: RawGraphs, encoder: FeatureEncoder | None
) -> tuple[list[Data], FeatureEncoder]:
    """The graphs with float features, and the encoder that made them."""
    if encoder is None:
        bare = all("x" not in graph and "node_kinds" not in graph for graph in graphs)
    else:
        bare = [column.name for column in encoder.nodes] == [DEGREE]
    if bare:
        graphs = [copy(graph) for graph in graphs]
        for graph in graphs:
            graph.x = degree(graph.edge_index[0], graph.num_nodes, dtype=torch.long).unsqueeze(1)
            graph.node_kinds = None  # PyG removes it
    if encoder is None:
        encoder = FeatureEncoder.fit(
            graphs, node_names=None if bare else raw.node_names, edge_names=raw.edge_names
        )
        if bare:
            # Every degree up to the largest, as for the TU datasets, even one that no node has.
            largest = max(int(graph.x.max()) for graph in graphs)
            encoder = replace(encoder, nodes=(Column(DEGREE, tuple(range(largest + 1))),))
    return encoder.transform(graphs), encoder


def _split(
    split: dict[str, Tensor] | None, kept: Sequence[int], count: int
) -> dict[str, Tensor] | None:
    """The parts as indices of the graphs that were kept."""
    if split is None:
        return None
    new = torch.full((count,), -1)
    new[torch.tensor(kept)] = torch.arange(len(kept))
    return {part: new[old][new[old] >= 0] for part, old in split.items()}
