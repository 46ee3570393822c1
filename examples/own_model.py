"""Your own model on mixed graphs: pass `edge_weight` to every convolution, and check it.

`ifmixup.check_model` calls the model with other weights and sees whether the logits change. Try it
with `--forget`, which leaves the weights out: such a model trains without an error, but every mixed
edge counts whole. Batch norm and readout get `node_weight`, so nodes count by their share too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import tyro
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GraphConv

from ifmixup import IfMixup, check_model
from ifmixup.data import load
from ifmixup.nn import BatchNorm, global_add_pool


class OwnModel(nn.Module):
    """Two convolutions of PyG that read edge weights, a batch norm, a readout, a linear layer."""

    def __init__(self, in_channels: int, out_channels: int, forget: bool) -> None:
        super().__init__()
        self.first, self.second = GraphConv(in_channels, 32), GraphConv(32, 32)
        self.norm, self.lin = BatchNorm(32), nn.Linear(32, out_channels)
        self.forget = forget

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        batch: Tensor,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """Logits ``[B, C]``; graphs that are not mixed have no weights, which means 1."""
        if self.forget:
            edge_weight = None
        h = self.first(x, edge_index, edge_weight).relu()
        h = self.norm(self.second(h, edge_index, edge_weight), node_weight).relu()
        return self.lin(global_add_pool(h, batch, node_weight=node_weight))


def main(epochs: int = 40, forget: bool = False) -> tuple[list[float], float]:
    """Train, and return the loss of each epoch and the accuracy on the test graphs.

    Args:
        epochs: Passes over the data.
        forget: Leave the edge weights out, to see what the check says.
    """
    torch.manual_seed(0)
    dataset = load("MUTAG")
    train, test = train_test_split(
        range(len(dataset)), test_size=0.2, stratify=dataset.y, random_state=0
    )
    loader = DataLoader(dataset[train], batch_size=32, shuffle=True)
    model = OwnModel(dataset.num_features, dataset.num_classes, forget)
    print(check_model(model, next(iter(loader))))  # raises ifmixup.ModelError
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mixup = IfMixup(dataset.num_classes)

    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in map(mixup, loader):
            out = model(
                batch.x, batch.edge_index, batch.edge_weight, batch.batch, batch.node_weight
            )
            loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        losses.append(total)

    model.eval()
    with torch.inference_mode():
        batch = next(iter(DataLoader(dataset[test], batch_size=len(test))))
        out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        accuracy = float((out.argmax(1) == batch.y).float().mean())
    print(f"loss {losses[0]:.3f} → {losses[-1]:.3f}, test accuracy {accuracy:.3f}")
    return losses, accuracy


if __name__ == "__main__":
    tyro.cli(main)
