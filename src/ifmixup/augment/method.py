"""What every method has in common."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from ifmixup.errors import InputTypeError
from ifmixup.labels import label_rows


class Method(torch.nn.Module):
    """A method turns a batch of training graphs into another one. This one leaves the graphs alone.

    Drawing is apart from applying: :meth:`plan` draws, :meth:`augment` computes without chance.
    Calling the method does both and turns class numbers into rows ``[B, C]``; in ``eval`` mode only
    the latter. The input is never changed.

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        generator: Where randomness comes from; else torch's global generator.
    """

    def __init__(
        self, num_classes: int | None = None, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.generator = generator

    def plan(self, batch: Batch) -> Any:
        """Draw what is to happen to ``batch``."""
        return None

    def augment(self, batch: Batch, plan: Any) -> Batch:
        """Do what ``plan`` says; the same plan gives the same batch."""
        return batch

    def mix_embeddings(self, h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Change representations ``[B, D]`` and label rows after READOUT; most methods do not."""
        return h, y

    def forward(self, batch: Batch) -> Batch:
        """A new batch: the graphs augmented in ``train`` mode, the labels as rows in any."""
        if not isinstance(batch, Batch):
            raise InputTypeError(
                f"Expected a PyG Batch, such as a DataLoader gives; got {type(batch).__name__}. "
                f"Make one with Batch.from_data_list([...])."
            )
        if self.training:
            batch = self.augment(batch, self.plan(batch))
        batch = copy.copy(batch)
        if batch.y is not None:
            dtype = batch.x.dtype if batch.x is not None else torch.get_default_dtype()
            batch.y = label_rows(batch.y, batch.num_graphs, self.num_classes, dtype)
        return batch

    def step(self, model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits ``[B, C]`` of a model of :mod:`ifmixup.nn`, and the target rows ``[B, C]``."""
        return self.score(model, self(batch))

    def score(self, model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """:meth:`step` on a batch that went through this method already."""
        h = model.embed(
            batch.x,
            batch.edge_index,
            batch.edge_weight,
            batch.batch,
            edge_attr=batch.edge_attr if getattr(model, "edge_dim", None) else None,
            batch_size=batch.num_graphs,
        )
        h, y = self.mix_embeddings(h, batch.y)
        return model.classify(h), y
