"""Two graphs of a study's dataset, kept beside its runs for the report to show."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ifmixup.errors import InputError, StoreError
from ifmixup.graphs import select
from ifmixup.safe_io import atomically
from ifmixup.study.store import explained
from ifmixup.training.packed import PackedDataset
from ifmixup.values import as_dict, as_list, decode, decode_number, encode_number, short

FILE_NAME = "examples.json"
MOST_NODES = 40  # of a graph that can be looked at
_MOST_BYTES = 5_000_000


@dataclass(frozen=True)
class Examples:
    """Two graphs of a dataset, by their indices in it."""

    dataset: str
    data: str  # the dataset's fingerprint
    indices: tuple[int, int]
    graphs: tuple[Data, Data]

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        graphs = [
            {
                "x": [[encode_number(value) for value in row] for row in graph.x.tolist()],
                "edge_index": graph.edge_index.tolist(),
            }
            for graph in self.graphs
        ]
        return {**vars(self), "indices": list(self.indices), "graphs": graphs}

    @staticmethod
    def of(values: Any) -> Examples:
        """The inverse of :meth:`to_dict`; the values may come from an untrusted file."""
        given = as_dict(values)
        first, second = (_graph(each) for each in as_list(given.get("graphs")))
        if first.x.size(1) != second.x.size(1):
            raise InputError("the two graphs have features of different widths")
        return Examples(
            decode("dataset", given.get("dataset"), str),
            decode("data", given.get("data"), str),
            decode("indices", given.get("indices"), tuple[int, int]),
            (first, second),
        )


def choose_examples(data: PackedDataset) -> Examples | None:
    """A smaller and a larger graph that are easy to look at; None where all are too large.

    Of the graphs with at most 40 nodes and at least one edge these are the ones at the first and
    at the last quarter by their number of nodes; of equal ones the first, and of another class
    where there is one.
    """
    nodes, edges = data.graphs.node_counts, data.graphs.edge_counts
    fits = ((nodes <= MOST_NODES) & (edges > 0)).nonzero().flatten()
    if len(fits) < 2:
        return None
    ordered = fits[nodes[fits].argsort(stable=True)]
    small = int(ordered[len(ordered) // 4])
    size = nodes[ordered[(3 * len(ordered)) // 4]]
    larger = [int(i) for i in ordered[nodes[ordered] == size] if int(i) != small]
    other = [i for i in larger if not torch.equal(data.y[i], data.y[small])]
    indices = small, (other or larger or [int(i) for i in ordered if int(i) != small])[0]
    picked = select(data.graphs, torch.tensor(indices))
    x, graph, at = picked.nodes["x"], picked.edge_graph, picked.edge_index
    starts = picked.node_counts.cumsum(0) - picked.node_counts
    pair = [
        Data(
            x=x[starts[i] : starts[i] + picked.node_counts[i]],
            edge_index=torch.as_tensor(at)[:, graph == i] - starts[i],
        )
        for i in range(2)
    ]
    return Examples(data.name, data.fingerprint, indices, (pair[0], pair[1]))


def save_examples(folder: Path, data: PackedDataset) -> None:
    """Write two graphs into a study's folder, if there are two that can be looked at."""
    found, path = choose_examples(data), folder / FILE_NAME
    if found is not None:
        with explained(path), atomically(path) as unfinished:
            unfinished.write_text(json.dumps(found.to_dict()) + "\n", encoding="utf-8")


def load_examples(folder: Path) -> Examples | None:
    """The two graphs of a folder; None where there are none.

    Raises:
        StoreError: If the file is damaged.
    """
    path = folder / FILE_NAME
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("it is too large")
        return Examples.of(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, TypeError) as error:
        raise StoreError(f"{path.name} cannot be read: {error}.") from error


def _graph(values: Any) -> Data:
    given = as_dict(values)
    rows = [[decode_number(each) for each in as_list(row)] for row in as_list(given.get("x"))]
    ends = [as_list(each) for each in as_list(given.get("edge_index"))]
    if not 0 < len(rows) <= MOST_NODES or len({len(row) for row in rows}) != 1:
        raise InputError(f"a graph must have 1 to {MOST_NODES} nodes with equally many features")
    if not all(math.isfinite(value) for row in rows for value in row):
        raise InputError("features must be finite numbers")
    flat = [end for side in ends for end in side]
    if len(ends) != 2 or len(ends[0]) != len(ends[1]) or len(ends[0]) > MOST_NODES**2:
        raise InputError(f"{short(ends)} are not edges")
    if not all(type(end) is int and 0 <= end < len(rows) for end in flat):
        raise InputError(f"edges must be between the {len(rows)} nodes of the graph")
    index: Tensor = torch.tensor(ends, dtype=torch.long).view(2, -1)
    return Data(x=torch.tensor(rows, dtype=torch.float), edge_index=index)
