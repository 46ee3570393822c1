"""Who sends to whom, grouped by the node that receives."""

from __future__ import annotations

from functools import cached_property

from torch import Tensor
from torch_geometric import EdgeIndex

from ifmixup.edges import starts_of


class Neighbours:
    """The edges by target: node i hears from ``source[ptr[i]:ptr[i + 1]]``.

    Sums over neighbours are then sums over consecutive edges, which need neither a message per edge
    nor a scatter. A model makes this once per forward pass and uses it in every layer.

    Args:
        ptr: Where the edges of each target begin, ``[N + 1]``.
        source: Where each edge comes from, ``[E]``.
        target: Where each edge goes, ``[E]``, in ascending order.
        order: The place that each edge had before it was sorted, ``[E]``; None: the same.
        mirrored: Whether every edge has its mirror image, with the same weight and attributes. Then
            the matrix of the edges is symmetric, and gradients flow along the same ``Neighbours``.
            (The two directions of an edge then share their gradient: a weight may get that of its
            mirror image.)
    """

    def __init__(
        self,
        ptr: Tensor,
        source: Tensor,
        target: Tensor,
        order: Tensor | None = None,
        *,
        mirrored: bool = False,
    ) -> None:
        self.ptr, self.source, self.target, self.order = ptr, source, target, order
        self.is_undirected = mirrored

    @staticmethod
    def of(edge_index: Tensor, num_nodes: int) -> Neighbours:
        """From any ``edge_index`` ``[2, E]``; an ``EdgeIndex`` sorted by column is not sorted
        again.
        """
        is_sorted = isinstance(edge_index, EdgeIndex) and edge_index.is_sorted_by_col
        if isinstance(edge_index, EdgeIndex):
            edge_index = edge_index.as_tensor()
        source, target = edge_index
        if is_sorted:
            return Neighbours(starts_of(target, num_nodes), source, target)
        target, order = target.sort(stable=True)
        return Neighbours(
            starts_of(target, num_nodes), source.index_select(0, order), target, order
        )

    @staticmethod
    def mirrored(edge_index: Tensor, num_nodes: int) -> Neighbours:
        """From edges sorted by source, each of which has its mirror image.

        Read backwards, such edges are sorted by target, and the same: nothing needs sorting. This
        is not checked.

        Args:
            edge_index: ``[2, E]``, the way PyG keeps undirected graphs. Weights and attributes, if
                any, must be equal for both directions of an edge.
            num_nodes: ``N``
        """
        target, source = edge_index
        return Neighbours(starts_of(target, num_nodes), source, target, mirrored=True)

    @property
    def num_nodes(self) -> int:
        """The number of nodes ``N``."""
        return self.ptr.numel() - 1

    @property
    def num_edges(self) -> int:
        """The number of edges ``E``."""
        return self.source.numel()

    def sort(self, values: Tensor) -> Tensor:
        """What the edges carry ``[E, ...]``, from the order of ``edge_index`` into this one."""
        return values if self.order is None else values.index_select(0, self.order)

    @cached_property
    def reverse(self) -> Neighbours:
        """The edges turned around, along which gradients flow; ``order`` leads here from there."""
        if self.is_undirected:
            return self
        source, order = self.source.sort(stable=True)
        return Neighbours(
            starts_of(source, self.num_nodes), self.target.index_select(0, order), source, order
        )
