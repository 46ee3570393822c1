"""Is mixing lossless on this dataset? Mix random pairs, take them apart again, and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.utils import coalesce

from ifmixup.data.statistics import continuous, feature_set, linearly_independent
from ifmixup.errors import InputError, RecoveryError
from ifmixup.graphs import is_one_hot
from ifmixup.mixing import mix_batch
from ifmixup.recovery import recover, recover_structure
from ifmixup.values import check_seed

_LAM_TOLERANCE = 1e-5
_HALF_MARGIN = 1e-3  # λ this near to 0.5 is drawn again: Lemma 1 excludes 0.5
_CHUNK = 256

Mixture = tuple[int, int, float, Data]  # the indices of the two graphs, λ, and the mixed graph


@dataclass(frozen=True)
class Audit:
    """What :func:`audit` found.

    Attributes:
        pairs: How many pairs were mixed.
        independent: Whether the feature set V is linearly independent (the condition of Lemma 2).
        recovered: How many pairs came back: edges and features exactly, λ to 1e-5.
        identical: How many of the pairs were two graphs that are the same: λ cannot be known.
        coinciding: How many mixed graphs are the same as a training graph that both of the pair
            differ from.
        largest_error: The largest error of λ.
        reasons: Why pairs did not come back, each once.
        continuous: The feature columns that are not all 0 or 1. With them losslessness is a fact
            about these graphs and not a guarantee: other graphs have other values, and training
            standardises them.
        structures: How many pairs came back without their features: both sizes, all edges, and λ to
            1e-5. That needs no condition on features.
    """

    pairs: int
    independent: bool
    recovered: int
    identical: int
    coinciding: int
    largest_error: float
    reasons: tuple[str, ...]
    continuous: tuple[int, ...] = ()
    structures: int = 0

    @property
    def holds(self) -> bool:
        """Whether V is independent, every pair came back and no mixture is a training graph."""
        return self.independent and self.recovered == self.pairs and self.coinciding == 0


def audit(
    dataset: InMemoryDataset,
    pairs: int = 10_000,
    *,
    alpha: float = 20.0,
    beta: float = 1.0,
    seed: int = 0,
    progress: Callable[[Iterable[Mixture], int], Iterable[Mixture]] = lambda mixtures, _: mixtures,
) -> Audit:
    """Mix ``pairs`` random pairs of different graphs with λ ~ Beta(alpha, beta) and recover them.

    Args:
        dataset: Graphs with float features ``x``.
        pairs: How many pairs.
        alpha: See above. λ with |λ − 0.5| < 1e-3 is drawn again.
        beta: See above.
        seed: Seeds pairs and ratios.
        progress: Called with the mixtures and their number; passes them on and shows how far it is.
    """
    if len(dataset) < 2:
        raise InputError(f"An audit needs at least two graphs; got {len(dataset)}.")
    if pairs < 1:
        raise InputError(f"An audit needs at least one pair; got {pairs}.")
    if not (alpha > 0 and beta > 0):
        raise InputError(f"Beta(alpha, beta) needs alpha > 0 and beta > 0; got ({alpha}, {beta}).")
    values = feature_set(dataset)
    independent = linearly_independent(values)
    one_hot = is_one_hot(values)
    graphs = [_plain(graph) for graph in dataset]
    indices = {_key(graph): index for index, graph in enumerate(graphs)}
    rng = np.random.default_rng(check_seed(seed))

    recovered = identical = coinciding = structures = 0
    largest_error = 0.0
    reasons: dict[str, None] = {}  # keeps their order
    for first, second, lam, mixed in progress(_mixtures(graphs, pairs, alpha, beta, rng), pairs):
        a, b = graphs[first], graphs[second]
        same = _key(a) == _key(b)
        identical += same
        weights = torch.cat([mixed.edge_weight, mixed.node_weight])
        if not same and bool((weights == 1).all()) and _key(mixed) in indices:
            coinciding += 1
            reasons[f"graphs {first} and {second} can make graph {indices[_key(mixed)]}"] = None
        large, small = (a, b) if lam > 0.5 else (b, a)
        share = max(lam, 1 - lam)
        reason, error = None, 0.0
        if independent:
            reason, error = _compare(mixed, large, small, share, None if one_hot else values)
        if independent and reason is None:
            recovered += 1
            structures += 1
            largest_error = max(largest_error, error)
            continue
        structures += _same_structure(mixed, large, small, share)
        if reason is not None:
            reasons[reason.replace("{pair}", f"graphs {first} and {second}")] = None
    if not independent:
        reasons[
            f"the {len(values)} different feature rows are not linearly independent: Lemma 2 does "
            f"not hold"
        ] = None
    return Audit(
        pairs,
        independent,
        recovered,
        identical,
        coinciding,
        largest_error,
        tuple(reasons),
        tuple(continuous(values)),
        structures,
    )


def _compare(
    mixed: Data, large: Data, small: Data, lam: float, features: Tensor | None
) -> tuple[str | None, float]:
    """Why a pair did not come back, None if it did; and the error of λ."""
    try:
        found = recover(mixed, features=features)
    except RecoveryError as error:
        return str(error), 0.0
    if _key(found.a) != _key(large) or _key(found.b) != _key(small):
        return "{pair} were not recovered exactly", 0.0
    wrong = 0.0 if found.lam is None else abs(found.lam - lam)
    if wrong > _LAM_TOLERANCE:
        return f"λ of {{pair}} was recovered as {found.lam}, not {lam}", wrong
    return None, wrong


def _same_structure(mixed: Data, large: Data, small: Data, lam: float) -> bool:
    """Whether sizes, edges and λ of a pair come back without its features."""
    try:
        found = recover_structure(mixed)
    except RecoveryError:
        return False
    return (found.lam is None or abs(found.lam - lam) <= _LAM_TOLERANCE) and all(
        one.num_nodes == other.num_nodes and torch.equal(one.edge_index, other.edge_index)
        for one, other in ((found.a, large), (found.b, small))
    )


def _plain(graph: Data) -> Data:
    """The graph of the lemmas: features and binary edges."""
    return Data(x=graph.x, edge_index=coalesce(graph.edge_index, num_nodes=graph.num_nodes))


def _key(graph: Data) -> tuple[Any, ...]:
    """Equal for graphs that are the same, node by node and edge by edge."""
    parts = (graph.x, graph.edge_index)
    return tuple((part.shape, part.contiguous().cpu().numpy().tobytes()) for part in parts)


def _mixtures(
    graphs: list[Data], pairs: int, alpha: float, beta: float, rng: np.random.Generator
) -> Iterator[Mixture]:
    """Random pairs of different graphs, mixed many at once."""
    for start in range(0, pairs, _CHUNK):
        chosen = [
            rng.choice(len(graphs), 2, replace=False)
            for _ in range(start, min(start + _CHUNK, pairs))
        ]
        lam = [_draw_lam(rng, alpha, beta) for _ in chosen]
        a, b = (Batch.from_data_list([graphs[pair[side]] for pair in chosen]) for side in (0, 1))
        mixed = mix_batch(a, b, torch.tensor(lam))
        for i, (first, second) in enumerate(chosen):
            yield int(first), int(second), lam[i], mixed[i]


def _draw_lam(rng: np.random.Generator, alpha: float, beta: float) -> float:
    """λ as float32 holds it, strictly inside (0, 1) and not too near 0.5."""
    eps = torch.finfo(torch.float32).eps
    for _ in range(10_000):
        lam = float(np.clip(np.float32(rng.beta(alpha, beta)), eps, 1 - eps))
        if abs(lam - 0.5) > _HALF_MARGIN:
            return lam
    raise InputError(f"Beta({alpha}, {beta}) only draws λ = 0.5, which Lemma 1 excludes.")
