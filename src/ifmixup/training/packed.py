"""A dataset packed in memory once; a batch is cut from it by indexing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup.batch import from_batch, to_batch
from ifmixup.data.dataset import check_metric
from ifmixup.data.statistics import continuous
from ifmixup.data.targets import as_target, infer_task
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, select

_KEPT = ("x", "edge_index", "edge_attr", "edge_weight", "y")
_LEARNT = ("task", "metric", "class_names", "encoder", "continuous")


@dataclass(frozen=True)
class PackedDataset:
    """All graphs of a dataset in one :class:`~ifmixup.graphs.Graphs`, and what is learnt of them.

    Attributes:
        name: The dataset's name.
        graphs: The graphs, end to end.
        num_outputs: What a model gives for a graph: C classes, or T labels or values.
        fingerprint: The same for the same graphs, targets and metric, on every machine.
        task: ``classes``, ``labels`` or ``values``; see :class:`~ifmixup.data.GraphDataset`.
        metric: What tells how well it was learnt.
        class_names: The names of the classes, or of the T columns of the target.
        encoder: How the features were encoded, as plain values.
        continuous: The columns of ``x`` that are not all 0 or 1.
        split: The dataset's own ``train``, ``validation`` and ``test``, where it has them.
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
        """What a model that was trained on this must know of it, as plain values."""
        return {
            "name": self.name,
            "graphs": len(self),
            "num_features": self.num_features,
            "num_outputs": self.num_outputs,
            "edge_dim": self.edge_dim,
            **{name: getattr(self, name) for name in _LEARNT},
        }

    def batch(self, index: Tensor) -> Batch:
        """The batch of the graphs numbered ``index``."""
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

        def there(level: dict[str, Any]) -> dict[str, Any]:
            return {name: value.to(device) for name, value in level.items()}

        own = graphs.graphs
        if self.task == "values":
            own = {**there({k: v for k, v in own.items() if k != "y"}), "y": own["y"]}
        else:
            own = there(own)

        moved = Graphs(
            nodes=there(graphs.nodes),
            edges=there(graphs.edges),
            graphs=own,
            node_ptr=graphs.node_ptr.to(device),
            edge_ptr=graphs.edge_ptr.to(device),
        )
        return replace(self, graphs=moved)

    def to_dict(self) -> dict[str, Any]:
        """As tensors and plain values, to be saved or sent."""
        graphs = self.graphs
        return {
            "name": self.name,
            "num_outputs": self.num_outputs,
            "fingerprint": self.fingerprint,
            **{name: getattr(self, name) for name in (*_LEARNT, "split")},
            "nodes": graphs.nodes,
            "edges": graphs.edges,
            "graphs": graphs.graphs,
            "node_ptr": graphs.node_ptr,
            "edge_ptr": graphs.edge_ptr,
        }

    @staticmethod
    def of(values: dict[str, Any]) -> PackedDataset:
        """The inverse of :meth:`to_dict`."""
        graphs = Graphs(
            *(values[key] for key in ("nodes", "edges", "graphs", "node_ptr", "edge_ptr"))
        )
        names = ("name", "num_outputs", "fingerprint", *_LEARNT, "split")
        return PackedDataset(graphs=graphs, **{name: values[name] for name in names})


def pack(
    dataset: Sequence[Data],
    name: str | None = None,
    *,
    task: str | None = None,
    metric: str | None = None,
) -> PackedDataset:
    """Pack a dataset of graphs with targets ``y``.

    Without a ``task``, the dataset's own is taken, and else what ``y`` looks like: one integer a
    graph is a class; floats that are all 0, 1 or NaN are labels; other floats are values.

    Args:
        dataset: A PyG dataset or a list of ``Data``.
        name: What to call it; the dataset's own name where it has one.
        task: ``classes``, ``labels`` or ``values``.
        metric: What tells how well it was learnt; by default the dataset's own, or that of the
            task.
    """
    if len(dataset) < 2:
        raise InputError(f"A dataset of at least two graphs is needed; got {len(dataset)}.")
    task = task or getattr(dataset, "task", None) or infer_task([g.y for g in dataset])
    metric = check_metric(metric or getattr(dataset, "metric", None), task)
    plain: list[Data] = []
    for place, graph in enumerate(dataset):
        if graph.x is None or graph.y is None:
            raise InputError(f"Graph {place} has no {'x' if graph.x is None else 'y'}.")
        if not graph.x.is_floating_point():
            raise InputError(
                f"Graph {place} has features x of {graph.x.dtype}; floats are needed. One-hot "
                f"encode class numbers (torch.nn.functional.one_hot), then .float()."
            )
        kept = {key: graph[key] for key in _KEPT if graph.get(key) is not None}
        kept |= {"x": graph.x.to(torch.get_default_dtype()), "y": as_target(graph.y, task, place)}
        if plain:
            _check_same(place, kept, plain[0])
        plain.append(Data(**kept))
    graphs = from_batch(Batch.from_data_list(plain))
    columns = _continuous(graphs)
    _check_finite_edges(graphs)
    class_names = getattr(dataset, "class_names", None)
    encoder = getattr(dataset, "encoder", None)
    fingerprint = _fingerprint(graphs, _differently(task, metric, columns))
    return PackedDataset(
        # a name of its own, so that two lists of graphs do not share a study
        name=name or getattr(dataset, "name", None) or f"graphs-{fingerprint[:8]}",
        graphs=graphs,
        num_outputs=_num_outputs(graphs.graphs["y"], task, class_names),
        fingerprint=fingerprint,
        task=task,
        metric=metric,
        class_names=None if class_names is None else [str(each) for each in class_names],
        encoder=None if encoder is None else encoder.to_dict(),
        continuous=columns,
        split=_split(dataset),
    )


