"""Attribute masking: give random nodes the attributes of a random value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.drawing import check_fraction, numpy_generator
from ifmixup.augment.method import Method
from ifmixup.augment.registry import register
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs


@dataclass(frozen=True)
class MaskPlan:
    """What :meth:`AttributeMasking.draw` draws: nodes ``[K]`` and the rows they get, ``[K, d]``."""

    node: Tensor
    x: Tensor


@register("attribute_masking")
class AttributeMasking(Method):
    """Each node gets, with probability ``mask_ratio``, the attribute row of a random value.

    Where all rows of the batch are one-hot, a random one-hot row; else the row of a random node of
    the batch (in a training, of the batches that are prepared together).

    Args:
        num_classes: The number of classes; None where ``y`` is float rows already.
        mask_ratio: The expected fraction of nodes that are masked.
        generator: Where randomness comes from; else torch's global generator.
    """

    keeps_undirected = True
    per_graph = True

    def __init__(
        self,
        num_classes: int | None = None,
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
        # As many numbers that are not 0 as there are rows, and each row adds up to 1.
        if int(x.count_nonzero()) == num_nodes and bool((x.sum(1) == 1).all()):
            value = torch.from_numpy(rng.integers(width, size=node.numel())).to(x.device)
            return MaskPlan(node.to(x.device), F.one_hot(value, width).to(x.dtype))
        other = torch.from_numpy(rng.integers(num_nodes, size=node.numel())).to(x.device)
        return MaskPlan(node.to(x.device), x[other])

    def change(self, graphs: Graphs, plan: MaskPlan) -> Graphs:
        """The graphs with the new rows."""
        x = graphs.nodes["x"].index_copy(0, plan.node, plan.x)
        return replace(graphs, nodes={**graphs.nodes, "x": x})
