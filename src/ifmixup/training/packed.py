"""A dataset packed in memory once; batches are cut from it by indexing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, InMemoryDataset

from ifmixup.batch import to_batch
from ifmixup.data.dataset import METRICS, GraphDataset, Rows, check_metric, usual_metric
from ifmixup.data.statistics import continuous
from ifmixup.data.targets import as_target, infer_task
from ifmixup.edges import check_edge_index
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, pointers, select

_KEPT = ("x", "edge_index", "edge_attr", "edge_weight")
_KNOWN = ("task", "metric", "class_names", "encoder", "continuous")


@dataclass(frozen=True)
class PackedDataset:
    """All graphs of a dataset in one :class:`~ifmixup.graphs.Graphs`, and what is known of them.

    Attributes:
        name: The dataset's name.
        graphs: The graphs, end to end.
        num_outputs: The width of a model's output: C classes, or T labels or values.
        fingerprint: The same for the same graphs and targets, on every machine.
        task: ``classes``, ``labels`` or ``values``; see :class:`~ifmixup.data.GraphDataset`.
        metric: What predictions are judged by.
        class_names: The names of the classes, or of the T columns of the target.
        encoder: How the features were encoded, as plain values.
        continuous: The columns of ``x`` that are not all 0 or 1.
        split: The dataset's own ``train``, ``validation`` and ``test``, where it has them.
        rows: What the source says of each graph besides, such as its SMILES; for splits.
        folder: The folder whose files are mapped into memory; None where all is in memory. See
            :mod:`ifmixup.training.mapped`.
        undirected: Of mapped graphs, whether :func:`~ifmixup.graphs.is_undirected` holds for all,
            without and with edge attributes.
    """

    name: str
    graphs: Graphs
    num_outputs: int
    fingerprint: str
    task: str = "classes"
    metric: str = "accuracy"
    class_names: list[str] | None = None
    encoder: dict[str, Any] | None = None
    continuous: list[int] = field(default_factory=list)
    split: dict[str, Tensor] | None = None
    rows: Rows | None = None
    folder: str | None = None
    undirected: tuple[bool, bool] | None = None

    def __len__(self) -> int:
        return self.graphs.num_graphs

    @property
    def num_features(self) -> int:
        """The width of the node features."""
        return self.graphs.nodes["x"].size(1)

    @property
    def edge_dim(self) -> int | None:
        """The width of the edge attributes, or None where there are none."""
        attributes = self.graphs.edges.get("edge_attr")
        return None if attributes is None else attributes.size(1)

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None where the targets are rows of numbers already."""
        return self.num_outputs if self.task == "classes" else None

    @property
    def y(self) -> Tensor:
        """The class of each graph ``[B]``, or its row of labels or values ``[B, T]``."""
        return self.graphs.graphs["y"]

    def describe(self) -> dict[str, Any]:
        """What a model that was trained on this needs to know, as plain values."""
        return {
            "name": self.name,
            "graphs": len(self),
            "num_features": self.num_features,
            "num_outputs": self.num_outputs,
            "edge_dim": self.edge_dim,
            **{name: getattr(self, name) for name in _KNOWN},
        }

    def batch(self, index: Tensor) -> Batch:
        """The batch of the graphs ``index``."""
        return to_batch(select(self.graphs, index))

    def without_edge_attr(self) -> PackedDataset:
        """The same without edge attributes, for models that do not read them."""
        edges = {name: value for name, value in self.graphs.edges.items() if name != "edge_attr"}
        return replace(self, graphs=replace(self.graphs, edges=edges))

    def to(self, device: torch.device) -> PackedDataset:
        """The same on another device.

        Values stay where they are: they are doubles, which not every device has, until
        :class:`~ifmixup.training.scaling.Scaling` makes them floats.
        """
        graphs = self.graphs

        def moved(level: dict[str, Any]) -> dict[str, Any]:
            return {
                name: value if name == "y" and self.task == "values" else value.to(device)
                for name, value in level.items()
            }

        nodes, edges, own = (moved(each) for each in (graphs.nodes, graphs.edges, graphs.graphs))
        node_ptr, edge_ptr = graphs.node_ptr.to(device), graphs.edge_ptr.to(device)
        return replace(self, graphs=Graphs(nodes, edges, own, node_ptr, edge_ptr))

    def to_dict(self) -> dict[str, Any]:
        """As tensors and plain values, to be saved or sent; no run needs ``rows``.

        Of mapped graphs only the folder: whoever reads this maps the same files.
        """
        if self.folder is not None:
            return {"folder": self.folder}
        graphs = {each.name: getattr(self.graphs, each.name) for each in fields(Graphs)}
        return {**vars(self), "graphs": graphs, "rows": None}

    @staticmethod
    def of(values: dict[str, Any]) -> PackedDataset:
        """The inverse of :meth:`to_dict`."""
        if values.keys() == {"folder"}:
            from ifmixup.training.mapped import open_packed

            return open_packed(values["folder"])
        return PackedDataset(**{**values, "graphs": Graphs(**values["graphs"])})


