"""PyG's ready-made `torch_geometric.nn.GCN` on mixed graphs: weights by name, then a readout.

PyG's model is of nodes, so that a pooling and a linear layer make it one of graphs. Its GCN, its
GraphConv and others read `edge_weight`; PyG's GIN ignores it, which `ifmixup.check_model` finds.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import tyro
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCN, global_add_pool

from ifmixup import IfMixup, check_model
from ifmixup.data import load


class PooledGCN(nn.Module):
    """PyG's GCN, the sum over the nodes of each graph, and a linear layer."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.gcn = GCN(in_channels, hidden_channels, num_layers=3, norm="batch")
        self.lin = nn.Linear(hidden_channels, out_channels)

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[B, C]``; graphs that are not mixed have no weights, which means 1."""
        h = self.gcn(batch.x, batch.edge_index, edge_weight=batch.edge_weight)
        return self.lin(global_add_pool(h, batch.batch))


def main(epochs: int = 40) -> tuple[list[float], float]:
    """Train, and return the loss of each epoch and the accuracy on the test graphs."""
    torch.manual_seed(0)
    dataset = load("MUTAG")
    train, test = train_test_split(
        range(len(dataset)), test_size=0.2, stratify=dataset.y, random_state=0
    )
    loader = DataLoader(dataset[train], batch_size=32, shuffle=True)
    held_out = next(iter(DataLoader(dataset[test], batch_size=len(test))))
    model = PooledGCN(dataset.num_features, 32, dataset.num_classes)
    print(check_model(model, held_out))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mixup = IfMixup(dataset.num_classes)

    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in map(mixup, loader):
            loss = F.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        losses.append(total)

    model.eval()
    with torch.inference_mode():
        accuracy = float((model(held_out).argmax(1) == held_out.y).float().mean())
    print(f"loss {losses[0]:.3f} → {losses[-1]:.3f}, test accuracy {accuracy:.3f}")
    return losses, accuracy


if __name__ == "__main__":
    tyro.cli(main)
