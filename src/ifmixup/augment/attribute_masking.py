"""Attribute masking: replace the features of random nodes."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.draws import check_fraction, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, is_one_hot


@METHODS.register("attribute_masking")
class AttributeMasking(Method):
    """Replaces the features of each node, with probability ``mask_ratio``, by random ones.

    The attribute masking of `GraphCL <https://arxiv.org/abs/2010.13902>`_. Where all rows of the
    batch are one-hot, the new row is a random one-hot one; else it is that of a random node of the
    batch.

    Args:
        num_classes: See :class:`Method`.
        mask_ratio: Expected fraction of nodes to mask.
        generator: See :class:`Method`.
    """

    title = "Attribute Masking"
    keeps_undirected = True
    shown = ("mask_ratio",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        mask_ratio: float = 0.2,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, generator=generator)
        self.mask_ratio = check_fraction("mask_ratio", mask_ratio)

    def draw(self, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """Nodes ``[K]``, and the rows that they get, ``[K, d]``."""
        x = graphs.nodes.get("x")
        if x is None or x.numel() == 0:
            raise InputError("Attribute masking needs node features x.")
        rng = numpy_generator(self.generator)
        num_nodes, width = x.shape
        node = torch.from_numpy((rng.random(num_nodes) < self.mask_ratio).nonzero()[0])
        one_hot = is_one_hot(x)
        drawn = rng.integers(width if one_hot else num_nodes, size=node.numel())
        value = torch.from_numpy(drawn).to(x.device)
        rows = F.one_hot(value, width).to(x.dtype) if one_hot else x[value]
        return node.to(x.device), rows

    def change(self, graphs: Graphs, plan: tuple[Tensor, Tensor]) -> Graphs:
        """The graphs with the new rows."""
        x = graphs.nodes["x"].index_copy(0, *plan)
        return replace(graphs, nodes={**graphs.nodes, "x": x})