def pack(
    dataset: Sequence[Data],
    name: str | None = None,
    *,
    task: str | None = None,
    metric: str | None = None,
) -> PackedDataset:
    """Pack a dataset of graphs with targets ``y``.

    Without a ``task``, the dataset's own is taken, else what ``y`` looks like: one integer per
    graph is a class; floats that are all 0, 1 or NaN are labels; other floats are values.

    Args:
        dataset: A PyG dataset or a list of ``Data``.
        name: What to call it; by default the dataset's own name.
        task: ``classes``, ``labels`` or ``values``.
        metric: What predictions are judged by; by default the dataset's own, or that of the task.
    """
    if len(dataset) < 2:
        raise InputError(f"A dataset of at least two graphs is needed; got {len(dataset)}.")
    graphs, targets = _joined(dataset)
    task = task or getattr(dataset, "task", None) or infer_task(targets)
    metric = metric or getattr(dataset, "metric", None)
    rows = [as_target(y, task, index) for index, y in enumerate(targets)]
    widths = [row.shape[1:] for row in rows]
    for index, width in enumerate(widths):
        if width != widths[0]:
            raise _differ(index, "y", widths[0], width)
    graphs = replace(graphs, graphs={"y": torch.cat(rows)})
    y = graphs.graphs["y"]
    metric = usual_metric(task, y) if metric is None else check_metric(metric, task)
    _check_finite("features x", graphs.nodes["x"], graphs.node_graph)
    _check_finite("edge_attr", graphs.edges.get("edge_attr"), graphs.edge_graph)
    columns = continuous(graphs.nodes["x"])
    class_names = getattr(dataset, "class_names", None)
    encoder = getattr(dataset, "encoder", None)
    fingerprint = fingerprint_of(graphs, kind_of(task, columns))
    return PackedDataset(
        # a name of its own, because two lists of graphs must not share a study
        name=name or getattr(dataset, "name", None) or f"graphs-{fingerprint[:8]}",
        graphs=graphs,
        num_outputs=num_outputs(_width(graphs.graphs["y"], task), task, class_names),
        fingerprint=fingerprint,
        task=task,
        metric=metric,
        class_names=None if class_names is None else [str(each) for each in class_names],
        encoder=None if encoder is None else encoder.to_dict(),
        continuous=columns,
        split=_split(dataset),
        rows=dataset.rows if isinstance(dataset, GraphDataset) else None,
    )


def _joined(dataset: Sequence[Data]) -> tuple[Graphs, list[Tensor]]:
    """All graphs in one, without targets, and the target of each."""
    found = _collated(dataset)
    if found is not None:
        values, node_counts, edge_counts, targets = found
    else:
        several = list(dataset)
        kept = [key for key in _KEPT if several[0].get(key) is not None]
        for index, graph in enumerate(several):
            _check_same(index, graph, several[0])
        # Edges are the second dimension of edge_index, and the first of all else.
        values = {
            key: torch.cat([_plain(graph[key]) for graph in several], int(key == "edge_index"))
            for key in kept
        }
        node_counts = torch.tensor([graph.x.size(0) for graph in several])
        edge_counts = torch.tensor([graph.num_edges for graph in several])
        targets = [graph.y for graph in several]
    x = values.pop("x")
    node_ptr, edge_ptr = (pointers(each.to(x.device)) for each in (node_counts, edge_counts))
    edge_index = values.pop("edge_index", node_ptr.new_empty(2, 0)).long()
    edges = {"edge_index": edge_index, **values}
    nodes = {"x": x.to(torch.get_default_dtype())}
    graphs = Graphs(nodes, edges, {}, node_ptr, edge_ptr)
    _check_nodes_of_edges(graphs)
    shifted = edge_index + node_ptr[graphs.edge_graph]
    graphs = replace(graphs, edges={**edges, "edge_index": shifted})
    chosen = getattr(dataset, "_indices", None) if found is not None else None
    if chosen is not None:
        graphs = select(graphs, torch.as_tensor(list(chosen), device=x.device))
        targets = [targets[index] for index in chosen]
    return graphs, targets


def _collated(
    dataset: Sequence[Data],
) -> tuple[dict[str, Tensor], Tensor, Tensor, list[Tensor]] | None:
    """What an in-memory dataset of PyG has end to end already; None where it must be collated."""
    if (
        not isinstance(dataset, InMemoryDataset)
        or dataset.transform is not None
        or dataset.slices is None
        or type(dataset).get is not InMemoryDataset.get
    ):
        return None
    data, slices = dataset._data, dataset.slices
    values = {key: data.get(key) for key in (*_KEPT, "y") if data.get(key) is not None}
    if not {"x", "y"} <= values.keys() <= slices.keys():
        return None
    if not all(isinstance(each, Tensor) and each.dim() for each in values.values()):
        return None
    counts = {key: torch.as_tensor(slices[key]).diff() for key in values}
    per_edge = [key for key in ("edge_index", "edge_attr", "edge_weight") if key in counts]
    if any(not torch.equal(counts[key], counts["edge_index"]) for key in per_edge):
        return None
    if values["x"].dim() != 2 or not values["x"].is_floating_point():
        return None
    targets = list(values.pop("y").split(counts["y"].tolist()))
    edge_counts = counts.get("edge_index", torch.zeros_like(counts["x"]))
    return values, counts["x"], edge_counts, targets


