"""Taking a mixed graph apart again: the paper's Lemma 1 (edges) and Lemma 2 (node features).

That this is possible is what makes ifMixup lossless: no other pair and no other λ could have made
the mixed graph, except for the swap of the two graphs.

What ``node_weight`` adds. The lemmas tell a dummy node from a node by its features, which therefore
must not be zero, and λ by an edge or a feature that only one of the graphs has. Node weights are
w̃_i = 1 for i < min(n_A, n_B), and then the share of the larger graph. They give both sizes, and λ
wherever the sizes differ, whatever the features are: also for graphs whose feature set is linearly
dependent, or holds the zero row. At λ = 0.5 both graphs have the same share and remain
indistinguishable.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from ifmixup.batch import from_batch
from ifmixup.errors import RecoveryError

_NO_PAIR = "This is not a mixture of two graphs: "


@dataclass(frozen=True)
class Recovery:
    """What :func:`recover` finds.

    Attributes:
        lam: λ > 0.5, the weight of ``a``; None where both graphs are the same and nothing
            determines it.
        a: The graph with the larger weight: ``x`` (:func:`recover` only), ``edge_index`` and
            ``num_nodes``.
        b: The graph with the smaller weight.
    """

    lam: float | None
    a: Data
    b: Data


def recover(mixed: Data, *, features: Tensor | None = None) -> Recovery:
    """Find λ and both graphs from a mixed graph alone.

    Swapping both graphs, and λ with 1 − λ, gives the same mixed graph, so there are two solutions
    (Lemma 1). The one with λ > 0.5 is returned: ``a`` is the graph with the larger weight, which
    may be the second argument of :func:`ifmixup.mix`.

    Args:
        mixed: A result of :func:`ifmixup.mix` for two graphs with unweighted edges and 0 < λ < 1,
            λ ≠ 0.5. Dummy nodes are found by its ``node_weight``; without one, all other nodes must
            have features other than zero.
        features: The feature set V ``[k, d]`` that node features are taken from, linearly
            independent. The default is the one-hot rows.

    Returns:
        λ and both graphs, without dummy nodes, in the order of nodes in which they were mixed:
        their features and edges. Labels and edge attributes are not recovered.

    Raises:
        RecoveryError: λ = 0.5, V is linearly dependent, or no pair could have made ``mixed``.
    """
    edge_index, parts = _weights(mixed)
    if mixed.x is None or not mixed.x.is_floating_point():
        raise RecoveryError("The mixed graph has no float node features x.")
    eps = torch.finfo(mixed.x.dtype).eps
    coefficients, noise = _coefficients(mixed.x.double(), features, eps)
    parts["node features"] = (coefficients, noise)

    lam, sides = _take_apart(parts)
    graphs = []
    for side in (0, 1):
        there = sides["node weights"][side] if "node weights" in sides else None
        rows = sides["node features"][side]
        x = _features(rows, there, features, mixed.x)
        graphs.append(_graph(edge_index[:, sides["edge weights"][side]], len(x), x))
    if max(len(graph.x) for graph in graphs) != len(mixed.x):
        raise RecoveryError(f"{_NO_PAIR}the features of its last node are all zero.")
    return Recovery(lam, *graphs)


def recover_structure(mixed: Data) -> Recovery:
    """Find λ, both sizes and both graphs' edges, without any condition on node features.

    Args:
        mixed: What :func:`ifmixup.mix` made of two graphs with unweighted edges and 0 < λ < 1, λ ≠
            0.5, with its ``node_weight``.

    Returns:
        λ (None where both graphs have the same size and the same edges) and both graphs, without
        ``x``.

    Raises:
        RecoveryError: λ = 0.5, there is no ``node_weight``, or no pair could have made ``mixed``.
    """
    edge_index, parts = _weights(mixed)
    if "node weights" not in parts:
        raise RecoveryError("The mixed graph has no node_weight, from which the sizes are read.")
    lam, sides = _take_apart(parts)
    pairs = zip(sides["edge weights"], sides["node weights"], strict=True)
    return Recovery(lam, *(_graph(edge_index[:, edge], _size(node)) for edge, node in pairs))


def _weights(mixed: Data) -> tuple[Tensor, dict[str, tuple[Tensor, float]]]:
    """The edges, each once; and the weights of edges and nodes, with how exact they are."""
    graphs = from_batch(mixed)
    if graphs.num_graphs > 1:
        raise RecoveryError(
            f"One mixed graph is recovered at a time; got a batch of {graphs.num_graphs}. "
            f"Take batch[i], or loop over batch.to_data_list()."
        )
    given = {"edge weights": mixed.edge_weight, "node weights": mixed.get("node_weight")}
    for what, weight in given.items():
        if weight is not None and not weight.is_floating_point():
            raise RecoveryError(f"The {what} must be floats; got {weight.dtype}.")
    if given["edge weights"] is None:
        given["edge weights"] = torch.ones_like(graphs.edge_index[0], dtype=torch.double)
    edge_index, given["edge weights"] = coalesce(
        graphs.edge_index, given["edge weights"], graphs.num_nodes
    )
    nodes = given["node weights"]
    if nodes is not None and bool(nodes[-1] == 0):
        raise RecoveryError(
            f"{_NO_PAIR}its last node has weight 0, as at λ = 1 or 0, where nothing is left of one "
            f"graph."
        )
    return edge_index, {
        what: (weight.double(), torch.finfo(weight.dtype).eps / 2)
        for what, weight in given.items()
        if weight is not None
    }


def _coefficients(x: Tensor, features: Tensor | None, eps: float) -> tuple[Tensor, float]:
    """How much of each member of V there is in each node, ``[n, k]``, and how exact that is.

    Lemma 2: x̃_i = s v + (1 − s) v' has one solution with v, v' in V ∪ {0}, because coordinates
    with respect to linearly independent vectors are unique.
    """
    if features is None:
        return x, eps / 2
    basis = features.to(x)
    if basis.dim() != 2 or basis.size(1) != x.size(1):
        raise RecoveryError(
            f"features must be rows as wide as x, shape [k, {x.size(1)}]; got {list(basis.shape)}."
        )
    singular = torch.linalg.svdvals(basis)
    if basis.size(0) > basis.size(1) or bool(singular[-1] <= singular[0] * 1e-10):
        raise RecoveryError(
            f"The {basis.size(0)} rows of the feature set are not linearly independent. Then Lemma "
            f"2 does not hold: other node features could have made the same mixture."
        )
    solution = torch.linalg.lstsq(basis.T, x.T).solution.T
    rounding = 4 * eps * float(x.abs().max() if x.numel() else 0.0)
    if bool(((solution @ basis - x).abs() > rounding * basis.size(0)).any()):
        raise RecoveryError(f"{_NO_PAIR}its node features are not mixtures of the feature set.")
    return solution, max(eps / 2, rounding / float(singular[-1]))


def _take_apart(
    parts: dict[str, tuple[Tensor, float]],
) -> tuple[float | None, dict[str, tuple[Tensor, Tensor]]]:
    """λ > 0.5 from the first part that tells it, and what both graphs have of each part."""
    ratios = (_ratio(*part, what) for what, part in parts.items())
    lam = next((ratio for ratio in ratios if ratio is not None), None)
    return lam, {what: _split(*part, lam, what) for what, part in parts.items()}


def _ratio(values: Tensor, noise: float, what: str) -> float | None:
    """λ > 0.5 from values that may be 0, 1 − λ, λ or 1; None where there are only 0 and 1."""
    between = values[(values > noise) & (values < 1 - noise)]
    if not between.numel():
        return None
    # The value nearest to 0 or 1 is the most exact one: λ is it, or what it leaves of 1.
    nearest = between[torch.minimum(between, 1 - between).argmin()].item()
    lam = max(nearest, 1 - nearest)
    if abs(lam - 0.5) <= noise:
        raise RecoveryError(
            f"The {what} show λ = 0.5: both graphs have the same weight and cannot be "
            f"distinguished (Lemma 1 needs λ ≠ 0.5)."
        )
    return lam


def _split(values: Tensor, noise: float, lam: float | None, what: str) -> tuple[Tensor, Tensor]:
    """Which of ``values`` the first graph has a part in, and which the second."""
    parts = [0.0, 1.0] if lam is None else [0.0, 1 - lam, lam, 1.0]
    if min(high - low for low, high in pairwise(parts)) < 2 * noise:
        raise RecoveryError(
            f"λ = {lam:.8g} is too near 0.5 or 1 for the precision of the {what} "
            f"(about {noise:.1e})."
        )
    distance, nearest = (values.unsqueeze(-1) - values.new_tensor(parts)).abs().min(-1)
    if not bool((distance <= noise).all()):  # NaN fails too
        wrong = values[~(distance <= noise)][0].item()
        allowed = ", ".join(f"{part:.6g}" for part in parts)
        raise RecoveryError(
            f"{_NO_PAIR}its {what} hold {wrong:.6g}, which is none of {allowed} (0, 1 − λ, λ, 1)."
            + (" Pass the feature set as features=." if what == "node features" else "")
        )
    if lam is None:
        return nearest == 1, nearest == 1
    return nearest >= 2, (nearest == 1) | (nearest == 3)


def _size(there: Tensor) -> int:
    """The number of nodes of a graph whose nodes, and then dummy nodes, ``there`` tells apart."""
    size = int(there.sum())
    if not bool(there[:size].all()):
        raise RecoveryError(f"{_NO_PAIR}a dummy node comes before others.")
    return size


def _features(rows: Tensor, there: Tensor | None, features: Tensor | None, like: Tensor) -> Tensor:
    """The member of V at each node of one of the graphs, ``[n, d]``."""
    per_node = rows.sum(1)
    if bool((per_node > 1).any()):
        raise RecoveryError(
            f"{_NO_PAIR}node {int((per_node > 1).nonzero()[0])} would have several features. "
            f"Pass the feature set as features=."
        )
    size = _size(per_node > 0 if there is None else there)
    if bool(per_node[size:].any()):
        raise RecoveryError(f"{_NO_PAIR}a dummy node, by its weight, has features.")
    x = rows[:size].to(like.dtype)
    if features is None:
        return x
    return features.to(like)[x.argmax(1)] * x.any(1, keepdim=True)


def _graph(edge_index: Tensor, num_nodes: int, x: Tensor | None = None) -> Data:
    """One of the two graphs."""
    if edge_index.numel() and int(edge_index.max()) >= num_nodes:
        raise RecoveryError(f"{_NO_PAIR}an edge ends at a dummy node.")
    if x is None:
        return Data(edge_index=edge_index, num_nodes=num_nodes)
    return Data(x=x, edge_index=edge_index)
