"""ManifoldMixup: mix the node states of pairs before a layer that is drawn for each batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ifmixup.augment.draws import MixPlan, PairMethod, numpy_generator
from ifmixup.augment.method import Criterion, loss_of_labels
from ifmixup.augment.rewire import mixed_labels
from ifmixup.components import METHODS
from ifmixup.errors import InputError, ModelError
from ifmixup.graphs import Graphs
from ifmixup.mixing import check_mixable, check_ratios, mix_pairs

if TYPE_CHECKING:
    from ifmixup.nn.inputs import GraphsModel

READOUT = -1


@dataclass(frozen=True)
class ManifoldPlan(MixPlan):
    """Pairs of a batch, their ratios, and where in the model they are mixed.

    Attributes:
        depth: A number in [0, 1) that chooses one of the layers: of n layers number ⌊depth · n⌋.
            The plan does not depend on the model.
    """

    depth: float = 0.0


@METHODS.register("manifold_mixup")
class ManifoldMixup(PairMethod):
    r"""Mixes the hidden states of pairs of graphs at a random layer, and their labels.

    From `Manifold Mixup <https://arxiv.org/abs/1806.05236>`_. For each batch a layer k is drawn
    from {0, …, L − 1, READOUT}, where L is the number of layers of the model. Both graphs of a pair
    run through the layers before k on their own, which gives node states :math:`\mathbf{h}`
    ``[n, D]``. From there on the model sees the mixture:

    .. math::
        \tilde{\mathbf{h}} = \lambda \mathbf{h}_A + (1 - \lambda) \mathbf{h}_B, \quad
        \tilde{e} = \lambda e_A + (1 - \lambda) e_B, \quad
        \tilde{w} = \lambda w_A + (1 - \lambda) w_B, \quad
        \tilde{y} = \lambda y_A + (1 - \lambda) y_B

    with edges e ``[n, n]`` and node weights w ``[n]``; the smaller graph is padded with zeros.
    Layer 0 is :class:`IfMixup`; READOUT is :class:`MixupGraph`. The graphs themselves stay as they
    are; the mixing is in :meth:`loss`::

        loss = method.loss(model, batch, F.cross_entropy)

    The model must read ``edge_weight`` and have ``num_layers``, ``encode``, ``embed`` and
    ``classify``, as :class:`ifmixup.nn.GraphModel` documents them.

    The paper is about images, whose hidden states all have one shape. What it leaves open for
    graphs, and our choice: node i of A meets node i of B, as in ifMixup; edges and node weights are
    mixed from layer k on; the readouts of earlier layers, which ``jk="sum"`` classifies too, are
    mixed as rows. As in the paper, λ and the layer are drawn once per batch, and λ ~ Beta(2, 2).

    Args:
        num_classes: The number of classes C; None where ``y`` is float rows already.
        alpha: λ ~ Beta(alpha, beta).
        beta: See ``alpha``.
        p: The probability that a graph is mixed.
        ratio: ``"batch"`` draws one λ per batch, ``"pair"`` one per pair.
        layers: The layers to draw from: numbers from 0, and −1 for READOUT; None: all of them.
        node_weight: Whether the model is given the node weights.
        drop: Names of attributes to leave out.
        generator: Where randomness comes from; else torch's global generator.
    """

    title = "Manifold Mixup"
    keeps_undirected = True
    weights_edges = True
    requires = frozenset({"encode"})

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        alpha: float = 2.0,
        beta: float = 2.0,
        p: float = 1.0,
        ratio: str = "batch",
        layers: Sequence[int] | None = None,
        node_weight: bool = True,
        drop: Collection[str] = (),
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(num_classes, alpha=alpha, beta=beta, p=p, ratio=ratio, generator=generator)
        if layers is not None and (not layers or min(layers) < READOUT):
            raise InputError(
                f"layers must be numbers from 0, or -1 for READOUT, or None for all; got {layers}."
            )
        self.layers = layers
        self.node_weight, self.drop = node_weight, drop

    def draw(self, graphs: Graphs) -> ManifoldPlan:
        """Draw partners, within the batch, ratios, and a layer."""
        rng = numpy_generator(self.generator)
        plan = self.draw_ratios(rng, rng.permutation(graphs.num_graphs), graphs.nodes["x"])
        return ManifoldPlan(plan.partner, plan.lam, depth=rng.random())

    def loss(self, model: GraphsModel, graphs: Graphs, criterion: Criterion) -> Tensor:
        """The loss of mixed states and labels."""
        return loss_of_labels(criterion, *self._mix(model, graphs, self.draw(graphs)))

    def mix(self, model: GraphsModel, graphs: Graphs, plan: ManifoldPlan) -> tuple[Tensor, Tensor]:
        """The logits of the mixture ``[B, C]``, and its labels ``[B, C]``.

        Args:
            model: The model, which takes graphs.
            graphs: The prepared graphs of a batch.
            plan: What :meth:`draw` gave.
        """
        logits, rows = self._mix(model, graphs, plan)
        return logits, rows["y"]

    def _mix(
        self, model: GraphsModel, graphs: Graphs, plan: ManifoldPlan
    ) -> tuple[Tensor, dict[str, Any]]:
        """The logits, and ``y`` with its ``y_weight``."""
        check_ratios(plan.lam, graphs.num_graphs)
        layer = self._layer(model, plan)
        if layer == 0:
            mixed = self._mix_nodes(graphs, plan)
            return model(mixed), mixed.graphs
        if layer == READOUT:
            labels = mixed_labels(graphs, plan.partner, plan.lam)
            return model.classify(_mix_rows(model.embed(graphs), plan)), labels
        earlier = {}
        if hasattr(_inside(model), "encode_with_readouts"):
            h, readouts = model.encode_with_readouts(graphs, stop=layer)
            earlier = {"earlier": _mix_rows(readouts, plan)}
        else:
            h = model.encode(graphs, stop=layer)
        # The layers that are left read no other node attributes.
        nodes = {name: value for name, value in graphs.nodes.items() if name == "node_weight"}
        mixed = self._mix_nodes(replace(graphs, nodes={"x": h, **nodes}), plan)
        logits = model.classify(model.embed(mixed, start=layer, **earlier))
        return logits, mixed.graphs

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs that can be mixed: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)

    def _mix_nodes(self, graphs: Graphs, plan: MixPlan) -> Graphs:
        first = torch.arange(graphs.num_graphs, device=graphs.node_ptr.device)
        return mix_pairs(graphs, first, plan.partner, plan.lam, coalesce=not self.repeated_edges)

    def _layer(self, model: GraphsModel, plan: ManifoldPlan) -> int:
        """The layer that a plan chooses in this model."""
        inner = _inside(model)
        for name in ("encode", "embed", "classify", "num_layers"):
            if not hasattr(inner, name):
                raise ModelError(
                    f"manifold_mixup mixes hidden states, but {type(inner).__name__} has no "
                    f"{name}. Use a model of ifmixup.nn, or give yours encode, embed, classify and "
                    f"num_layers, as ifmixup.nn.GraphModel documents them."
                )
        count = int(inner.num_layers)  # type: ignore[arg-type]
        layers = (*range(count), READOUT) if self.layers is None else self.layers
        if max(layers) >= count:
            raise InputError(
                f"layers names layer {max(layers)}, but {type(inner).__name__} has {count} layers, "
                f"numbered from 0. READOUT is -1."
            )
        return layers[int(plan.depth * len(layers))]


def _inside(model: GraphsModel) -> torch.nn.Module:
    from ifmixup.nn.inputs import unwrap

    return unwrap(model.model)


def _mix_rows(h: Tensor, plan: MixPlan) -> Tensor:
    """λ h_A + (1 − λ) h_B of graph representations ``[B, D]``."""
    lam = plan.lam.to(h.dtype).view(-1, 1)
    return lam * h + (1 - lam) * h[plan.partner]
