"""GCN on MUTAG by PyG's own layers and a loop by hand: ``python results/plain_pyg.py``.

Does what ``ifmixup`` measures come from its models or its training? Only the transform ``IfMixup``
and the folds are taken from it. Writes ``plain-pyg.md``.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_add_pool

from ifmixup import IfMixup
from ifmixup.data import load
from ifmixup.study.splits import make_splits
from ifmixup.training import pack

FOLDS, EPOCHS, LAYERS, HIDDEN = 10, 100, 5, 64
TEXT = f"""## GCN by PyG's own layers

`GCNConv`, `BatchNorm1d` and a skip connection, {LAYERS} layers of {HIDDEN}, the sum of the nodes,
AdamW with a learning rate of 0.0005 that is halved after 50 epochs, batches of 32, no dropout;
{FOLDS} folds of MUTAG, {EPOCHS} epochs. The mean is over folds and the second half of the epochs,
so that nothing is chosen; the best epoch of the mean curve is how the paper reads it.

| method | mean accuracy | best epoch |
| :-- | --: | --: |
"""


class GCN(nn.Module):
    """What most people would write."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        widths = [num_features] + [HIDDEN] * LAYERS
        self.convs = nn.ModuleList(map(GCNConv, widths[:-1], widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(HIDDEN) for _ in range(LAYERS))
        self.first_skip = nn.Linear(num_features, HIDDEN, bias=False)
        self.head = nn.Sequential(
            nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, num_classes)
        )

    def forward(self, data: Data) -> Tensor:
        """Logits ``[B, C]``."""
        x, weight = data.x, data.get("edge_weight")
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            skip = self.first_skip(x) if number == 0 else x
            x = norm(conv(x, data.edge_index, weight)).relu() + skip
        return self.head(global_add_pool(x, data.batch))


def curve(
    graphs: list[Data], train: list[int], test: list[int], seed: int, mixed: bool
) -> list[float]:
    """The test accuracy after each epoch."""
    torch.manual_seed(seed)
    model = GCN(graphs[0].num_features, 2)
    mixup = IfMixup(num_classes=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0005, weight_decay=0.0)
    halving = torch.optim.lr_scheduler.StepLR(optimizer, 50, 0.5)
    batches = DataLoader([graphs[place] for place in train], 32, shuffle=True)
    (seen,) = DataLoader([graphs[place] for place in test], len(test))
    accuracies = []
    for _ in range(EPOCHS):
        model.train()
        for batch in batches:
            given = mixup(batch) if mixed else batch
            loss = F.cross_entropy(model(given), given.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        halving.step()
        model.eval()
        with torch.no_grad():
            accuracies.append(float((model(seen).argmax(1) == seen.y).float().mean()))
    return accuracies


def main() -> None:
    """Train all folds without and with ifMixup."""
    torch.set_num_threads(1)
    dataset = load("MUTAG")
    graphs = list(dataset)
    splits = make_splits(pack(dataset), folds=FOLDS)
    lines = []
    for method in ("none", "ifmixup"):
        curves = []
        for number in range(FOLDS):
            fold = splits.fold(0, number)
            train = torch.cat([fold.train, fold.validation]).tolist()
            curves.append(curve(graphs, train, fold.test.tolist(), number, method == "ifmixup"))
        mean = [fmean(at) for at in zip(*curves, strict=True)]
        lines.append(
            f"| {method} | {100 * fmean(mean[EPOCHS // 2 :]):.1f} | {100 * max(mean):.1f} |"
        )
    path = Path(__file__).with_name("plain-pyg.md")
    path.write_text(TEXT + "\n".join(lines) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
