"""Sums over the edges that point at a node."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ifmixup.nn.neighbours import Neighbours


def sum_at(values: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """Sum the rows of ``values`` that belong to the same target node.

    Args:
        values: One row an edge ``[E, ...]``.
        target: The node each edge points at ``[E]``.
        num_nodes: The number of nodes ``N``; a node without edges gets zeros.

    Returns:
        ``[N, ...]``
    """
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

    One sparse product: no message is ever stored. Gradients reach ``h`` and both weights.

    Args:
        h: Node representations ``[N, F]``.
        neighbours: The edges.
        edge_weight: :math:`e` ``[E]`` in the order of ``neighbours``, or ``None`` for weight 1.
        self_weight: :math:`s` ``[N, 1]`` or ``[1]``, or ``None`` for 0.

    Returns:
        ``[N, F]``
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
            weight = edge_weight
            if weight is not None and back is not neighbours:
                weight = back.sort(weight)
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
    """Set the weight of every self-loop to 0, for layers that bring their own of weight 1.

    Masking keeps the number of edges (no device sync) and does not care how often a loop stands.

    Args:
        neighbours: The edges.
        edge_weight: ``[E]``

    Returns:
        ``[E]``
    """
    return edge_weight.masked_fill(neighbours.source == neighbours.target, 0.0)