def _num_outputs(y: Tensor, task: str, class_names: Sequence[str] | None) -> int:
    """C or T, from the targets; a class may have a name, but no graph."""
    found = int(y.max()) + 1 if task == "classes" else y.size(1)
    if class_names is None or len(class_names) == found:
        return found
    if task == "classes" and len(class_names) > found:
        return len(class_names)
    what = "classes" if task == "classes" else "columns of y"
    raise InputError(f"There are {found} {what}, but {len(class_names)} class_names.")


def _continuous(graphs: Graphs) -> list[int]:
    """The columns of ``x`` that are not all 0 or 1; none of them may be infinite or missing."""
    x = graphs.nodes["x"]
    columns = continuous(x)
    if columns and not bool(x[:, columns].isfinite().all()):
        row = int((~x.isfinite()).any(1).nonzero()[0])
        raise InputError(
            f"The features x of graph {int(graphs.node_graph[row])} are not all finite. Fill in "
            f"what is missing (NaN), or leave the graph out."
        )
    return columns


def _check_finite_edges(graphs: Graphs) -> None:
    attributes = graphs.edges.get("edge_attr")
    if attributes is None or bool(attributes.isfinite().all()):
        return
    edge = int((~attributes.isfinite()).flatten(1).any(1).nonzero()[0])
    place = int(graphs.node_graph[graphs.edge_index[0, edge]])
    raise InputError(
        f"The edge_attr of graph {place} are not all finite. Fill in what is missing (NaN), or "
        f"leave the graph out."
    )


def _split(dataset: Any) -> dict[str, Tensor] | None:
    """The dataset's own split; that of a whole does not hold for a part of it."""
    split = getattr(dataset, "split", None)
    if not isinstance(split, dict) or getattr(dataset, "_indices", None) is not None:
        return None
    return {part: torch.as_tensor(places, dtype=torch.long) for part, places in split.items()}


def _check_same(place: int, kept: dict[str, Tensor], first: Data) -> None:
    """See that a graph carries the same as the first one, in rows of the same width."""
    for key in _KEPT:
        here, there = kept.get(key), first.get(key)
        if (here is None) != (there is None):
            raise InputError(f"Graphs 0 and {place} differ: only one of them has {key}.")
        if (
            here is not None
            and key in ("x", "edge_attr", "y")
            and here.shape[1:] != there.shape[1:]
        ):
            raise InputError(
                f"Graphs 0 and {place} differ: rows of {key} have the shapes "
                f"{list(there.shape[1:])} and {list(here.shape[1:])}. Encode all graphs alike."
            )


def _differently(task: str, metric: str, continuous: list[int]) -> str:
    """What else the numbers of a run depend on, where it is more than classes of 0/1 features."""
    if task == "classes" and metric == "accuracy" and not continuous:
        return ""
    return f"{task} {metric} {continuous};"


def _fingerprint(graphs: Graphs, differently: str) -> str:
    hasher = hashlib.sha256(differently.encode())
    levels = {**graphs.nodes, **graphs.edges, **graphs.graphs, "node_ptr": graphs.node_ptr}
    for name, value in sorted(levels.items()):
        hasher.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        hasher.update(value.contiguous().cpu().numpy().tobytes())
    return hasher.hexdigest()[:24]