def _plain(value: Tensor) -> Tensor:
    return value.as_tensor() if isinstance(value, EdgeIndex) else value


def _check_same(index: int, graph: Data, first: Data) -> None:
    """Check that a graph has what a training needs, and the same as the first graph."""
    for key in ("x", "y"):
        if graph.get(key) is None:
            raise InputError(f"Graph {index} has no {key}.")
    if graph.x.dim() != 2:
        raise InputError(
            f"Graph {index} has features x of shape {list(graph.x.shape)}; one row per node is "
            f"needed: [nodes, features]."
        )
    if not graph.x.is_floating_point():
        raise InputError(
            f"Graph {index} has features x of {graph.x.dtype}; floats are needed. One-hot "
            f"encode class numbers (torch.nn.functional.one_hot), then .float()."
        )
    if graph.get("edge_index") is not None:
        check_edge_index(graph.edge_index, graph.x.size(0), where=f"Graph {index}")
    for key in _KEPT:
        value, other = graph.get(key), first.get(key)
        if (value is None) != (other is None):
            raise InputError(f"Graphs 0 and {index} differ: only one of them has {key}.")
        if value is None or key == "edge_index":
            continue
        if value.shape[1:] != other.shape[1:]:
            raise _differ(index, key, other.shape[1:], value.shape[1:])
        if key != "x" and value.size(0) != graph.num_edges:
            raise InputError(
                f"Graph {index} has {value.size(0)} rows of {key} for {graph.num_edges} edges."
            )


def _differ(index: int, key: str, first: Sequence[int], here: Sequence[int]) -> InputError:
    return InputError(
        f"Graphs 0 and {index} differ: rows of {key} have the shapes {list(first)} and "
        f"{list(here)}. Encode all graphs alike."
    )


def _check_nodes_of_edges(graphs: Graphs) -> None:
    """Check that each graph has nodes, and that its edges, counted from 0, join these."""
    if bool((graphs.node_counts < 1).any()):
        index = int((graphs.node_counts < 1).nonzero()[0])
        raise InputError(f"Graph {index} has no nodes; at least one is needed.")
    sizes = graphs.node_counts[graphs.edge_graph]
    wrong = ((graphs.edge_index < 0) | (graphs.edge_index >= sizes)).any(0)
    if bool(wrong.any()):
        index = int(graphs.edge_graph[wrong][0])
        edges = graphs.edge_index[:, graphs.edge_graph == index]
        check_edge_index(edges, int(graphs.node_counts[index]), where=f"Graph {index}")


def _width(y: Tensor, task: str) -> int:
    """C or T, from the targets."""
    return int(y.max()) + 1 if task == "classes" else y.size(1)


def num_outputs(found: int, task: str, class_names: Sequence[str] | None) -> int:
    """C or T, of which so many were found; a class may have a name, but no graph."""
    if class_names is None or len(class_names) == found:
        return found
    if task == "classes" and len(class_names) > found:
        return len(class_names)
    what = "classes" if task == "classes" else "columns of y"
    raise InputError(f"There are {found} {what}, but {len(class_names)} class_names.")


def _check_finite(what: str, rows: Tensor | None, graph: Tensor) -> None:
    """Check that no row, whose graph is known, has an infinite or a missing value."""
    if rows is not None and not bool(rows.isfinite().all()):
        wrong = (~rows.isfinite()).flatten(1).any(1)
        raise InputError(
            f"The {what} of graph {int(graph[wrong][0])} are not all finite. Fill in what is "
            f"missing (NaN), or leave the graph out."
        )


def _split(dataset: Any) -> dict[str, Tensor] | None:
    """The dataset's own split; that of a whole dataset does not hold for a part of it."""
    split = getattr(dataset, "split", None)
    if not isinstance(split, dict) or getattr(dataset, "_indices", None) is not None:
        return None
    return {part: torch.as_tensor(index, dtype=torch.long) for part, index in split.items()}


def kind_of(task: str, columns: Sequence[int]) -> str:
    """What a dataset's fingerprint depends on besides its graphs: task and continuous columns.

    The metric is part of a run, not of the data; the usual one is here because it once was.
    """
    plain = task == "classes" and not columns
    return "" if plain else f"{task} {METRICS[task][0]} {list(columns)};"


def fingerprint_of(graphs: Graphs, more: str = "") -> str:
    """A digest of all graphs, and of what more the numbers of a run depend on."""
    hasher = hashlib.sha256(more.encode())
    levels = {**graphs.nodes, **graphs.edges, **graphs.graphs, "node_ptr": graphs.node_ptr}
    for name, value in sorted(levels.items()):
        hasher.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        hasher.update(value.contiguous().cpu().numpy().tobytes())
    return hasher.hexdigest()[:24]
