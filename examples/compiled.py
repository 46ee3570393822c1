"""ifMixup with `torch.compile`: one compilation, although every batch of mixed graphs has its size.

`dynamic=True` keeps torch from compiling again for every size. Without a C++ compiler, the model is
traced in the same way and run by torch's ordinary kernels ("aot_eager"). With one, the first
batches take a minute, which pays off on large data but not on MUTAG.
"""

from __future__ import annotations

import os
import shutil

import torch
import torch.nn.functional as F
import tyro
from torch_geometric.loader import DataLoader

from ifmixup import IfMixup
from ifmixup.data import load
from ifmixup.nn import GIN


def choose_backend() -> str:
    """Torch's own compiler where it finds a C++ compiler to help it, else one that needs none."""
    compilers = (os.environ.get("CXX", "g++"), "clang++", "cl")
    return "inductor" if any(map(shutil.which, compilers)) else "aot_eager"


def main(epochs: int = 10, backend: str | None = None) -> tuple[list[float], float]:
    """Train, and return the loss of each epoch and how far compiled logits are from eager ones.

    Args:
        epochs: Passes over the data.
        backend: What compiles: "inductor", or "aot_eager" and "eager", which need no compiler.
    """
    torch.manual_seed(0)
    backend = backend or choose_backend()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = load("MUTAG")
    loader = DataLoader(dataset, batch_size=32, shuffle=True, drop_last=True)
    model = GIN(dataset.num_features, 32, 2, dataset.num_classes, readout="mean", norm="none")
    model = model.to(device)
    compiled = torch.compile(model, dynamic=True, fullgraph=True, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mixup = IfMixup(dataset.num_classes)

    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in loader:
            batch = mixup(batch.to(device))
            inputs = (batch.x, batch.edge_index, batch.edge_weight, batch.batch)
            # With the number of graphs, the model need not read it off a tensor.
            out = compiled(*inputs, batch_size=batch.num_graphs)
            loss = F.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        losses.append(total)

    model.eval()
    with torch.no_grad():
        batch = mixup(next(iter(loader)).to(device))
        inputs = (batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        eager = model(*inputs, batch_size=batch.num_graphs)
        difference = float((compiled(*inputs, batch_size=batch.num_graphs) - eager).abs().max())
    print(
        f"compiled with {backend}: loss {losses[0]:.3f} → {losses[-1]:.3f}, logits within "
        f"{difference:.1e} of the model as it is"
    )
    return losses, difference


if __name__ == "__main__":
    tyro.cli(main)
