"""What a user of PyG would write instead: the same models and loops, without ifmixup.

Peer 1 is the loop of PyG's examples. Peer 2 is the fastest that PyG and torch offer: batches are
collated once (the same graphs are then always in one batch), AdamW is fused, and edges are torch
CSR (normalised beforehand for GCN), an ``EdgeIndex``, or as they are. The plain loop is that of
PyG's examples with a user's own model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, GINConv, global_add_pool, global_mean_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

Epoch = Callable[[], list[float]]  # trains one epoch, gives the loss of each step
Step = tuple[Any, ...]  # what the model takes, and the classes


class PyGModel(nn.Module):
    """GCN with skip connections or GIN, of PyG's own layers: batch norm, sum readout, a head."""

    def __init__(
        self,
        model: str,
        features: int,
        hidden: int,
        layers: int,
        classes: int,
        *,
        dropout: float = 0.5,
        normalize: bool = True,
    ) -> None:
        super().__init__()
        self.is_gcn = model == "gcn"
        widths = [features] + [hidden] * layers
        self.convs = nn.ModuleList()
        for before, after in pairwise(widths):
            if self.is_gcn:
                self.convs.append(GCNConv(before, after, normalize=normalize))
            else:
                mlp = nn.Sequential(
                    nn.Linear(before, after),
                    nn.BatchNorm1d(after),
                    nn.ReLU(),
                    nn.Linear(after, after),
                )
                self.convs.append(GINConv(mlp, train_eps=True))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.skip = nn.Linear(features, hidden, bias=False) if self.is_gcn else None
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, classes)
        )

    def embed(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Tensor:
        for index, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            h = norm(conv(x, edge_index)).relu()
            if self.skip is not None:
                h = h + (self.skip(x) if index == 0 else x)
            x = h
        return global_add_pool(x, batch, size)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Tensor:
        return self.head(self.embed(x, edge_index, batch, size))

    def take_weights(self, ours: Any) -> None:
        """Start from the weights of one of our models; the biases that ours lack start at zero."""
        convs: list[Any] = list(self.convs)
        with torch.no_grad():
            for conv, norm, layer in zip(convs, self.norms, ours.layers, strict=True):
                norm.load_state_dict(layer.norm.state_dict(), strict=False)
                if self.is_gcn:
                    conv.lin.weight.copy_(layer.conv.lin.weight)
                    conv.bias.zero_()  # batch norm takes it away again
                else:
                    inside = layer.conv.nn
                    conv.eps.copy_(layer.conv.eps.squeeze())
                    conv.nn[1].load_state_dict(inside[1].state_dict(), strict=False)
                    for number in (0, 3):
                        conv.nn[number].weight.copy_(inside[number].weight)
                        conv.nn[number].bias.zero_()
            if self.skip is not None:
                self.skip.weight.copy_(ours.layers[0].skip.weight)
            self.head.load_state_dict(ours.head.state_dict())


class UserGIN(nn.Module):
    """What a user of PyG writes: two GIN layers of PyG's own, a mean pool, a linear layer."""

    def __init__(self, in_channels: int, out_channels: int, hidden_channels: int = 64) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            GINConv(
                nn.Sequential(
                    nn.Linear(width, hidden_channels),
                    nn.ReLU(),
                    nn.Linear(hidden_channels, hidden_channels),
                )
            )
            for width in (in_channels, hidden_channels)
        )
        self.lin = nn.Linear(hidden_channels, out_channels)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, batch: Tensor
    ) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.lin(global_mean_pool(x, batch))


def loop(
    model: nn.Module,
    batches: Callable[[], Iterable[Step]],
    learning_rate: float,
    *,
    fused: bool | None = None,
) -> Epoch:
    """The training loop; torch's AdamW is fused only when asked to be."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, fused=fused)

    def epoch() -> list[float]:
        model.train()
        losses = []
        for *inputs, y in batches():
            loss = F.cross_entropy(model(*inputs), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).tolist()

    return epoch


def peer1(
    model: PyGModel, graphs: list[Data], batch_size: int, learning_rate: float, *, shuffle: bool
) -> Epoch:
    """``DataLoader`` and PyG's layers."""
    loader = DataLoader(graphs, batch_size, shuffle=shuffle)

    def batches() -> Iterator[Step]:
        for batch in loader:
            yield batch.x, batch.edge_index, batch.batch, batch.num_graphs, batch.y

    return loop(model, batches, learning_rate)


def plain_loop(
    model: UserGIN, graphs: list[Data], batch_size: int, learning_rate: float, *, shuffle: bool
) -> Epoch:
    """``DataLoader`` and a model of the user's."""
    loader = DataLoader(graphs, batch_size, shuffle=shuffle)

    def batches() -> Iterator[Step]:
        for batch in loader:
            yield batch.x, batch.edge_index, batch.edge_weight, batch.batch, batch.y

    return loop(model, batches, learning_rate)


def peer2(
    model: PyGModel,
    graphs: list[Data],
    batch_size: int,
    learning_rate: float,
    *,
    shuffle: bool,
    edges: str,
) -> Epoch:
    """Batches collated once; ``edges`` is ``csr``, ``EdgeIndex`` or ``edge_index``."""
    collated = [
        (batch.x, as_edges(batch, model.is_gcn, edges), batch.batch, batch.num_graphs, batch.y)
        for batch in DataLoader(graphs, batch_size, shuffle=shuffle)
    ]

    def batches() -> Iterator[Step]:
        order = torch.randperm(len(collated)) if shuffle else torch.arange(len(collated))
        return (collated[index] for index in order.tolist())

    return loop(model, batches, learning_rate, fused=True)


def as_edges(batch: Batch, is_gcn: bool, kind: str) -> Tensor:
    """The edges of a batch in the form that PyG computes with fastest."""
    size = (batch.num_nodes, batch.num_nodes)
    if kind == "csr":
        if is_gcn:
            edge_index, weight = gcn_norm(batch.edge_index, None, batch.num_nodes)
            return to_torch_csr_tensor(edge_index, weight, size=size)
        return to_torch_csr_tensor(batch.edge_index, size=size)
    if kind == "EdgeIndex":
        edges = EdgeIndex(batch.edge_index.flip(0), sparse_size=size, is_undirected=True)
        edges = edges.sort_by("col").values
        return edges.fill_cache_()
    return batch.edge_index
