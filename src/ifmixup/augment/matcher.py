"""A graph matching network: states of the nodes of two graphs that know of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ifmixup.graphs import Graphs, is_one_hot, select

AT_ONCE = 2**16  # slots for pairs of nodes in a group, unless one pair has more
TRAINED_AT_ONCE = 2**16  # nodes and edges of the triplets whose gradients are computed together


@dataclass(frozen=True)
class Pairs:
    """B pairs of graphs: graph g is the first of pair g, and graph B + g the second.

    Attributes:
        graphs: The 2 B graphs.
        width: The number of nodes n of the largest.
        slot: The slot of each node among 2 B · n, ``[N]``.
        there: Which slots have a node, ``[2 B, n]``.
    """

    graphs: Graphs
    width: int
    slot: Tensor
    there: Tensor

    @staticmethod
    def of(graphs: Graphs, first: Tensor, second: Tensor, width: int) -> Pairs:
        """The pairs of graphs numbered ``first`` and ``second``, ``[B]`` each."""
        chosen = select(graphs, torch.cat([first, second]))
        graph, count = chosen.node_graph, chosen.node_counts
        number = torch.arange(chosen.num_nodes, device=graph.device)
        shift = torch.arange(len(count), device=graph.device) * width - chosen.node_ptr[:-1]
        there = torch.arange(width, device=graph.device) < count.unsqueeze(1)
        return Pairs(chosen, width, number + shift.index_select(0, graph), there)

    @cached_property
    def hidden(self) -> Tensor:
        """0 where a slot has a node and −∞ elsewhere, ``[2 B, 1, n]``: attention skips padding."""
        zero = torch.zeros(self.there.shape, dtype=torch.float32, device=self.there.device)
        return zero.masked_fill_(~self.there, -torch.inf).unsqueeze(1)

    def dense(self, value: Tensor) -> Tensor:
        """Rows of nodes ``[N, d]`` as ``[2 B, n, d]``; padding is 0."""
        padded = value.new_zeros(self.there.numel(), value.size(1))
        return padded.index_copy(0, self.slot, value).view(*self.there.shape, -1)


def in_groups(graphs: Graphs, first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Pairs]]:
    """Pairs in groups of similar size, to pad little and to bound memory.

    Args:
        graphs: The graphs.
        first: The first graph of each pair, ``[B]``.
        second: The second, ``[B]``.

    Yields:
        Which of the pairs are in a group, and these pairs.
    """
    size = torch.maximum(graphs.node_counts[first], graphs.node_counts[second]).cpu()
    size, order = size.sort(stable=True)
    begin = 0
    while begin < size.numel():
        number = torch.arange(1, size.numel() - begin + 1, device="cpu")
        end = begin + max(1, int((number * size[begin:] ** 2 <= AT_ONCE).sum()))
        group = order[begin:end].to(first.device)
        yield group, Pairs.of(graphs, first[group], second[group], int(size[end - 1]))
        begin = end


class MatchLayer(nn.Module):
    """Messages within each graph, and attention to the other graph of the pair.

    The last map of the messages' MLP and the first of the update's are both linear, with a sum
    between them: they are one, ``gather``, once per node. The first map of the update is
    linear in its three inputs, and is their sum.

    Args:
        channels: The width of the node states.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.own = nn.Linear(channels, 3 * wide, device="cpu")  # receive, send and update
        self.gather = nn.Linear(wide, wide, bias=False, device="cpu")
        self.other = nn.Linear(channels, wide, bias=False, device="cpu")
        self.leave = nn.Linear(wide, channels, device="cpu")

    def forward(self, h: Tensor, pairs: Pairs) -> Tensor:
        """The next states ``[N, channels]``."""
        source, target = pairs.graphs.edge_index
        receive, send, update = self.own(h).chunk(3, 1)
        message = (receive.index_select(0, target) + send.index_select(0, source)).relu_()
        total = torch.zeros_like(update).index_add_(0, target, message)

        first, second = pairs.dense(h).chunk(2)
        to_first, to_second = pairs.hidden.chunk(2)
        seen = torch.cat([_attend(first, second, to_second), _attend(second, first, to_first)])
        apart = h - seen.flatten(0, 1).index_select(0, pairs.slot)
        return h + self.leave((update + self.gather(total) + self.other(apart)).relu_())


