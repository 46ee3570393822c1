"""Vectorised operations on the graphs of a batch, without a loop over graphs.

A :class:`Graphs` is a batch by level: the attributes of nodes, of edges and of graphs, and where
each graph begins. Surgery is then indexing, the same for every attribute of a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from torch_geometric.utils import coalesce

from ifmixup.edges import edge_keys, edges_of_keys, starts_of
from ifmixup.errors import InputError

_WEIGHTS = {"edge_weight", "node_weight", "y_weight"}  # 1 where they are not given


@dataclass(frozen=True)
class Graphs:
    """B graphs with N nodes and E edges in all; the edges of a graph are together, in order.

    Attributes:
        nodes: Node attributes, each ``[N, ...]``.
        edges: Edge attributes, each ``[E, ...]``, and ``edge_index`` ``[2, E]`` counting nodes from
            0 to N − 1.
        graphs: Graph attributes: a tensor ``[B, ...]`` or a list of B things.
        node_ptr: Where the nodes of each graph begin, ``[B + 1]``.
        edge_ptr: Where the edges of each graph begin, ``[B + 1]``.
        index: The index of each graph in its dataset, ``[B]``, where that is known; a mixed graph
            has that of its first graph.
    """

    nodes: dict[str, Tensor]
    edges: dict[str, Tensor]
    graphs: dict[str, Any]
    node_ptr: Tensor
    edge_ptr: Tensor
    index: Tensor | None = None

    @property
    def num_graphs(self) -> int:
        """The number of graphs, B."""
        return self.node_ptr.numel() - 1

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs, N."""
        return next(iter(self.nodes.values())).size(0)

    @property
    def edge_index(self) -> Tensor:
        """Sources and targets, ``[2, E]``."""
        return self.edges["edge_index"]

    @property
    def edge_attributes(self) -> dict[str, Tensor]:
        """The attributes of edges without ``edge_index``."""
        return {key: value for key, value in self.edges.items() if key != "edge_index"}

    @cached_property
    def node_counts(self) -> Tensor:
        """The number of nodes of each graph, ``[B]``."""
        return self.node_ptr.diff()

    @cached_property
    def edge_counts(self) -> Tensor:
        """The number of edges of each graph, ``[B]``."""
        return self.edge_ptr.diff()

    @cached_property
    def source_ptr(self) -> Tensor:
        """Where the edges of each source begin, ``[N + 1]``, when they are sorted by source."""
        return starts_of(self.edge_index[0], self.num_nodes)

    @cached_property
    def degree(self) -> Tensor:
        """The number of edges of each source, ``[N]``, when they are sorted by source."""
        return self.source_ptr.diff()

    @property
    def node_graph(self) -> Tensor:
        """The graph of each node, ``[N]``: what PyG calls ``batch``."""
        return graph_of(self.node_ptr, self.num_nodes)

    @property
    def edge_graph(self) -> Tensor:
        """The graph of each edge, ``[E]``."""
        return graph_of(self.edge_ptr, self.edge_index.size(1))


def pointers(counts: Tensor) -> Tensor:
    """Where each of ``counts`` ``[B]`` begins and the last one ends: ``[B + 1]``."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def graph_of(ptr: Tensor, total: int) -> Tensor:
    """The graph that each of ``total`` rows belongs to, given where the graphs begin."""
    if ptr.numel() == 2:  # a single graph may be large: no memory for what is all the same
        return ptr.new_zeros(1).expand(total)
    return torch.repeat_interleave(ptr.diff(), output_size=total)


def ranges(start: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Numbers start_g, …, start_g + counts_g − 1 of all g end to end, the g of each, and pointers
    where each g begins.
    """
    ptr = pointers(counts)
    total = int(ptr[-1])
    segment = graph_of(ptr, total)
    shift = (start - ptr[:-1]).index_select(0, segment)
    return shift.add_(torch.arange(total, device=ptr.device)), segment, ptr


def select(graphs: Graphs, index: Tensor) -> Graphs:
    """The graphs numbered ``index`` ``[B']``, in that order; a graph may come more than once."""
    starts = graphs.node_ptr[index]
    node, _, node_ptr = ranges(starts, graphs.node_counts[index])
    edge, graph, edge_ptr = ranges(graphs.edge_ptr[index], graphs.edge_counts[index])
    shift = (node_ptr[:-1] - starts).index_select(0, graph)
    edge_index = take_edges(graphs.edge_index, edge).add_(shift)
    return Graphs(
        nodes=_rows(graphs.nodes, node),
        edges={"edge_index": edge_index, **_rows(graphs.edge_attributes, edge)},
        graphs={
            key: value[index] if isinstance(value, Tensor) else [value[i] for i in index.tolist()]
            for key, value in graphs.graphs.items()
        },
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        index=None if graphs.index is None else graphs.index[index],
    )


