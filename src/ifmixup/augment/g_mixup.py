"""GMixup: add graphs that are sampled from a mixture of two classes' graphons."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.draws import check_fraction, hash_uniform, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.edges import edge_keys, edges_of_keys
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, concatenate, is_one_hot, pointers, select, split
from ifmixup.mixing import check_mixable

MOST_ENTRIES = 2**25  # of all graphons: 270 MB in double precision, a few times


@dataclass(frozen=True)
class GMixupPlan:
    """What each of M new graphs is sampled from.

    Attributes:
        first: The class that has the share λ, ``[M]``.
        second: The other class, ``[M]``.
        lam: λ, ``[M]``.
        seed: The numbers that nodes and edges are sampled with follow from it, ``[M]``.
    """

    first: Tensor
    second: Tensor
    lam: Tensor
    seed: Tensor


@METHODS.register("g_mixup")
class GMixup(Method):
    r"""Adds new graphs to a batch, sampled from mixtures of class graphons.

    From `G-Mixup <https://arxiv.org/abs/2202.07179>`_. For each class, :meth:`fit` estimates a step
    function :math:`W` ``[N, N]`` of edge probabilities and node features :math:`X` ``[N, d]``. N is
    the median number of nodes of the training graphs:

    1. The nodes of each graph are ordered by degree, the highest first; graphs are padded or
       cropped to N nodes.
    2. The adjacency matrices of a class are averaged, and smoothed by universal singular value
       thresholding (USVT): singular values below ``threshold`` :math:`\cdot \sqrt{N}` are dropped,
       and the result is clipped to [0, 1].
    3. :math:`X_i` is the mean of the features of the nodes of rank i.

    A new graph of K nodes, of classes a and b, is

    .. math::
        W = \lambda W_a + (1 - \lambda) W_b, \quad
        A_{ij} = A_{ji} \sim \mathrm{Bernoulli}(W_{ij}) \;\; (i < j), \quad
        X = \lambda X_a + (1 - \lambda) X_b, \quad
        y = \lambda y_a + (1 - \lambda) y_b

    In a PyG loop::

        method = GMixup(num_classes).fit(train_dataset)
        for batch in DataLoader(train_dataset, 32, shuffle=True):
            batch = method(batch)  # up to 7 more graphs; y is float rows [B', C]

    A batch gets ``add_ratio`` · B new graphs on average, at its end; their index in the dataset is
    −1. The graphs of the batch stay as they are, except for graph attributes other than ``y``,
    which new graphs do not have.

    Defaults are those of the paper's text. Its code draws λ from U(0.005, 0.01) and adds 15 %. What
    differs from the paper: new graphs are sampled for every batch, not once before training. What
    the paper leaves open: nodes of equal degree stay in their order; an edge counts in either
    direction, and new graphs are undirected without self-loops (the paper's code can have them) and
    keep isolated nodes (which its code drops); a rank that no graph of a class has gets the mean
    of all classes; an edge has the mean weight and attributes of the edges of its classes; the two
    classes differ, unless the training graphs have only one.

    Args:
        num_classes: Number of classes C; None if ``y`` is one-hot rows already.
        add_ratio: Number of new graphs, as a fraction of the batch.
        lam_low: Smallest λ; it is drawn from U(lam_low, lam_high).
        lam_high: Largest λ.
        num_nodes: Number of nodes K of a new graph, at latent positions u ~ U(0, 1) of the graphon.
            None: K = N, one node per step, as in the paper's code.
        threshold: Threshold of USVT, in units of √N.
        drop: Names of attributes to leave out.
        generator: Random number generator; by default torch's global one.
    """

    title = "G-Mixup"
    keeps_undirected = True
    shown = ("add_ratio", "lam_low", "lam_high")

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        add_ratio: float = 0.2,
        lam_low: float = 0.1,
        lam_high: float = 0.2,
        num_nodes: int | None = None,
        threshold: float = 0.2,
        drop: Collection[str] = (),
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.add_ratio = check_fraction("add_ratio", add_ratio)
        if not 0 <= lam_low <= lam_high <= 1:
            raise InputError(
                f"λ ~ U(lam_low, lam_high) needs 0 <= lam_low <= lam_high <= 1; got "
                f"({lam_low}, {lam_high})."
            )
        if num_nodes is not None and num_nodes < 1:
            raise InputError(f"num_nodes must be at least 1, or None; got {num_nodes}.")
        if threshold < 0:
            raise InputError(f"threshold must be at least 0; got {threshold}.")
        self.lam_low, self.lam_high = lam_low, lam_high
        self.num_nodes, self.threshold, self.drop = num_nodes, threshold, drop
        #: The graphon of each class ``[C, N, N]``; None before :meth:`fit`.
        self.graphon: Tensor | None = None
        #: The node attributes at each step of a class's graphon, each ``[C, N, ...]``.
        self.features: dict[str, Tensor] = {}
        #: The mean edge attributes of a class, each ``[C, ...]``.
        self.edge_features: dict[str, Tensor] = {}
        self._classes: np.ndarray | None = None  # those with training graphs

    def fit(self, graphs: Any, *, seed: int = 0) -> GMixup:
        """Estimate the graphon of each class; see :meth:`Method.fit`. Nothing is drawn."""
        y = graphs.graphs.get("y")
        if y is None or not is_one_hot(y):
            raise InputError(
                "g_mixup mixes the graphons of classes, but y is not one class per graph. Use "
                "another method for labels and values, such as ifmixup."
            )
        device, group, classes = graphs.node_ptr.device, y.argmax(1).cpu(), y.size(1)
        size = max(1, int(np.median(graphs.node_counts.cpu().numpy())))
        if classes * size**2 > MOST_ENTRIES:
            raise InputError(
                f"g_mixup estimates a matrix of {size:,} x {size:,} for each of {classes} classes "
                f"({size:,} nodes are the median), which is too large: at most "
                f"{math.isqrt(MOST_ENTRIES // classes):,} nodes. Use another method, such as "
                f"ifmixup."
            )
        rank, matrix = align(graphs, size, group, classes)
        of_node, of_edge = group[graphs.node_graph.cpu()], group[graphs.edge_graph.cpu()]
        present = torch.bincount(group, minlength=classes)
        mean = matrix / present.clamp(min=1).view(-1, 1, 1)
        self.graphon = usvt(mean, self.threshold).float().to(device)
        self.features = {
            name: _means(value, of_node, rank, classes, size).to(device)
            for name, value in graphs.nodes.items()
        }
        self.edge_features = {
            name: _means(value, of_edge, torch.zeros_like(of_edge), classes, 1)[:, 0].to(device)
            for name, value in graphs.edges.items()
            if name != "edge_index"
        }
        self._classes = present.nonzero().view(-1).numpy()
        return self

    def draw(self, graphs: Graphs) -> GMixupPlan:
        """Draw how many graphs are added, and from which classes, ratios and seeds."""
        return self._draw([graphs.num_graphs], graphs.node_ptr.device)[0]

    def change(self, graphs: Graphs, plan: GMixupPlan) -> Graphs:
        """The graphs, and the new ones after them."""
        return concatenate(graphs, self.sample(plan, graphs)) if plan.lam.numel() else graphs

    def take(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Cut batches and add new graphs to each, drawn and sampled for all of them at once."""
        if type(self).draw is not GMixup.draw or type(self).change is not GMixup.change:
            return super().take(graphs, batches)
        sizes = [batch.numel() for batch in batches]
        plan, counts = self._draw(sizes, graphs.node_ptr.device)
        added = self.change(select(graphs, torch.cat(list(batches))), plan)
        if not any(counts):
            return split(added, sizes)
        # The new graphs of each batch after its own.
        batch = np.repeat(np.tile(np.arange(len(sizes)), 2), [*sizes, *counts])
        order = torch.from_numpy(batch.argsort(kind="stable")).to(graphs.node_ptr.device)
        return split(select(added, order), [n + m for n, m in zip(sizes, counts, strict=True)])

    def sample(self, plan: GMixupPlan, like: Graphs) -> Graphs:
        """The new graphs of a plan, with the device and dtypes of ``like``."""
        device, count = like.node_ptr.device, plan.lam.numel()
        graphon = self._fitted()[0].to(device)
        size = self.num_nodes or graphon.size(1)
        row, column = torch.triu_indices(size, size, 1, device=device)  # all pairs i < j
        each = torch.arange(count, device=device).view(-1, 1)
        step = None
        if self.num_nodes is None:
            probability = _mixture(graphon[:, row, column], plan)
        else:
            number = torch.arange(size, device=device)
            latent = hash_uniform(1, plan.seed.view(-1, 1) + number)
            step = (latent * graphon.size(1)).long()  # [M, K]
            probability = _mixture(graphon, plan)[each, step[:, row], step[:, column]]
        pair = torch.arange(row.numel(), device=device)
        there = hash_uniform(0, plan.seed.view(-1, 1) + pair) < probability
        graph, pair = there.nonzero(as_tuple=True)
        start = graph * size
        upper = torch.stack([row[pair] + start, column[pair] + start])
        keys = edge_keys(count * size, upper, upper.flip(0)).sort().values
        edge_index = edges_of_keys(keys, count * size)  # both directions, by source

        nodes = {}
        for name, value in self.features.items():
            mixed = _mixture(value.to(device), plan)  # [M, N, ...]
            if step is not None:
                mixed = mixed[each, step]
            nodes[name] = mixed.flatten(0, 1).to(like.nodes.get(name, mixed).dtype)
        edges = {"edge_index": edge_index}
        graph = torch.div(edge_index[0], size, rounding_mode="floor")
        for name, value in self.edge_features.items():
            rows = _mixture(value.to(device), plan)[graph]  # [M, ...] and [E, ...]
            edges[name] = rows.to(like.edges.get(name, rows).dtype)
        y = like.graphs.get("y")
        if y is None:
            raise InputError(
                "g_mixup adds graphs with labels, but the graphs of this batch have no y. Add "
                "their classes as y, or use another method."
            )
        first, second = (F.one_hot(c, y.size(1)).to(y.dtype) for c in (plan.first, plan.second))
        lam = plan.lam.to(y.dtype).view(-1, 1)
        return Graphs(
            nodes=nodes,
            edges=edges,
            graphs={
                "y": lam * first + (1 - lam) * second,
                **({"y_weight": y.new_ones(count, y.size(1))} if "y_weight" in like.graphs else {}),
            },
            node_ptr=torch.arange(count + 1, device=device) * size,
            edge_ptr=pointers(2 * there.sum(1)),
            index=None if like.index is None else torch.full_like(plan.seed, -1),
        )

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs whose attributes can be averaged: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)

    def _draw(self, sizes: Sequence[int], device: torch.device) -> tuple[GMixupPlan, list[int]]:
        """Draw for batches of these sizes; and the number of new graphs of each."""
        classes, rng = self._fitted()[1], numpy_generator(self.generator)
        # Rounded up or down by chance: add_ratio · B on average.
        counts = [int(self.add_ratio * size + rng.random()) for size in sizes]
        total = sum(counts)
        first = second = rng.integers(len(classes), size=total)
        if len(classes) > 1:  # any class but the first
            second = (first + rng.integers(1, len(classes), size=total)) % len(classes)
        lam = rng.uniform(self.lam_low, self.lam_high, total).astype(np.float32)
        drawn = (classes[first], classes[second], lam, rng.integers(2**62, size=total))
        return GMixupPlan(*(torch.from_numpy(each).to(device) for each in drawn)), counts

    def _fitted(self) -> tuple[Tensor, np.ndarray]:
        if self.graphon is None or self._classes is None:
            raise InputError(
                "g_mixup samples from graphons that are estimated first: call "
                "method.fit(train_dataset), with the training graphs only."
            )
        return self.graphon, self._classes


