"""A dataset packed in memory once; a batch is cut from it by indexing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup.batches import put_together, take_apart
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, select

_KEPT = ("x", "edge_index", "edge_attr", "edge_weight", "y")


@dataclass(frozen=True)
class Packed:
    """All graphs of a dataset in one :class:`~ifmixup.graphs.Graphs`.

    Attributes:
        name: The dataset's name.
        graphs: The graphs, end to end.
        num_classes: The number of classes.
        fingerprint: The same for the same graphs and labels, on every machine.
    """

    name: str
    graphs: Graphs
    num_classes: int
    fingerprint: str

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
    def y(self) -> Tensor:
        """The class of each graph."""
        return self.graphs.graphs["y"]

    def batch(self, index: Tensor) -> Batch:
        """The batch of the graphs numbered ``index``."""
        return put_together(select(self.graphs, index))

    def without_edge_attr(self) -> Packed:
        """The same without edge attributes, for models that do not read them."""
        edges = {name: value for name, value in self.graphs.edges.items() if name != "edge_attr"}
        return replace(self, graphs=replace(self.graphs, edges=edges))

    def to(self, device: torch.device) -> Packed:
        """The same on another device."""
        graphs = self.graphs

        def there(level: dict[str, Any]) -> dict[str, Any]:
            return {name: value.to(device) for name, value in level.items()}

        moved = Graphs(
            nodes=there(graphs.nodes),
            edges=there(graphs.edges),
            graphs=there(graphs.graphs),
            node_ptr=graphs.node_ptr.to(device),
            edge_ptr=graphs.edge_ptr.to(device),
        )
        return replace(self, graphs=moved)

    def to_dict(self) -> dict[str, Any]:
        """As tensors and plain values, to be saved or sent."""
        graphs = self.graphs
        return {
            "name": self.name,
            "num_classes": self.num_classes,
            "fingerprint": self.fingerprint,
            "nodes": graphs.nodes,
            "edges": graphs.edges,
            "graphs": graphs.graphs,
            "node_ptr": graphs.node_ptr,
            "edge_ptr": graphs.edge_ptr,
        }

    @staticmethod
    def of(values: dict[str, Any]) -> Packed:
        """The inverse of :meth:`to_dict`."""
        graphs = Graphs(
            *(values[key] for key in ("nodes", "edges", "graphs", "node_ptr", "edge_ptr"))
        )
        return Packed(values["name"], graphs, values["num_classes"], values["fingerprint"])


def pack(dataset: Sequence[Data], name: str | None = None) -> Packed:
    """Pack a dataset of graphs with class numbers ``y``.

    Args:
        dataset: A PyG dataset or a list of ``Data``.
        name: What to call it; the dataset's own name where it has one.
    """
    if len(dataset) < 2:
        raise InputError(f"A dataset of at least two graphs is needed; got {len(dataset)}.")
    plain: list[Data] = []
    for place, graph in enumerate(dataset):
        if graph.x is None or graph.y is None:
            raise InputError(f"Graph {place} has no {'x' if graph.x is None else 'y'}.")
        if graph.y.is_floating_point() or graph.y.numel() != 1:
            raise InputError(f"Graph {place} has no single class number as y, but {graph.y}.")
        if not graph.x.is_floating_point():
            raise InputError(
                f"Graph {place} has features x of {graph.x.dtype}; floats are needed. One-hot "
                f"encode class numbers (torch.nn.functional.one_hot), then .float()."
            )
        kept = {key: graph[key] for key in _KEPT if graph.get(key) is not None}
        if plain:
            _check_same(place, kept, plain[0])
        kept |= {"x": graph.x.to(torch.get_default_dtype()), "y": graph.y.view(1).long()}
        plain.append(Data(**kept))
    graphs = take_apart(Batch.from_data_list(plain))
    classes = graphs.graphs["y"]
    if int(classes.min()) < 0:
        raise InputError(f"Class numbers start at 0; got {int(classes.min())}.")
    fingerprint = _fingerprint(graphs)
    return Packed(
        # a name of its own, so that two lists of graphs do not share a study
        name=name or getattr(dataset, "name", None) or f"graphs-{fingerprint[:8]}",
        graphs=graphs,
        num_classes=int(classes.max()) + 1,
        fingerprint=fingerprint,
    )


def _check_same(place: int, kept: dict[str, Tensor], first: Data) -> None:
    """See that a graph carries the same as the first one, in rows of the same width."""
    for key in _KEPT:
        here, there = kept.get(key), first.get(key)
        if (here is None) != (there is None):
            raise InputError(f"Graphs 0 and {place} differ: only one of them has {key}.")
        if here is not None and key in ("x", "edge_attr") and here.shape[1:] != there.shape[1:]:
            raise InputError(
                f"Graphs 0 and {place} differ: rows of {key} have the shapes "
                f"{list(there.shape[1:])} and {list(here.shape[1:])}. Encode all graphs alike."
            )


def _fingerprint(graphs: Graphs) -> str:
    hasher = hashlib.sha256()
    levels = {**graphs.nodes, **graphs.edges, **graphs.graphs, "node_ptr": graphs.node_ptr}
    for name, value in sorted(levels.items()):
        hasher.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        hasher.update(value.contiguous().cpu().numpy().tobytes())
    return hasher.hexdigest()[:24]
