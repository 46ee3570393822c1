"""From what a source holds to a dataset: the steps that all sources share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from ifmixup.data.columns import Column
from ifmixup.data.dataset import GraphDataset
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.data.skipped import Skips
from ifmixup.data.targets import Targets
from ifmixup.errors import DatasetError

DEGREE = "(degree)"
"""The column of graphs whose nodes carry nothing; in brackets, as users may have a ``degree``."""


@dataclass
class RawGraphs:
    """Graphs as a source gives them: not encoded, not checked, maybe not all with a label.

    Attributes:
        name: What to call the dataset.
        where: The file or folder, for messages.
        graphs: The graphs, with ``edge_index``, ``num_nodes`` and what nodes and edges carry:
            ``x`` or ``node_kinds``, ``edge_attr`` or ``edge_kinds``, ``edge_weight``.
        skips: What was skipped so far.
        targets: What is to be predicted; None where there are no labels.
        ids: An identifier for each graph.
        lines: Where each graph stands in the source, counted from 1.
        texts: What stands there.
        node_names: What the columns of the nodes are called.
        edge_names: What the columns of the edges are called.
        split: The source's own parts, as places of graphs.
    """

    name: str
    where: str
    graphs: list[Data]
    skips: Skips
    targets: Targets | None = None
    ids: Sequence[str] | None = None
    lines: Sequence[int] | None = None
    texts: Sequence[str] | None = None
    node_names: Sequence[str] | None = None
    edge_names: Sequence[str] | None = None
    split: dict[str, Tensor] | None = None


def assemble(
    raw: RawGraphs,
    *,
    task: str | None = None,
    metric: str | None = None,
    encoder: FeatureEncoder | None = None,
) -> GraphDataset:
    """Check the graphs, leave out those that cannot be used, encode their features.

    Args:
        raw: What the source gave.
        task: The task, where there are no targets to say it.
        metric: How predictions are judged.
        encoder: How to make the features, where other graphs have decided that.

    Raises:
        DatasetError: If no graph is left, or a graph is broken.
    """
    ids = [str(i) for i in range(len(raw.graphs))] if raw.ids is None else list(raw.ids)
    weighted = any(graph.get("edge_weight") is not None for graph in raw.graphs)
    for name, graph in zip(ids, raw.graphs, strict=True):
        _check(graph, f"{raw.where}, graph {name}")
        if weighted:
            graph.edge_weight = _weights(graph, f"{raw.where}, graph {name}")
    kept = _usable(raw, ids)
    if not kept:
        raise DatasetError(
            f"{raw.where} has no graph that can be used; {len(raw.skips.lines)} were skipped"
            f"{f', the first: {raw.skips.lines[0]}' if raw.skips.lines else ''}."
        )
    graphs = [raw.graphs[place] for place in kept]
    graphs, encoder = _encoded(graphs, raw, encoder)
    known: dict[str, object] = {"task": task or "classes"}
    if raw.targets is not None:
        known = {"task": raw.targets.task, "class_names": raw.targets.names}
        rows = raw.targets.y[torch.tensor(kept)].split(1)
    finished = []
    for place, graph in enumerate(graphs):
        parts = {"x": graph.x, "edge_index": graph.edge_index}
        parts |= {key: graph[key] for key in ("edge_attr", "edge_weight") if key in graph}
        if raw.targets is not None:
            parts["y"] = rows[place].clone()
        finished.append(Data(**parts))
    return GraphDataset.of(
        raw.name,
        finished,
        **known,
        ids=[ids[place] for place in kept],
        metric=metric,
        encoder=encoder,
        skipped=raw.skips.lines,
        split=_split(raw.split, kept, len(ids)),
    )


def _check(graph: Data, where: str) -> None:
    """See that an edge joins two nodes that are there: nobody vouches for what a file holds."""
    edges, nodes = graph.get("edge_index"), int(graph.num_nodes or 0)
    if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.size(0) != 2:
        raise DatasetError(f"{where}: edge_index must be a tensor of shape [2, edges].")
    if edges.is_floating_point() or edges.dtype == torch.bool:
        raise DatasetError(f"{where}: edge_index must hold whole numbers, not {edges.dtype}.")
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= nodes):
        raise DatasetError(
            f"{where}: edges need nodes from 0 to {nodes - 1}, but there are edges of nodes "
            f"{int(edges.min())} to {int(edges.max())}."
        )
    for key in ("x", "edge_attr", "edge_weight"):
        value = graph.get(key)
        if isinstance(value, Tensor) and value.is_floating_point() and not value.isfinite().all():
            raise DatasetError(f"{where}: {key} has NaN or infinity in it. Replace them first.")


def _weights(graph: Data, where: str) -> Tensor:
    """The weights of the edges as floats, where some graphs have them: then all must."""
    edges, weight = graph.edge_index, graph.get("edge_weight")
    if weight is None and edges.size(1) == 0:
        return torch.empty(0, device=edges.device)
    if weight is None:
        raise DatasetError(
            f"{where} has no edge_weight, but others have. Give it to all graphs or to none; 1 is "
            "the weight of an edge without one."
        )
    if weight.shape != (edges.size(1),):
        raise DatasetError(
            f"{where}: edge_weight has the shape {list(weight.shape)}, not [{edges.size(1)}]."
        )
    weight = weight if weight.is_floating_point() else weight.float()
    if bool((weight < 0).any()):
        raise DatasetError(
            f"{where}: edge_weight is negative for some edges. Weights are 0 or more."
        )
    return weight


def _usable(raw: RawGraphs, ids: Sequence[str]) -> list[int]:
    """The places of the graphs that have nodes and, for classes, a class."""
    classes = raw.targets.y if raw.targets is not None and raw.targets.task == "classes" else None
    kept = []
    for place, graph in enumerate(raw.graphs):
        if not graph.num_nodes:
            reason = "no nodes"
        elif classes is not None and int(classes[place]) < 0:
            reason = "no label"
        else:
            kept.append(place)
            continue
        line = place + 1 if raw.lines is None else raw.lines[place]
        text = ids[place] if raw.texts is None else raw.texts[place]
        raw.skips.add(line, text, reason, ids[place])
    return kept


def _encoded(
    graphs: list[Data], raw: RawGraphs, encoder: FeatureEncoder | None
) -> tuple[list[Data], FeatureEncoder]:
    """The graphs with float features, and what made them."""
    known = encoder is not None
    if encoder is None:
        bare = all("x" not in graph and "node_kinds" not in graph for graph in graphs)
    else:
        bare = [column.name for column in encoder.nodes] == [DEGREE]
    if bare:
        graphs = [_with_degree(graph) for graph in graphs]
    if encoder is None:
        names = [DEGREE] if bare else raw.node_names
        encoder = FeatureEncoder.fit(graphs, node_names=names, edge_names=raw.edge_names)
    if bare and not known:
        # Every degree up to the largest, as for the TU datasets: none of them is a surprise.
        largest = max(int(kind) for kind in encoder.nodes[0].kinds or (0,))
        encoder = replace(encoder, nodes=(Column(DEGREE, tuple(range(largest + 1))),))
    graphs = encoder.transform(graphs)
    for graph in graphs:
        # No edge of any training graph carried anything.
        if "edge_attr" in graph and graph.edge_attr.size(1) == 0:
            del graph["edge_attr"]
    return graphs, encoder


def _with_degree(graph: Data) -> Data:
    parts = {key: value for key, value in graph.items() if key not in ("x", "node_kinds")}
    degrees = degree(graph.edge_index[0], graph.num_nodes, dtype=torch.long)
    return Data(**{**parts, "x": degrees.unsqueeze(1)})


def _split(
    split: dict[str, Tensor] | None, kept: Sequence[int], count: int
) -> dict[str, Tensor] | None:
    """The parts as places among the graphs that were kept."""
    if split is None:
        return None
    place = torch.full((count,), -1)
    place[torch.tensor(kept)] = torch.arange(len(kept))
    return {part: place[index][place[index] >= 0] for part, index in split.items()}
