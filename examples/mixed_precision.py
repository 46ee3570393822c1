"""ifMixup with mixed precision: matrix products in 16 bits, weights and mixing in 32.

Uses float16 with scaled gradients on a CUDA device, and bfloat16, which needs no scaling, on a CPU.
Graphs are mixed before `torch.autocast` begins: λ and the labels keep all their digits.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import tyro
from sklearn.model_selection import train_test_split
from torch import nn
from torch_geometric.loader import DataLoader

from ifmixup import IfMixup
from ifmixup.data import load
from ifmixup.nn import GIN


def main(epochs: int = 40) -> tuple[nn.Module, list[float], float]:
    """Train, and return the model, the loss of each epoch and the accuracy on the test graphs."""
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float16 if device.type == "cuda" else torch.bfloat16
    scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)
    dataset = load("MUTAG")
    train, test = train_test_split(
        range(len(dataset)), test_size=0.2, stratify=dataset.y, random_state=0
    )
    loader = DataLoader(dataset[train], batch_size=32, shuffle=True)
    model = GIN(dataset.num_features, 32, 3, dataset.num_classes, dropout=0.5).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mixup = IfMixup(dataset.num_classes)

    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in loader:
            batch = mixup(batch.to(device))
            with torch.autocast(device.type, dtype):
                out = model(
                    batch.x,
                    batch.edge_index,
                    batch.edge_weight,
                    batch.batch,
                    node_weight=batch.node_weight,
                )
                loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.item() / len(loader)
        losses.append(total)

    model.eval()
    with torch.inference_mode(), torch.autocast(device.type, dtype):
        batch = next(iter(DataLoader(dataset[test], batch_size=len(test)))).to(device)
        out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        accuracy = float((out.argmax(1) == batch.y).float().mean())
    print(
        f"{out.dtype} logits on {device.type}: loss {losses[0]:.3f} → {losses[-1]:.3f}, "
        f"test accuracy {accuracy:.3f}"
    )
    return model, losses, accuracy


if __name__ == "__main__":
    tyro.cli(main)
