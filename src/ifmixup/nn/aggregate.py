"""Sums over the edges that point at a node."""

from __future__ import annotations

from torch import Tensor


def sum_at(values: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """Sum the rows of ``values`` that belong to the same target node.

    Args:
        values: One row an edge ``[E, ...]``.
        target: The node each edge points at ``[E]``.
        num_nodes: The number of nodes ``N``; a node without edges gets zeros.

    Returns:
        ``[N, ...]``
    """
    return values.new_zeros(num_nodes, *values.shape[1:]).index_add(0, target, values)


def weighted_sum(h: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
    r"""Sum the neighbours of every node, each times the weight of its edge.

    .. math::
        \sum_{j \in \mathcal{N}(i)} e(i, j) \cdot \mathbf{h}_j

    Args:
        h: Node representations ``[N, F]``.
        edge_index: Source and target of every edge ``[2, E]``.
        edge_weight: ``[E]``, or ``None`` for weight 1.

    Returns:
        ``[N, F]``
    """
    source, target = edge_index
    # index_select, not h[source]: its backward is an index_add, where indexing has to sort.
    messages = h.index_select(0, source)
    if edge_weight is not None:
        # The gathered rows are ours, so they are scaled where they lie. Autograd keeps a copy of
        # them only if the weights themselves need a gradient.
        messages = messages.mul_(edge_weight.unsqueeze(-1))
    return sum_at(messages, target, h.size(0))


def without_loops(edge_index: Tensor, edge_weight: Tensor) -> Tensor:
    """Set the weight of every self-loop to 0, for layers that bring their own of weight 1.

    Masking keeps the number of edges (no device sync) and does not care how often a loop stands.

    Args:
        edge_index: ``[2, E]``
        edge_weight: ``[E]``

    Returns:
        ``[E]``
    """
    source, target = edge_index
    return edge_weight.masked_fill(source == target, 0.0)
