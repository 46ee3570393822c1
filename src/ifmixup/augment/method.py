"""What every method has in common."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Batch

from ifmixup.batch import from_batch, to_batch
from ifmixup.errors import InputTypeError
from ifmixup.graphs import Graphs, select, split
from ifmixup.labels import label_rows


class Method(torch.nn.Module):
    """A method turns a batch of training graphs into another one. This one leaves the graphs alone.

    Drawing is apart from applying: :meth:`draw` draws, :meth:`change` computes without chance. A
    method overrides these two, which work on :class:`~ifmixup.graphs.Graphs`; :meth:`plan` and
    :meth:`augment` are the same for a PyG ``Batch``. Calling the method does both and turns class
    numbers into rows ``[B, C]``; in ``eval`` mode only the latter. The input is never changed.

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        generator: Where randomness comes from; else torch's global generator.
    """

    #: Whether graphs whose edges are sorted by source and have their mirror images stay such.
    keeps_undirected: ClassVar[bool] = False
    #: Whether graphs of several batches may be drawn for and changed together, because a graph's
    #: change depends on no other graph. Otherwise every batch comes alone.
    per_graph: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("plan", "augment"):
            if name in vars(cls):
                raise InputTypeError(
                    f"{cls.__name__} overrides {name}, which is made of draw and change, that work "
                    f"on Graphs. Override these two."
                )

    def __init__(
        self, num_classes: int | None = None, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.generator = generator

    def prepare(self, graphs: Graphs) -> Graphs:
        """Check graphs and bring them into the form that :meth:`draw` and :meth:`change` take.

        What is cut from prepared graphs is prepared, so that for a dataset once is enough.
        """
        y = graphs.graphs.get("y")
        if y is None:
            return graphs
        x = graphs.nodes.get("x")
        dtype = x.dtype if x is not None and x.is_floating_point() else torch.get_default_dtype()
        rows = label_rows(y, graphs.num_graphs, self.num_classes, dtype)
        return replace(graphs, graphs={**graphs.graphs, "y": rows})

    def draw(self, graphs: Graphs) -> Any:
        """Draw what is to happen to prepared ``graphs``."""
        return None

    def change(self, graphs: Graphs, plan: Any) -> Graphs:
        """Do what ``plan`` says; the same plan gives the same graphs."""
        return graphs

    def take(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Cut batches from prepared graphs, and draw and apply a change.

        A method that :attr:`per_graph` cuts and changes all in one go: for small graphs that
        costs hardly more than one of them.

        Args:
            graphs: The prepared graphs.
            batches: The numbers of the graphs of each batch.
        """
        if not self.per_graph:
            cut = (select(graphs, batch) for batch in batches)
            return [self.change(batch, self.draw(batch)) for batch in cut]
        together = select(graphs, torch.cat(list(batches)))
        changed = self.change(together, self.draw(together))
        return split(changed, [batch.numel() for batch in batches])

    def plan(self, batch: Batch) -> Any:
        """Draw what is to happen to ``batch``."""
        return self.draw(self.prepare(from_batch(batch)))

    def augment(self, batch: Batch, plan: Any) -> Batch:
        """Do what ``plan`` says; the same plan gives the same batch."""
        return to_batch(self.change(self.prepare(from_batch(batch)), plan))

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
        # A method that changes no graphs lets the batch through with all that it carries.
        if self.training and type(self).change is not Method.change:
            graphs = self.prepare(from_batch(batch))
            return to_batch(self.change(graphs, self.draw(graphs)))
        batch = copy.copy(batch)
        if batch.y is not None:
            dtype = batch.x.dtype if batch.x is not None else torch.get_default_dtype()
            batch.y = label_rows(batch.y, batch.num_graphs, self.num_classes, dtype)
        return batch

    def step(self, model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits ``[B, C]`` of a model of :mod:`ifmixup.nn`, and the target rows ``[B, C]``."""
        batch = self(batch)
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