def align(graphs: Graphs, size: int, group: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """Order the nodes of each graph by degree, and add up the adjacency matrices of each group.

    Args:
        graphs: The graphs; an edge counts in either direction, self-loops do not count.
        size: The number of nodes N to pad and crop to.
        group: The group of each graph, ``[B]``.
        num_groups: The number of groups C.

    Returns:
        The rank of each node in its graph, and the sums ``[C, N, N]``; on the CPU.
    """
    edge_index, node_ptr = graphs.edge_index.cpu(), graphs.node_ptr.cpu()
    count, graph = graphs.num_nodes, graphs.node_graph.cpu()
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    edge_index = edges_of_keys(edge_keys(count, edge_index, edge_index.flip(0)).unique(), count)
    degree = torch.bincount(edge_index[0], minlength=count)
    order = (graph * (count + 1) - degree).argsort(stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(count, device=order.device) - node_ptr[graph]
    row, column = rank[edge_index]
    inside = (row < size) & (column < size)
    key = (group[graph[edge_index[0]]] * size + row) * size + column
    total = torch.bincount(key[inside], minlength=num_groups * size * size)
    return rank, total.view(num_groups, size, size)


def usvt(mean: Tensor, threshold: float) -> Tensor:
    r"""Universal singular value thresholding of symmetric matrices ``[C, N, N]``.

    Singular values below ``threshold`` :math:`\cdot \sqrt{N}` are dropped, and entries are clipped
    to [0, 1]. The singular values of a symmetric matrix are the absolute eigenvalues.
    """
    value, vector = torch.linalg.eigh(mean.double())
    value = value.masked_fill(value.abs() < threshold * mean.size(-1) ** 0.5, 0)
    smooth = (vector * value.unsqueeze(-2)) @ vector.mT
    return ((smooth + smooth.mT) / 2).clamp(0, 1)


def _means(value: Tensor, group: Tensor, rank: Tensor, classes: int, size: int) -> Tensor:
    """The mean attribute of the rows of each class at each rank, ``[C, size, ...]``."""
    inside = rank < size
    key = (group * size + rank)[inside]
    rows = value.cpu().double()[inside]
    shape = (classes, size, *value.shape[1:])
    total = rows.new_zeros(classes * size, *shape[2:]).index_add_(0, key, rows).view(shape)
    count = torch.bincount(key, minlength=classes * size)
    count = count.view(classes, size, *[1] * (value.dim() - 1))
    # What no graph of a class has is as in all classes.
    everyone = total.sum(0) / count.sum(0).clamp(min=1)
    return torch.where(count > 0, total / count.clamp(min=1), everyone).float()


def _mixture(value: Tensor, plan: GMixupPlan) -> Tensor:
    """λ v_a + (1 − λ) v_b of what each class has, ``[C, ...]``: ``[M, ...]``."""
    lam = plan.lam.view(-1, *[1] * (value.dim() - 1))
    return lam * value[plan.first] + (1 - lam) * value[plan.second]
