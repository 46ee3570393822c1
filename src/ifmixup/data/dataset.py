"""The dataset object: PyG's own in-memory dataset, with a name."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset


class TUGraphs(InMemoryDataset):
    """Graphs of a TU dataset, held in memory; indexing, slicing and loading are PyG's.

    Args:
        name: The name of the dataset.
        data: All graphs, one after the other.
        slices: Where each graph begins and ends, for each attribute of ``data``.
    """

    def __init__(self, name: str, data: Data, slices: dict[str, Tensor]) -> None:
        super().__init__(root=None)
        self.name = name
        self.data, self.slices = data, slices

    def __repr__(self) -> str:
        return f"{self.name}({len(self)})"
