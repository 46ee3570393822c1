"""ifMixup in a Lightning module: mix in `on_after_batch_transfer`, on the device, in training only.

Trains on the bundled MUTAG and prints the accuracy on held-out graphs. Needs
`pip install lightning`.
"""

from __future__ import annotations

import logging
from typing import Any

import lightning
import torch
import torch.nn.functional as F
import tyro
from sklearn.model_selection import train_test_split
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from ifmixup import IfMixup
from ifmixup.data import load
from ifmixup.nn import GIN


class MixedGIN(lightning.LightningModule):
    """A GIN that learns from mixed graphs and is tested on graphs as they are."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.model = GIN(num_features, 32, 3, num_classes, dropout=0.5)
        self.mixup = IfMixup(num_classes)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Mix what is trained on; Lightning calls this for every batch, of validation too."""
        return self.mixup(batch) if self.trainer.training else batch

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[B, C]``."""
        return self.model(
            batch.x,
            batch.edge_index,
            batch.edge_weight,
            batch.batch,
            node_weight=batch.get("node_weight"),  # None where the graphs are not mixed
        )

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss of the mixed labels, rows ``[B, C]``."""
        loss = F.cross_entropy(self(batch), batch.y)
        self.log("loss", loss, on_step=False, on_epoch=True, batch_size=batch.num_graphs)
        return loss

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """The accuracy; labels are class numbers ``[B]``, as they are in the dataset."""
        right = (self(batch).argmax(1) == batch.y).float().mean()
        self.log("accuracy", right, batch_size=batch.num_graphs)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW."""
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def main(epochs: int = 40) -> dict[str, float]:
    """Train, test, and return the last training loss and the test accuracy."""
    lightning.seed_everything(0, verbose=False)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    dataset = load("MUTAG")
    train, test = train_test_split(
        range(len(dataset)), test_size=0.2, stratify=dataset.y, random_state=0
    )
    quiet: dict[str, Any] = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = lightning.Trainer(max_epochs=epochs, log_every_n_steps=1, **quiet)
    module = MixedGIN(dataset.num_features, dataset.num_classes)
    trainer.fit(module, DataLoader(dataset[train], batch_size=32, shuffle=True))
    loss = float(trainer.callback_metrics["loss"])
    (found,) = trainer.test(module, DataLoader(dataset[test], batch_size=64), verbose=False)
    print(f"last training loss {loss:.3f}, test accuracy {found['accuracy']:.3f}")
    return {"loss": loss, **found}


if __name__ == "__main__":
    tyro.cli(main)