def cut(graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
    """The batches of graphs numbered ``batches``; many at once are faster than one by one."""
    if len(batches) == 1:
        return [select(graphs, batches[0])]
    return split(select(graphs, torch.cat(list(batches))), [batch.numel() for batch in batches])


def split(graphs: Graphs, sizes: Sequence[int]) -> list[Graphs]:
    """Cut graphs into groups of ``sizes``, in order; tensors are shared as far as they can be."""
    at = [0, *accumulate(sizes)]
    node_at, edge_at = graphs.node_ptr[at].tolist(), graphs.edge_ptr[at].tolist()
    groups = []
    for group, node, edge in zip(pairwise(at), pairwise(node_at), pairwise(edge_at), strict=True):
        edges = {key: value[slice(*edge)] for key, value in graphs.edge_attributes.items()}
        first, last = group
        groups.append(
            Graphs(
                nodes={key: value[slice(*node)] for key, value in graphs.nodes.items()},
                edges={"edge_index": graphs.edge_index[:, slice(*edge)] - node[0], **edges},
                graphs={key: value[first:last] for key, value in graphs.graphs.items()},
                node_ptr=graphs.node_ptr[first : last + 1] - node[0],
                edge_ptr=graphs.edge_ptr[first : last + 1] - edge[0],
                index=None if graphs.index is None else graphs.index[first:last],
            )
        )
    return groups


def check_alike(a: Graphs, b: Graphs) -> None:
    """Check that two batches have the same attributes; weights may be given in one of them only."""
    for mine, theirs in ((a.nodes, b.nodes), (a.edges, b.edges), (a.graphs, b.graphs)):
        for name in sorted((mine.keys() ^ theirs.keys()) - _WEIGHTS):
            raise InputError(
                f"Only one of the two graphs has {name!r}. Give it to both, or leave it out with "
                f"drop=[{name!r}]."
            )
        for name in (mine.keys() & theirs.keys()) - {"edge_index"}:
            if mine[name].shape[1:] != theirs[name].shape[1:]:
                raise InputError(
                    f"{name!r} has a different width in the two graphs: rows of shape "
                    f"{list(mine[name].shape[1:])} and {list(theirs[name].shape[1:])}. "
                    f"Encode both alike."
                )


def take_edges(edge_index: Tensor, index: Tensor) -> Tensor:
    """The columns ``index`` of ``edge_index``; gather is four times as fast as index_select."""
    return edge_index.gather(1, index.expand(2, -1))


def concatenate(a: Graphs, b: Graphs) -> Graphs:
    """The graphs of ``a`` and then those of ``b``, which must have the same attributes.

    Where only one of them has edge weights or node weights, those of the other are 1.
    """
    check_alike(a, b)
    known = a.index is not None and b.index is not None
    return Graphs(
        nodes=_join(_weighted(a.nodes, b.nodes), _weighted(b.nodes, a.nodes)),
        edges={
            "edge_index": torch.cat([a.edge_index, b.edge_index + a.num_nodes], 1),
            **_join(_weighted(a.edges, b.edges), _weighted(b.edges, a.edges)),
        },
        graphs=_join(_weighted(a.graphs, b.graphs), _weighted(b.graphs, a.graphs)),
        node_ptr=torch.cat([a.node_ptr, b.node_ptr[1:] + a.node_ptr[-1]]),
        edge_ptr=torch.cat([a.edge_ptr, b.edge_ptr[1:] + a.edge_ptr[-1]]),
        index=torch.cat([a.index, b.index]) if known else None,  # type: ignore[list-item]
    )


def permute_nodes(graphs: Graphs, order: Tensor) -> Graphs:
    """Reorder the nodes within their graphs: node i is what was node ``order[i]``.

    The edges are sorted by source before, and after.
    """
    moved_to = torch.empty_like(order)
    moved_to[order] = torch.arange(order.numel(), device=order.device)
    edge, source, _ = ranges(graphs.source_ptr[order], graphs.degree[order])
    target = moved_to[graphs.edge_index[1].index_select(0, edge)]
    edges = {"edge_index": torch.stack([source, target]), **_rows(graphs.edge_attributes, edge)}
    return replace(graphs, nodes=_rows(graphs.nodes, order), edges=edges)


def keep_edges(graphs: Graphs, keep: Tensor) -> Graphs:
    """The graphs with only the edges where ``keep`` ``[E]`` is true."""
    kept = keep.nonzero().view(-1)
    counted = pointers(keep.long())  # kept edges before each edge
    edge_index = take_edges(graphs.edge_index, kept)
    edges = {"edge_index": edge_index, **_rows(graphs.edge_attributes, kept)}
    return replace(graphs, edges=edges, edge_ptr=counted[graphs.edge_ptr])


def keep_nodes(graphs: Graphs, keep: Tensor) -> Graphs:
    """The graphs with only the nodes where ``keep`` ``[N]`` is true, and the edges between them."""
    kept = keep.nonzero().view(-1)
    counted = pointers(keep.long())  # kept nodes before each node: also a kept node's new number
    source, target = graphs.edge_index
    rest = keep_edges(graphs, keep[source] & keep[target])
    return replace(
        rest,
        nodes=_rows(graphs.nodes, kept),
        edges={**rest.edges, "edge_index": counted[rest.edge_index]},
        node_ptr=counted[graphs.node_ptr],
    )


def without_repeated_edges(graphs: Graphs) -> Graphs:
    """Each edge once: weights of repeated edges are added, their other attributes averaged."""
    source, target = graphs.edge_index
    same = source[1:] == source[:-1]
    if bool(((source[1:] > source[:-1]) | (same & (target[1:] > target[:-1]))).all()):
        return graphs  # strictly sorted, as PyG keeps its datasets
    edges = graphs.edge_attributes
    weight = edges.pop("edge_weight", None)
    if len(graphs.edges) == 1:
        keys = edge_keys(graphs.num_nodes, graphs.edge_index).sort().values.unique_consecutive()
        edge_index = edges_of_keys(keys, graphs.num_nodes)
    else:
        edge_index, values = coalesce(
            graphs.edge_index, list(edges.values()), graphs.num_nodes, reduce="mean"
        )
        edges = dict(zip(edges, values, strict=True))
    if weight is not None:
        _, edges["edge_weight"] = coalesce(graphs.edge_index, weight, graphs.num_nodes)
    return replace(
        graphs,
        edges={"edge_index": edge_index, **edges},
        edge_ptr=edge_pointers(edge_index, graphs.node_ptr, graphs.num_nodes),
    )


def is_one_hot(x: Tensor) -> bool:
    """Whether every row of ``x`` ``[N, d]`` has a single 1 and is 0 elsewhere."""
    # As many numbers that are not 0 as there are rows, and each row sums to 1.
    return x.dim() == 2 and int(x.count_nonzero()) == len(x) and bool((x.sum(1) == 1).all())


def is_undirected(graphs: Graphs) -> bool:
    """Whether edges are sorted by source, and each has its mirror image with the same attributes.

    The matrix of the edges is then symmetric: a sum over sources is a sum over targets.
    """
    source = graphs.edge_index[0]
    if bool((source[1:] < source[:-1]).any()):
        return False
    forth = edge_keys(graphs.num_nodes, graphs.edge_index)
    back = edge_keys(graphs.num_nodes, graphs.edge_index.flip(0))
    forth, order = forth.sort(stable=True)
    back, mirror = back.sort(stable=True)
    return torch.equal(forth, back) and all(
        torch.equal(value[order], value[mirror]) for value in graphs.edge_attributes.values()
    )


def edge_pointers(edge_index: Tensor, node_ptr: Tensor, num_nodes: int) -> Tensor:
    """Where each graph's edges begin when they are in graph order, ``[B + 1]``."""
    num_graphs = node_ptr.numel() - 1
    if num_graphs == 1:
        return node_ptr.new_tensor([0, edge_index.size(1)])
    edge_graph = graph_of(node_ptr, num_nodes).index_select(0, edge_index[0])
    return pointers(torch.bincount(edge_graph, minlength=num_graphs))


def _weighted(level: dict[str, Tensor], like: dict[str, Tensor]) -> dict[str, Tensor]:
    """The attributes of a level, with weights of 1 where only ``like`` has weights."""
    own = {name: value for name, value in level.items() if name != "edge_index"}
    for name in (like.keys() - level.keys()) & _WEIGHTS:
        if name == "edge_weight":
            shape = level["edge_index"].shape[1:]
        else:
            shape = level["y"].shape if name == "y_weight" else level["x"].shape[:1]
        own[name] = like[name].new_ones(shape)
    return own


def _join(a: dict[str, Tensor], b: dict[str, Tensor]) -> dict[str, Tensor]:
    """Lay the same attributes of two batches end to end."""
    return {name: torch.cat([value, b[name]]) for name, value in a.items()}


def _rows(level: dict[str, Tensor], index: Tensor) -> dict[str, Tensor]:
    """The rows ``index`` of each attribute."""
    return {key: value.index_select(0, index) for key, value in level.items()}
