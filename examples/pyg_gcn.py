"""PyG's ready-made `torch_geometric.nn.GCN` on mixed graphs, as a graph classifier.

PyG's model is node-level. `ifmixup.nn.Classifier` adds a readout and a linear layer, and gives the
model `edge_weight` by name. PyG's GCN and GraphConv read it; PyG's GIN ignores it, which
`ifmixup.check_model` finds. The class also works in a comparison:
`ifmixup compare MUTAG --models examples/pyg_gcn.py:PooledGCN`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import tyro
from sklearn.model_selection import train_test_split
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCN

from ifmixup import IfMixup, check_model
from ifmixup.data import load
from ifmixup.nn import BatchNorm, Classifier


class PooledGCN(Classifier):
    """PyG's GCN, the sum over the nodes of each graph, and a linear layer."""

    def __init__(
        self, in_channels: int, out_channels: int, hidden_channels: int = 32, num_layers: int = 3
    ) -> None:
        # Our batch norm counts each node by its weight.
        encoder = GCN(in_channels, hidden_channels, num_layers, norm=BatchNorm(hidden_channels))
        super().__init__(encoder, hidden_channels, out_channels, readout="sum")


def main(epochs: int = 40) -> tuple[list[float], float]:
    """Train, and return the loss of each epoch and the accuracy on the test graphs."""
    torch.manual_seed(0)
    dataset = load("MUTAG")
    train, test = train_test_split(
        range(len(dataset)), test_size=0.2, stratify=dataset.y, random_state=0
    )
    loader = DataLoader(dataset[train], batch_size=32, shuffle=True)
    held_out = next(iter(DataLoader(dataset[test], batch_size=len(test))))
    model = PooledGCN(dataset.num_features, dataset.num_classes)
    print(check_model(model, held_out))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mixup = IfMixup(dataset.num_classes)

    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in map(mixup, loader):
            out = model(
                batch.x,
                batch.edge_index,
                batch.edge_weight,
                batch.batch,
                node_weight=batch.node_weight,
            )
            loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        losses.append(total)

    model.eval()
    with torch.inference_mode():
        out = model(held_out.x, held_out.edge_index, held_out.edge_weight, held_out.batch)
        accuracy = float((out.argmax(1) == held_out.y).float().mean())
    print(f"loss {losses[0]:.3f} → {losses[-1]:.3f}, test accuracy {accuracy:.3f}")
    return losses, accuracy


if __name__ == "__main__":
    tyro.cli(main)