def _attend(h: Tensor, other: Tensor, hidden: Tensor) -> Tensor:
    """softmax(h · otherᵀ) · other, ``[B, n, d]``, in memory that does not grow with n².

    Args:
        h: Node states ``[B, n, d]``.
        other: Node states of the other graphs, ``[B, n, d]``.
        hidden: −∞ where the other graph has no node, else 0, ``[B, 1, n]``.
    """
    values = other.unsqueeze(1)
    mask = hidden.unsqueeze(1).expand(-1, -1, h.size(1), -1)
    return F.scaled_dot_product_attention(
        h.unsqueeze(1), values, values, attn_mask=mask, scale=1.0
    ).squeeze(1)


class Matcher(nn.Module):
    r"""A graph matching network (`Li et al., 2019 <https://arxiv.org/abs/1904.12787>`_).

    In each layer, with j the neighbours of i and k the nodes of the other graph:

    .. math::
        \mathbf{m}_i &= \sum_j \mathrm{MLP}(\mathbf{h}_j, \mathbf{h}_i), \quad
        \boldsymbol{\mu}_i = \mathbf{h}_i - \sum_k \mathrm{softmax}_k(\mathbf{h}_i \cdot
        \mathbf{h}_k) \, \mathbf{h}_k \\
        \mathbf{h}_i &\leftarrow \mathbf{h}_i +
        \mathrm{MLP}(\mathbf{m}_i, \boldsymbol{\mu}_i, \mathbf{h}_i)

    The representation of a graph is a linear map of the sum of gated node states.

    Args:
        in_channels: The width of the node features.
        hidden_channels: The width of the node states.
        num_layers: The number of layers.
    """

    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int) -> None:
        super().__init__()
        self.enter = nn.Linear(in_channels, hidden_channels, device="cpu")
        self.layers = nn.ModuleList(MatchLayer(hidden_channels) for _ in range(num_layers))
        self.gate = nn.Linear(hidden_channels, hidden_channels, device="cpu")
        self.value = nn.Linear(hidden_channels, hidden_channels, device="cpu")
        self.leave = nn.Linear(hidden_channels, hidden_channels, device="cpu")
        self.float()  # whatever the default is

    @staticmethod
    def seeded(in_channels: int, hidden_channels: int, num_layers: int, seed: int) -> Matcher:
        """A new matcher; torch's global generator is as it was before."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return Matcher(in_channels, hidden_channels, num_layers)

    def forward(self, pairs: Pairs) -> Tensor:
        """The node states ``[N, hidden_channels]``."""
        h = self.enter(pairs.graphs.nodes["x"].float())
        for layer in self.layers:
            h = layer(h, pairs)
        return h

    def represent(self, pairs: Pairs) -> Tensor:
        """The graph representations ``[2 B, hidden_channels]``."""
        h = self(pairs)
        gated = self.gate(h).sigmoid() * self.value(h)
        total = gated.new_zeros(pairs.graphs.num_graphs, gated.size(1))
        return self.leave(total.index_add(0, pairs.graphs.node_graph, gated))


def train_matcher(
    graphs: Graphs,
    *,
    hidden_channels: int,
    num_layers: int,
    epochs: int,
    seed: int,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-4,
    margin: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> Matcher:
    r"""Train a matcher on triplets of an anchor a, a graph p like it and a graph q unlike it.

    .. math::
        \ell = \max(0, \gamma + \lVert \mathbf{g}_a - \mathbf{g}_p \rVert^2 -
        \lVert \mathbf{g}'_a - \mathbf{g}_q \rVert^2)

    where the representations of a depend on the graph that it is paired with. Every graph is the
    anchor once per epoch. p is a random graph of its class and q one of another class. Without
    classes, two random graphs are drawn: p is the one with the nearer label, q the other. Without
    labels that differ there is nothing to learn, and the matcher has its initial weights.

    The loss of a step is the mean over its triplets. Its gradient is summed over parts of them with
    at most 2¹⁶ nodes and edges, which bounds the memory whatever the batch size.

    Args:
        graphs: The training graphs, with label rows.
        hidden_channels: See :class:`Matcher`.
        num_layers: See :class:`Matcher`.
        epochs: The number of passes over the graphs.
        seed: Seeds the weights and the triplets.
        batch_size: The number of triplets per step.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        margin: γ
        progress: Called after each step with the share of all steps that is done.
    """
    device = graphs.node_ptr.device
    matcher = Matcher.seeded(graphs.nodes["x"].size(1), hidden_channels, num_layers, seed)
    matcher = matcher.to(device)
    y = graphs.graphs.get("y")
    rows = torch.zeros(graphs.num_graphs, 1, device="cpu") if y is None else y.cpu()
    size = (graphs.node_counts + graphs.edge_counts).cpu()
    generator = torch.Generator().manual_seed(seed)
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        optimizer = torch.optim.Adam(
            matcher.parameters(), lr=learning_rate, weight_decay=weight_decay
        )
        for epoch in range(epochs):
            batches = [each for each in _triplets(rows, generator).split(batch_size) if len(each)]
            for step, triplets in enumerate(batches, start=1):
                optimizer.zero_grad()
                for part in _parts(triplets, size):
                    to_near, to_far = _distances(matcher, graphs, part.to(device))
                    loss = (margin + to_near - to_far).relu().sum() / len(triplets)
                    loss.backward()
                optimizer.step()
                if progress is not None:
                    progress((epoch + step / len(batches)) / epochs)
    return matcher.requires_grad_(False).eval()


def _distances(matcher: Matcher, graphs: Graphs, triplets: Tensor) -> tuple[Tensor, ...]:
    """The squared distances from the anchors of ``triplets`` ``[T, 3]`` to both others."""
    anchor, near, far = triplets.unbind(1)
    first, second = torch.cat([anchor, anchor]), torch.cat([near, far])
    groups, distances = [], []
    for group, pairs in in_groups(graphs, first, second):
        one, other = matcher.represent(pairs).chunk(2)
        groups.append(group)
        distances.append((one - other).square().sum(1))
    return torch.cat(distances)[torch.cat(groups).argsort()].chunk(2)


def _parts(triplets: Tensor, size: Tensor) -> Iterator[Tensor]:
    """Triplets ``[T, 3]`` in parts of bounded size: at least one triplet, and as many as fit.

    Args:
        triplets: The triplets.
        size: The nodes and edges of each graph.
    """
    anchor, near, far = size[triplets].unbind(1)
    sizes = (2 * anchor + near + far).tolist()  # the anchor is in two pairs
    begin = total = 0
    for index, each in enumerate(sizes):
        if index > begin and total + each > TRAINED_AT_ONCE:
            yield triplets[begin:index]
            begin, total = index, 0
        total += each
    yield triplets[begin:]


def _triplets(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Triplets of graphs, each graph once as the anchor if it can be one, ``[T, 3]``."""
    anchor = torch.randperm(len(rows), generator=generator, device="cpu")
    draw = torch.rand(2, len(rows), generator=generator, device="cpu", dtype=torch.float64)
    if is_one_hot(rows):
        label = rows.argmax(1)
        by_class, count = label.argsort(stable=True), torch.bincount(label)
        before, own = (count.cumsum(0) - count)[label[anchor]], count[label[anchor]]
        near = by_class[before + (draw[0] * own).long()]
        number = (draw[1] * (len(rows) - own)).long()
        number = torch.where(number < before, number, number + own).clamp(max=len(rows) - 1)
        found = torch.stack([anchor, near, by_class[number]], 1)
        return found[own < len(rows)]
    one, other = (draw * len(rows)).long()
    known = rows.double().view(len(rows), -1).nan_to_num()  # values may be [B] or [B, T]
    to_one, to_other = ((known[anchor] - known[each]).norm(dim=1) for each in (one, other))
    swap = to_other < to_one
    near, far = torch.where(swap, other, one), torch.where(swap, one, other)
    return torch.stack([anchor, near, far], 1)[to_one != to_other]
