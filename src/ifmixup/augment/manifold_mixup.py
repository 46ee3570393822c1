"""ManifoldMixup: mix the node states of pairs before a layer that is drawn for each batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.draws import MixPlan, PairMethod, numpy_generator
from ifmixup.augment.method import Criterion, loss_of_labels
from ifmixup.components import METHODS
from ifmixup.edges import starts_of
from ifmixup.errors import InputError, ModelError
from ifmixup.graphs import Graphs, ranges, select, split
from ifmixup.mixing import check_mixable, check_ratios, mix_nodes, mix_structure

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


@dataclass(frozen=True)
class PlannedGraphs(Graphs):
    """The graphs of a batch, their plan, and what of their mixture needs no model.

    Attributes:
        plan: What was drawn for the batch.
        mixed: The mixture without node states, which has edges, node weights and labels.
        row: The two nodes of the batch that each mixed node is made of, ``[N, 2]``.
        share: How much of each, ``[N, 2]``.
        uses: The mixed nodes that each node of the batch is part of, end to end ``[K]``; its share
            in each ``[K]``; and where those of each node begin. Gradients take this way back.
    """

    plan: ManifoldPlan | None = None
    mixed: Graphs | None = None
    row: Tensor | None = None
    share: Tensor | None = None
    uses: tuple[Tensor, Tensor, Tensor] | None = None


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
        alpha: First parameter of λ ~ Beta(alpha, beta).
        beta: Second parameter of Beta(alpha, beta).
        p: The probability that a graph is mixed.
        ratio: Draw one λ per pair or per batch: ``"pair"`` or ``"batch"``.
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
        if not isinstance(graphs, PlannedGraphs):
            (graphs,) = self._planned(graphs, [graphs.num_graphs])
        return loss_of_labels(criterion, *self._mix(model, graphs))

    def mix(self, model: GraphsModel, graphs: Graphs, plan: ManifoldPlan) -> tuple[Tensor, Tensor]:
        """The logits of the mixture ``[B, C]``, and its labels ``[B, C]``.

        Args:
            model: The model, which takes graphs.
            graphs: The prepared graphs of a batch.
            plan: What :meth:`draw` gave.
        """
        (planned,) = self._planned(graphs, [graphs.num_graphs], [plan])
        logits, rows = self._mix(model, planned)
        return logits, rows["y"]

    def _cut(self, graphs: Graphs, batches: Sequence[Tensor]) -> list[Graphs]:
        """Batches with their plans, mixed as far as that goes without the model.

        In one go: for small graphs that costs hardly more than one batch.
        """
        together = select(graphs, torch.cat(list(batches)))
        return [*self._planned(together, [batch.numel() for batch in batches])]

    def _planned(
        self, graphs: Graphs, sizes: Sequence[int], plans: Sequence[ManifoldPlan] | None = None
    ) -> list[PlannedGraphs]:
        """Batches of ``sizes``, which lie end to end, with plans that are drawn if not given."""
        batches = split(graphs, sizes)
        if plans is None:
            plans = [self.draw(batch) for batch in batches]
        starts = accumulate(sizes, initial=0)
        lam = torch.cat([plan.lam for plan in plans])
        check_ratios(lam, graphs.num_graphs)
        first = torch.arange(graphs.num_graphs, device=graphs.node_ptr.device)
        second = torch.cat([p.partner + at for p, at in zip(plans, starts, strict=False)])
        coalesce = not self.repeated_edges
        mixed, row, share = mix_structure(graphs, first, second, lam, coalesce=coalesce)
        user, weight, use_ptr = _uses(graphs, mixed.node_ptr, second, lam)
        # Cut with the other node attributes; a dummy node has row 0 of the first batch.
        mixed.nodes.update(row=row, share=share)
        found, start, mixed_start = [], 0, 0
        for batch, plan, part in zip(batches, plans, split(mixed, sizes), strict=True):
            row, share = (part.nodes.pop(name) for name in ("row", "share"))
            ptr = use_ptr[start : start + batch.num_nodes + 1]
            used = slice(int(ptr[0]), int(ptr[-1]))
            levels = batch.nodes, batch.edges, batch.graphs
            found.append(
                PlannedGraphs(
                    *levels,
                    batch.node_ptr,
                    batch.edge_ptr,
                    batch.index,
                    plan=plan,
                    mixed=part,
                    row=(row - start).clamp_(min=0),
                    share=share,
                    uses=(user[used] - mixed_start, weight[used], ptr - used.start),
                )
            )
            start, mixed_start = start + batch.num_nodes, mixed_start + part.num_nodes
        return found

    def _mix(self, model: GraphsModel, graphs: Any) -> tuple[Tensor, dict[str, Any]]:
        """The logits, and ``y`` with its ``y_weight``."""
        plan, mixed = graphs.plan, graphs.mixed
        layer = self._layer(model, plan)
        if layer == 0:
            nodes = {
                name: mix_nodes(value, graphs.row, graphs.share)
                for name, value in graphs.nodes.items()
                if name != "node_weight"
            }
            return model(replace(mixed, nodes=nodes | mixed.nodes)), mixed.graphs
        if layer == READOUT:
            return model.classify(_mix_rows(model.embed(graphs), plan)), mixed.graphs
        earlier = {}
        if hasattr(_inside(model), "encode_with_readouts"):
            h, readouts = model.encode_with_readouts(graphs, stop=layer)
            earlier = {"earlier": _mix_rows(readouts, plan)}
        else:
            h = model.encode(graphs, stop=layer)
        # The layers that are left read no other node attributes.
        h = _MixStates.apply(h, graphs.row, graphs.share, graphs.uses)
        rest = replace(mixed, nodes={"x": h, **mixed.nodes})
        return model.classify(model.embed(rest, start=layer, **earlier)), mixed.graphs

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs that can be mixed: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)

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


class _MixStates(torch.autograd.Function):
    """:func:`~ifmixup.mixing.mix_nodes` of node states; its own derivative would sort."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, row: Tensor, share: Tensor, uses: Any) -> Tensor:
        ctx.uses = uses
        return mix_nodes(h, row, share)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        user, share, ptr = ctx.uses
        share = share.to(grad.dtype)
        mixed = F.embedding_bag(
            user, grad, ptr, mode="sum", per_sample_weights=share, include_last_offset=True
        )
        return mixed, None, None, None


def _uses(
    graphs: Graphs, mixed_ptr: Tensor, second: Tensor, lam: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Which mixed nodes each node is part of, where graph g is mixed with graph ``second[g]``.

    Returns:
        The mixed nodes, those of each node together ``[K]``; the node's share in them ``[K]``; and
        where those of each node begin ``[N + 1]``.
    """
    count, device = graphs.num_graphs, second.device
    # The pairs that each graph is part of: as the first graph of one, and as a partner.
    part_of, order = torch.cat([torch.arange(count, device=device), second]).sort(stable=True)
    pair_ptr = starts_of(part_of, count)
    mixed_start, share = mixed_ptr[order % count], torch.cat([lam, 1 - lam])[order]
    graph = graphs.node_graph
    number = torch.arange(graphs.num_nodes, device=device) - graphs.node_ptr[graph]
    pair, node, ptr = ranges(pair_ptr[graph], pair_ptr.diff()[graph])
    return mixed_start[pair] + number[node], share[pair], ptr
