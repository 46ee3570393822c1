"""Attribute masking: replace the features of random nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.draws import check_fraction, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.components import METHODS
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, is_one_hot


@dataclass(frozen=True)
class MaskPlan:
    """What :meth:`AttributeMasking.draw` draws: nodes ``[K]`` and the rows they get, ``[K, d]``."""

    node: Tensor
    x: Tensor


@METHODS.register("attribute_masking")
class AttributeMasking(Method):
    """Replaces the features of each node, with probability ``mask_ratio``, by random ones.

    Where all rows of the batch are one-hot, by a random one-hot row; else by the row of a random
    node of the batch.

    Args:
        num_classes: The number of classes; None where ``y`` is float rows already.
        mask_ratio: The expected fraction of nodes that are masked.
        generator: Where randomness comes from; else torch's global generator.
    """

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

    def draw(self, graphs: Graphs) -> MaskPlan:
        """Draw nodes and their new rows."""
        x = graphs.nodes.get("x")
        if x is None or x.numel() == 0:
            raise InputError("Attribute masking needs node features x.")
        rng = numpy_generator(self.generator)
        num_nodes, width = x.shape
        node = torch.from_numpy((rng.random(num_nodes) < self.mask_ratio).nonzero()[0])
        if is_one_hot(x):
            value = torch.from_numpy(rng.integers(width, size=node.numel())).to(x.device)
            return MaskPlan(node.to(x.device), F.one_hot(value, width).to(x.dtype))
        other = torch.from_numpy(rng.integers(num_nodes, size=node.numel())).to(x.device)
        return MaskPlan(node.to(x.device), x[other])

    def change(self, graphs: Graphs, plan: MaskPlan) -> Graphs:
        """The graphs with the new rows."""
        x = graphs.nodes["x"].index_copy(0, plan.node, plan.x)
        return replace(graphs, nodes={**graphs.nodes, "x": x})
