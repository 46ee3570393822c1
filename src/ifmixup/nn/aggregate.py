"""Edges grouped by the node that receives, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from ifmixup.edges import starts_of


@dataclass(eq=False, repr=False)
class Neighbours:
    """The edges by target: node i hears from ``source[ptr[i]:ptr[i + 1]]``.

    Sums over neighbours are then sums over consecutive edges, which need neither a message per edge
    nor a scatter. Models make this once per forward pass. Layers and models take it in place of
    ``edge_index``; edge weights and attributes stay in the order of that ``edge_index``.

    Attributes:
        ptr: Where the edges of each target begin, ``[N + 1]``.
        source: Where each edge comes from, ``[E]``.
        target: Where each edge goes, ``[E]``, in ascending order.
        order: The position of each edge before it was sorted, ``[E]``; None: the same.
        is_undirected: Whether every edge has its mirror image, with the same weight and attributes.
            Then the matrix of the edges is symmetric, and gradients flow along the same
            ``Neighbours``. (The two directions of an edge then share their gradient: a weight may
            get that of its mirror image.)
    """

    ptr: Tensor
    source: Tensor
    target: Tensor
    order: Tensor | None = None
    is_undirected: bool = False

    @staticmethod
    def of(edge_index: Tensor, num_nodes: int) -> Neighbours:
        """From any ``edge_index`` ``[2, E]``; an ``EdgeIndex`` sorted by column stays as it is."""
        is_sorted, order = False, None
        if isinstance(edge_index, EdgeIndex):
            is_sorted, edge_index = edge_index.is_sorted_by_col, edge_index.as_tensor()
        source, target = edge_index
        if not is_sorted:
            target, order = target.sort(stable=True)
            source = source.index_select(0, order)
        return Neighbours(starts_of(target, num_nodes), source, target, order)

    @staticmethod
    def mirrored(edge_index: Tensor, num_nodes: int) -> Neighbours:
        """From edges sorted by source, each of which has its mirror image.

        Read backwards, such edges, as PyG keeps those of undirected graphs, are sorted by target,
        and the same: nothing needs sorting. Weights and attributes, if any, must be equal for both
        directions of an edge. This is not checked.
        """
        target, source = edge_index
        return Neighbours(starts_of(target, num_nodes), source, target, is_undirected=True)

    def __repr__(self) -> str:
        kind = ", mirrored=True" if self.is_undirected else ""
        return f"Neighbours(num_nodes={self.num_nodes}, num_edges={self.num_edges}{kind})"

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
        target = self.target.index_select(0, order)
        return Neighbours(starts_of(source, self.num_nodes), target, source, order)


def widened(values: Tensor) -> Tensor:
    """In 32 bits at least, for sums: in bfloat16, 256 + 1 is 256."""
    return values if values.dtype.itemsize > 2 else values.float()


def sum_at(values: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """Sum the rows of ``values`` ``[E, ...]`` that have the same target node: ``[N, ...]``."""
    return values.new_zeros(num_nodes, *values.shape[1:]).index_add_(0, target, values)


def weighted_sum(
    h: Tensor,
    neighbours: Neighbours,
    edge_weight: Tensor | None = None,
    self_weight: Tensor | None = None,
) -> Tensor:
    r"""Sum the neighbours of every node, each times the weight of its edge, and the node itself.

    .. math::
        s_i \cdot \mathbf{h}_i + \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j

    One sparse product: no message is ever stored. Gradients reach ``h`` ``[N, F]`` and both
    weights: :math:`e` ``[E]`` in the order of ``neighbours``, by default 1, and :math:`s`
    ``[N, 1]`` or ``[1]``, by default 0.
    """
    # torch.compile cannot trace the cached edges that gradients flow along; it takes torch's own.
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _WeightedSum.apply(h, edge_weight, self_weight, neighbours)
    return _weighted_sum(h, neighbours, edge_weight, self_weight)


def _weighted_sum(
    h: Tensor, neighbours: Neighbours, edge_weight: Tensor | None, self_weight: Tensor | None
) -> Tensor:
    # A sparse matrix times a dense one, under the name that torch's fastest kernel for it has.
    out: Tensor = torch.embedding_bag(
        h,
        neighbours.source,
        neighbours.ptr,
        per_sample_weights=None if edge_weight is None else edge_weight.to(h.dtype),
        include_last_offset=True,
    )[0]
    return out if self_weight is None else out.addcmul_(h, self_weight.to(h.dtype))


class _WeightedSum(torch.autograd.Function):
    """The derivatives of :func:`weighted_sum`, where embedding_bag's own would scatter."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        edge_weight: Tensor | None,
        self_weight: Tensor | None,
        neighbours: Neighbours,
    ) -> Tensor:
        needs_h = any(ctx.needs_input_grad[1:3])
        ctx.save_for_backward(h if needs_h else None, edge_weight, self_weight)
        ctx.neighbours = neighbours
        return _weighted_sum(h, neighbours, edge_weight, self_weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        h, edge_weight, self_weight = ctx.saved_tensors
        neighbours: Neighbours = ctx.neighbours
        grad_h = grad_edge = grad_self = None
        if ctx.needs_input_grad[0]:  # the same sum along the edges turned around
            back = neighbours.reverse
            weight = None if edge_weight is None else back.sort(edge_weight)
            grad_h = weighted_sum(grad, back, weight, self_weight)
        if ctx.needs_input_grad[1]:
            at_target = grad.index_select(0, neighbours.target)
            grad_edge = (at_target * h.index_select(0, neighbours.source)).sum(dim=-1)
        if ctx.needs_input_grad[2]:
            if self_weight.numel() == 1:
                grad_self = grad.flatten().dot(h.flatten()).view_as(self_weight)
            else:
                grad_self = (grad * h).sum(dim=-1, keepdim=True)
        return grad_h, grad_edge, grad_self, None


def without_loops(neighbours: Neighbours, edge_weight: Tensor) -> Tensor:
    """Set the weight of every self-loop to 0 ``[E]``, for layers that bring their own of weight 1.

    Masking keeps the number of edges (no device sync) and works however often a loop stands.
    """
    return edge_weight.masked_fill(neighbours.source == neighbours.target, 0.0)
