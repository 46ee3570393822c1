"""S-Mixup: mix pairs of graphs whose nodes are softly aligned by a trained network."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment.cache import remember
from ifmixup.augment.draws import MixPlan, PairMethod, numpy_generator
from ifmixup.augment.matcher import Matcher, Pairs, in_groups, train_matcher
from ifmixup.augment.rewire import mixed_labels
from ifmixup.components import METHODS
from ifmixup.edges import edge_keys
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, edge_pointers, ranges, take_edges
from ifmixup.mixing import check_mixable, check_ratios

LARGEST_GRAPH = 6_000  # nodes: an assignment of two such graphs takes 290 MB in double precision


@METHODS.register("s_mixup")
class SMixup(PairMethod):
    r"""Mixes pairs of graphs after aligning the nodes of the partner with those of the first graph.

    From `Graph Mixup with Soft Alignments <https://arxiv.org/abs/2306.06788>`_. For graphs A with
    n_A nodes and B with n_B nodes:

    .. math::
        \mathbf{M} &= \mathrm{softmax}\left( \cos(\mathbf{H}_A, \mathbf{H}_B) / \tau \right)
        \in [0, 1]^{n_A \times n_B} \\
        \mathbf{\tilde{A}} &= \lambda \mathbf{A} + (1 - \lambda) \mathbf{M} \mathbf{B}
        \mathbf{M}^\top, \quad
        \mathbf{\tilde{X}} = \lambda \mathbf{X}_A + (1 - \lambda) \mathbf{M} \mathbf{X}_B, \quad
        \mathbf{\tilde{y}} = \lambda \mathbf{y}_A + (1 - \lambda) \mathbf{y}_B

    The softmax is column-wise, over the nodes of A, as in the public code: each column of M sums to
    1, a node of B is shared out among the nodes of A. Edges with a weight below ``threshold`` are
    dropped. λ is the larger of λ' and 1 − λ', where λ' ~ Beta(alpha, alpha). The mixed graph has
    the nodes of A.

    H are node states of a graph matching network (:class:`~ifmixup.augment.matcher.Matcher`), which
    :meth:`fit` trains on the training graphs, anew for every fold. A method that was not fitted
    raises an error.

    Deviations: the public script's network has 5 layers of 100 channels and is trained for 10
    epochs; our defaults are smaller, because that takes minutes per fold without a GPU
    (``matcher_channels=100, matcher_layers=5, matcher_epochs=10`` is the script's). The paper
    chooses alpha from {0.1, 0.2, 0.5, 1, 2, 5, 10}; the default is the script's. The script draws
    one λ per batch (``ratio="batch"``). Our choices: an edge to itself that
    :math:`\mathbf{M} \mathbf{B} \mathbf{M}^\top` has is kept; other float attributes of nodes are
    mixed as features are, and edge attributes as edge weights are.

    Args:
        num_classes: Number of classes C; None if ``y`` is float rows already.
        alpha: Parameter of the distribution of λ', Beta(alpha, alpha).
        p: Probability that a graph is mixed; the others stay as they are.
        ratio: Draw one λ per pair or per batch: ``"pair"`` or ``"batch"``.
        temperature: Temperature τ of the softmax.
        threshold: Smallest weight of an edge; choose a smaller one for edges of small weight.
        matcher_channels: Number of channels of the matching network.
        matcher_layers: Number of layers of the matching network.
        matcher_epochs: Number of training epochs of the matching network.
        drop: Names of attributes to leave out.
        generator: Random number generator; by default torch's global one.
    """

    title = "S-Mixup"
    keeps_undirected = True
    weights_edges = True
    shown = ("alpha",)

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        alpha: float = 1.0,
        p: float = 1.0,
        ratio: str = "pair",
        temperature: float = 1.0,
        threshold: float = 0.1,
        matcher_channels: int = 32,
        matcher_layers: int = 3,
        matcher_epochs: int = 5,
        drop: Collection[str] = (),
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(
            num_classes, alpha=alpha, beta=alpha, p=p, ratio=ratio, generator=generator
        )
        if not temperature > 0:
            raise InputError(f"temperature must be above 0; got {temperature}.")
        if min(matcher_channels, matcher_layers, matcher_epochs) < 1:
            raise InputError(
                f"matcher_channels, matcher_layers and matcher_epochs must be at least 1; got "
                f"{matcher_channels}, {matcher_layers} and {matcher_epochs}."
            )
        self.temperature, self.threshold = temperature, threshold
        self.matcher_channels, self.matcher_layers = matcher_channels, matcher_layers
        self.matcher_epochs = matcher_epochs
        self.drop = drop
        self.matcher: Matcher | None = None

    def fit(self, graphs: Any, *, seed: int = 0) -> Any:
        """Train the matching network on the training graphs."""
        _check_size(graphs)
        size = {"hidden_channels": self.matcher_channels, "num_layers": self.matcher_layers}
        epochs = self.matcher_epochs
        matcher = Matcher.seeded(graphs.nodes["x"].size(1), **size, seed=seed)
        shapes = {name: value.shape for name, value in matcher.state_dict().items()}
        state = remember(
            "s_mixup",
            {**size, "epochs": epochs},
            replace(graphs, index=None),
            lambda: train_matcher(
                graphs, epochs=epochs, seed=seed, progress=self.fit_progress, **size
            ).state_dict(),
            seed=seed,
            check=lambda found: (
                {name: value.shape for name, value in found.items()} == shapes
                and all(bool(value.isfinite().all()) for value in found.values())
            ),
            waiting=self._waiting,
        )
        matcher.load_state_dict(state)
        self.matcher = matcher.to(graphs.node_ptr.device).requires_grad_(False)

    def _waiting(self) -> None:
        """Tell that the fit goes on elsewhere: a run that tells nothing counts as stuck."""
        if self.fit_progress is not None:
            self.fit_progress(0.0)

    def draw(self, graphs: Graphs) -> MixPlan:
        """Draw partners, within the batch, and ratios."""
        rng = numpy_generator(self.generator)
        plan = self.draw_ratios(rng, rng.permutation(graphs.num_graphs), graphs.nodes["x"])
        return replace(plan, lam=torch.maximum(plan.lam, 1 - plan.lam))

    def change(self, graphs: Graphs, plan: MixPlan) -> Graphs:
        """Mix each graph with its aligned partner as ``plan`` says."""
        check_ratios(plan.lam, graphs.num_graphs)
        if self.matcher is None:
            raise InputError(
                "SMixup has no matching network yet. Train it on the training graphs first: "
                "method.fit(train_dataset)."
            )
        _check_size(graphs)
        x = graphs.nodes["x"]
        nodes = {name: torch.empty_like(value) for name, value in graphs.nodes.items()}
        found = []
        with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
            matcher = self.matcher.to(x.device)
            every = torch.arange(graphs.num_graphs, device=x.device)
            for first, pairs in in_groups(graphs, every, plan.partner):
                assignment = soft_assignment(matcher(pairs), pairs, self.temperature)
                lam = plan.lam[first].view(-1, 1, 1)
                row, _, _ = ranges(graphs.node_ptr[first], graphs.node_counts[first])
                for name, value in mix_nodes(pairs, assignment, lam).items():
                    nodes[name][row] = value
                edges = mix_edges(pairs, assignment, lam, self.threshold)
                pair, *ends = edges.pop("edge")
                found.append(
                    {"edge_index": torch.stack(ends) + graphs.node_ptr[first][pair], **edges}
                )
        edges = {
            name: torch.cat([each[name] for each in found], 1 if name == "edge_index" else 0)
            for name in found[0]
        }
        order = edge_keys(graphs.num_nodes, edges["edge_index"]).argsort()
        edge_index = take_edges(edges.pop("edge_index"), order)
        return replace(
            graphs,
            nodes=nodes,
            edges={"edge_index": edge_index, **{name: edges[name][order] for name in edges}},
            edge_ptr=edge_pointers(edge_index, graphs.node_ptr, graphs.num_nodes),
            graphs=mixed_labels(graphs, plan.partner, plan.lam),
        )

    def _prepare(self, graphs: Graphs) -> Graphs:
        """Graphs that can be mixed: each edge once, labels as rows."""
        return check_mixable(graphs, self.drop, self.num_classes)


def _check_size(graphs: Graphs) -> None:
    """Every node of a graph is compared with every node of its partner: not with 6,000 nodes."""
    largest = int(graphs.node_counts.max()) if graphs.num_graphs else 0
    if largest > LARGEST_GRAPH:
        raise InputError(
            f"s_mixup compares every node of a graph with every node of its partner, and takes "
            f"graphs of at most {LARGEST_GRAPH:,} nodes; got one of {largest:,}. Use another "
            f"method, such as ifmixup."
        )


def soft_assignment(h: Tensor, pairs: Pairs, temperature: float) -> Tensor:
    """M: how much of each node of the second graph goes to each node of the first.

    Args:
        h: The node states of both graphs, ``[N, d]``.
        pairs: The pairs.
        temperature: Small values make the assignment hard.

    Returns:
        ``[B, n, n]``. Each column of a node sums to 1; rows and columns of padding are 0.
    """
    first, second = pairs.dense(F.normalize(h, dim=1)).chunk(2)
    _, there = pairs.there.chunk(2)
    hidden, _ = pairs.hidden.chunk(2)
    score = torch.baddbmm(hidden, second, first.mT, alpha=1 / temperature)  # [B, n_B, n_A]
    return score.softmax(2).mul_(there.unsqueeze(2)).mT


def mix_nodes(pairs: Pairs, assignment: Tensor, lam: Tensor) -> dict[str, Tensor]:
    """λ X_A + (1 − λ) M X_B of every attribute of the first graphs' nodes; weights stay.

    Args:
        pairs: The pairs.
        assignment: M, ``[B, n, n]``.
        lam: λ, ``[B, 1, 1]``.
    """
    here, _ = pairs.there.chunk(2)
    mixed = {}
    for name, value in pairs.graphs.nodes.items():
        dtype = _computed_in(value)
        first, second = pairs.dense(value.reshape(len(value), -1).to(dtype)).chunk(2)
        if name != "node_weight":
            share = lam.to(dtype)
            first = share * first + (1 - share) * (assignment.to(dtype) @ second)
        mixed[name] = first[here].view(-1, *value.shape[1:]).to(value.dtype)
    return mixed


def mix_edges(pairs: Pairs, assignment: Tensor, lam: Tensor, threshold: float) -> dict[str, Tensor]:
    """The edges of λ A + (1 − λ) M B Mᵀ that weigh at least ``threshold``.

    Args:
        pairs: The pairs.
        assignment: M, ``[B, n, n]``.
        lam: λ, ``[B, 1, 1]``; a graph with λ = 1 keeps all its edges.
        threshold: The smallest weight.

    Returns:
        ``edge``, the pair of each edge, its source and its target, numbered within their graph,
        ``[3, E]``; ``edge_weight`` ``[E]``; and all other attributes, which are mixed as weights
        are.
    """
    graphs, x = pairs.graphs, pairs.graphs.nodes["x"]
    dtype = _computed_in(x)
    source, target = pairs.slot[graphs.edge_index]
    entry = source * pairs.width + target % pairs.width
    size = (pairs.there.size(0), pairs.width, pairs.width)
    share, lam = assignment.to(dtype), lam.to(dtype)

    def mixed(value: Tensor | float) -> Tensor:
        dense = x.new_zeros(pairs.there.numel() * pairs.width, dtype=dtype)
        dense[entry] = value.to(dtype) if isinstance(value, Tensor) else value
        first, second = dense.view(size).chunk(2)
        moved = share @ second @ share.mT
        # Rounding must not make an undirected graph directed.
        mirrored = (second == second.mT).flatten(1).all(1).view(-1, 1, 1)
        moved = torch.where(mirrored, (moved + moved.mT) / 2, moved)
        return lam * first + (1 - lam) * moved

    weight = mixed(graphs.edges.get("edge_weight", 1.0))
    pair, i, j = ((weight != 0) & ((weight >= threshold) | (lam == 1))).nonzero().unbind(1)
    edges = {"edge": torch.stack([pair, i, j]), "edge_weight": weight[pair, i, j].to(x.dtype)}
    for name, value in graphs.edges.items():
        if name not in ("edge_index", "edge_weight"):
            columns = (value.flatten(1) if value.dim() > 1 else value.unsqueeze(1)).unbind(1)
            rows = torch.stack([mixed(column)[pair, i, j] for column in columns], 1)
            edges[name] = rows.view(-1, *value.shape[1:]).to(value.dtype)
    return edges


def _computed_in(value: Tensor) -> torch.dtype:
    """Half precision is too coarse for sums."""
    return torch.float64 if value.dtype == torch.float64 else torch.float32
