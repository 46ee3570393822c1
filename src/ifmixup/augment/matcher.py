"""A graph matching network: states of the nodes of two graphs that know of each other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ifmixup.graphs import Graphs, is_one_hot, select


@dataclass(frozen=True)
class Pairs:
    """B pairs of graphs: graph g is the first of pair g, and graph B + g the second.

    Attributes:
        graphs: The 2 B graphs.
        width: The number of nodes n of the largest.
        place: Where each node is among 2 B · n places, ``[N]``.
        there: Which places have a node, ``[2 B, n]``.
    """

    graphs: Graphs
    width: int
    place: Tensor
    there: Tensor

    @staticmethod
    def of(graphs: Graphs, first: Tensor, second: Tensor, width: int) -> Pairs:
        """The pairs of graphs numbered ``first`` and ``second``, ``[B]`` each."""
        chosen = select(graphs, torch.cat([first, second]))
        graph, count = chosen.node_graph, chosen.node_counts
        number = torch.arange(chosen.num_nodes, device=graph.device)
        there = torch.arange(width, device=graph.device) < count.unsqueeze(1)
        return Pairs(chosen, width, number - chosen.node_ptr[graph] + graph * width, there)

    def dense(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of nodes ``[N, d]`` as ``[B, n, d]`` of the first and of the second graphs."""
        padded = value.new_zeros(self.there.numel(), value.size(1))
        padded = padded.index_copy(0, self.place, value).view(*self.there.shape, -1)
        first, second = padded.chunk(2)
        return first, second

    def sparse(self, first: Tensor, second: Tensor) -> Tensor:
        """The inverse of :meth:`dense`."""
        return torch.cat([first, second]).flatten(0, 1).index_select(0, self.place)


class MatchLayer(nn.Module):
    """Messages within each graph, and attention to the other graph of the pair.

    Args:
        channels: The width of the node states.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.receive = nn.Linear(channels, wide, device="cpu")
        self.send = nn.Linear(channels, wide, bias=False, device="cpu")
        self.message = nn.Linear(wide, wide, device="cpu")
        self.update = nn.Sequential(
            nn.Linear(4 * channels, wide, device="cpu"),
            nn.ReLU(),
            nn.Linear(wide, channels, device="cpu"),
        )

    def forward(self, h: Tensor, pairs: Pairs) -> Tensor:
        """The next states ``[N, channels]``."""
        source, target = pairs.graphs.edge_index
        hidden = (self.receive(h)[target] + self.send(h)[source]).relu_()
        # The second layer of the messages is linear: it comes after their sum, once per node.
        total = hidden.new_zeros(h.size(0), hidden.size(1)).index_add(0, target, hidden)
        degree = h.new_zeros(h.size(0)).index_add(0, target, h.new_ones(()).expand(target.numel()))
        message = F.linear(total, self.message.weight)
        message = torch.addcmul(message, degree.unsqueeze(1), self.message.bias)

        first, second = pairs.dense(h)
        here, there = pairs.there.unsqueeze(1).chunk(2)
        score = first @ second.mT
        to_second = score.masked_fill(~there, -torch.inf).softmax(2) @ second
        to_first = score.mT.masked_fill(~here, -torch.inf).softmax(2) @ first
        apart = h - pairs.sparse(to_second, to_first)
        return h + self.update(torch.cat([message, apart, h], 1))


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

    def forward(self, pairs: Pairs) -> Tensor:
        """The node states ``[N, hidden_channels]``."""
        h = self.enter(pairs.graphs.nodes["x"].to(self.enter.weight.dtype))
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
) -> Matcher:
    r"""Train a matcher on triplets of an anchor a, a graph p like it and a graph q unlike it.

    .. math::
        \ell = \max(0, \gamma + \lVert \mathbf{g}_a - \mathbf{g}_p \rVert^2 -
        \lVert \mathbf{g}'_a - \mathbf{g}_q \rVert^2)

    where the representations of a depend on the graph that it is paired with. Every graph is the
    anchor once per epoch. p is a random graph of its class and q one of another class. Where labels
    are no classes, the one of two random graphs whose label is nearer is p, the other q. Without
    labels that differ there is nothing to learn, and the matcher has its initial weights.

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
    """
    device = graphs.node_ptr.device
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        matcher = Matcher(graphs.nodes["x"].size(1), hidden_channels, num_layers).to(device)
    y = graphs.graphs.get("y")
    rows = torch.zeros(graphs.num_graphs, 1, device="cpu") if y is None else y.cpu()
    generator = torch.Generator().manual_seed(seed)
    counts = graphs.node_counts.cpu()
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        optimizer = torch.optim.Adam(
            matcher.parameters(), lr=learning_rate, weight_decay=weight_decay
        )
        for _ in range(epochs):
            for triplets in _triplets(rows, generator).split(batch_size):
                anchor, near, far = triplets.unbind(1)
                width = int(counts[triplets].max())
                first, second = torch.cat([anchor, anchor]), torch.cat([near, far])
                pairs = Pairs.of(graphs, first.to(device), second.to(device), width)
                one, other = matcher.represent(pairs).chunk(2)
                to_near, to_far = (one - other).square().sum(1).chunk(2)
                loss = (margin + to_near - to_far).relu().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return matcher.requires_grad_(False).eval()


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
    known = rows.double().flatten(1).nan_to_num()
    to_one, to_other = ((known[anchor] - known[each]).norm(dim=1) for each in (one, other))
    swap = to_other < to_one
    near, far = torch.where(swap, other, one), torch.where(swap, one, other)
    return torch.stack([anchor, near, far], 1)[to_one != to_other]
