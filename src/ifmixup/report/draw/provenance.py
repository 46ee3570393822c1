"""Where the nodes and edges of a changed graph come from, for any method.

Methods carry attributes of nodes along: what is copied is copied with its attributes, and what is
mixed has mixed attributes. So the nodes of both sources get a one-hot attribute with their number,
and the attribute of a changed node then says what it is made of. Nothing of this runs in training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ifmixup.augment import Method, MixPlan
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, select
from ifmixup.report.draw.pair import ORIGINS, Edge, Origin, count, lines

_NAMES: tuple[Origin, Origin] = ("A", "B")
_ORIGIN = "ifmixup_origin"
_FITTED = 500  # graphs that a method which estimates is fitted to, besides the pair
_TRIES = 200  # draws, until one mixes A with B or changes A


@dataclass(frozen=True)
class Provenance:
    """A changed graph of n nodes, and where its nodes and edges come from.

    Attributes:
        share: How much of each node of A and B each node is made of, ``[n, n_A + n_B]``.
        sizes: n_A and n_B.
        x: The node features, ``[n, d]``.
        node_weight: The weight of each node, ``[n]``.
        sources: The edges of A and those of B.
        edges: Its edges. One is of A if A has an edge between nodes that its ends are made of.
        y: Its label row; None without labels.
        two_sources: Whether the method mixes two graphs.
        fitted_to: The number of graphs that the method was fitted to.
    """

    share: Tensor
    sizes: tuple[int, int]
    x: Tensor
    node_weight: Tensor
    sources: tuple[list[Edge], list[Edge]]
    edges: list[Edge]
    y: Tensor | None
    two_sources: bool
    fitted_to: int

    @property
    def origins(self) -> list[Origin]:
        """The graph that each node comes from; one that is made of neither is new."""
        return [_origin(a > 0, b > 0, a + b < 0.5) for a, b in self._parts().tolist()]

    @property
    def labels(self) -> list[str]:
        """The number of each node in the graph that it comes from; ``4+7`` is made of both."""
        found = []
        for node, origin in enumerate(self.origins):
            first, second = self.share[node].split(self.sizes)
            mine = second if origin == "B" else first
            chosen = (mine >= 0.4 * mine.max()).nonzero().view(-1).tolist() if len(mine) else []
            mixed = "+".join(map(str, chosen))
            found.append(str(node) if origin == "new" or len(chosen) > 2 else mixed)
        return found

    def gone(self, name: Origin) -> tuple[int, int]:
        """How many nodes and edges of A or of B are not in the changed graph."""
        which = _NAMES.index(name)
        part = self.share.split(self.sizes, 1)[which]
        nodes = int((part.sum(0) == 0).sum())
        there = [set(row.nonzero().view(-1).tolist()) for row in part]
        kept = set()
        for edge in self.edges:
            pairs = {(u, v) for u in there[edge.source] for v in there[edge.target]}
            kept |= {frozenset(pair) for pair in pairs}
        mine = {frozenset((edge.source, edge.target)) for edge in self.sources[which]}
        return nodes, len(mine - kept)

    def __str__(self) -> str:
        nodes, edges = self.origins, [edge.origin for edge in self.edges]
        parts = [
            f"{count(len(each), thing)} ({self._counts(each)})"
            for each, thing in ((nodes, "node"), (edges, "edge"))
        ]
        gone = zip(self.gone("A"), ("node", "edge"), strict=True)
        lost = " and ".join(count(number, thing) for number, thing in gone if number)
        label = "" if self.y is None else ", ".join(f"{share:.2f}" for share in self.y.tolist())
        return (
            ", ".join(parts)
            + (f"; {lost} of A gone" if lost else "")
            + (f"; label {label}" if label and self.two_sources else "")
        )

    @property
    def said(self) -> dict[Origin, str]:
        """What each origin is called. New edges between a part of A and a part of B join them."""
        joins = {"A", "B"} <= set(self.origins)
        new = "joining A and B" if joins else "new"
        return {"both": "of both", "A": "of A", "B": "of B", "new": new}

    def _counts(self, origins: list[Origin]) -> str:
        """``5 of A, 2 of B, 1 new``."""
        found = {origin: origins.count(origin) for origin in ORIGINS}
        return ", ".join(f"{n} {self.said[o]}" for o, n in found.items() if n) or "none"

    def _parts(self) -> Tensor:
        return torch.stack([part.sum(1) for part in self.share.split(self.sizes, 1)], 1)


def trace(
    method: Method, graphs: Graphs, a: int, b: int | None = None, *, lam: float | None = None
) -> Provenance:
    """Change graph ``a``, with ``b`` where the method mixes two, and say what comes from where.

    Args:
        method: The method, with a generator of its own. One that estimates is fitted to the pair
            and up to 500 other graphs.
        graphs: All graphs of the dataset.
        a: The first graph.
        b: Its partner; None for a method that changes one graph.
        lam: λ, for a method that draws one for each pair; None draws it.
    """
    name = type(method).title if "title" in vars(type(method)) else type(method).__name__
    if type(method).change is Method.change:
        inside = type(method).loss is not Method.loss
        why = "and mixes inside the model. Try ifmixup" if inside else "the baseline. Try another"
        raise InputError(f"{name} leaves the graphs as they are, {why}: there is nothing to draw.")
    both = [a] if b is None else [a, b]
    width = int(graphs.node_counts[both].sum())
    fitted = 0
    if type(method).fit is not Method.fit:
        others = torch.linspace(0, graphs.num_graphs - 1, min(graphs.num_graphs, _FITTED)).long()
        chosen = torch.cat([others, torch.tensor(both)]).unique()
        fitted = chosen.numel()
        method.fit(method._prepare(_tagged(select(graphs, chosen), width)))
    pair = method._prepare(_tagged(select(graphs, torch.tensor(both)), width))
    changed, plan, mixes = _changed(method, pair)
    if mixes and b is None:
        raise InputError(f"{name} mixes two graphs: give the index of a second one.")
    if lam is not None:
        if not isinstance(plan, MixPlan):
            raise InputError(f"{name} does not take λ from a plan: leave lam out.")
        changed = method.change(pair, replace(plan, lam=torch.full_like(plan.lam, lam)))
    new = changed.num_graphs - 1 if changed.num_graphs > len(both) else 0
    return _provenance(name, pair, select(changed, torch.tensor([new])), mixes, fitted)


def _tagged(graphs: Graphs, width: int) -> Graphs:
    """Graphs with features, edges and labels; of those that have ``width`` nodes, the pair, each
    node has its number, one-hot.
    """
    nodes = {name: value for name, value in graphs.nodes.items() if name in ("x", "node_weight")}
    edges = {n: v for n, v in graphs.edges.items() if n in ("edge_index", "edge_weight")}
    is_pair = graphs.num_nodes == width
    tags = torch.eye(width) if is_pair else torch.zeros(graphs.num_nodes, width)
    y = {name: value for name, value in graphs.graphs.items() if name == "y"}
    tagged = {**nodes, _ORIGIN: tags.to(nodes["x"])}
    return replace(graphs, nodes=tagged, edges=edges, graphs=y, index=None)


def _changed(method: Method, pair: Graphs) -> tuple[Graphs, Any, bool]:
    """The first draw that mixes A with B, adds a graph, or changes A; and whether it mixes two."""
    mixes = False
    for _ in range(_TRIES):
        plan = method.draw(pair)
        partner = getattr(plan, "partner", None)
        mixes = partner is not None
        changed = method.change(pair, plan)
        if changed.num_graphs > pair.num_graphs:
            return changed, plan, True
        if partner is not None and pair.num_graphs == 2 and int(partner[0]) != 1:
            continue
        if partner is not None and pair.num_graphs == 1:
            break
        old, new = select(pair, torch.tensor([0])), select(changed, torch.tensor([0]))
        same = all(old.nodes[name].equal(new.nodes[name]) for name in old.nodes)
        if not (same and old.edge_index.equal(new.edge_index)):
            break
    return changed, plan, mixes


def _provenance(name: str, pair: Graphs, new: Graphs, mixes: bool, fitted: int) -> Provenance:
    sizes = pair.node_counts.tolist()
    share = new.nodes.get(_ORIGIN)
    if share is None:
        raise InputError(
            f"{name} does not carry attributes of nodes along, so the origin of its nodes is "
            f"unknown. Let change keep all of graphs.nodes."
        )
    sources: list[list[Edge]] = []
    touch = []
    for index, (size, part) in enumerate(zip(sizes, share.split(sizes, 1), strict=True)):
        one = select(pair, torch.tensor([index]))
        weights = _weights(one)
        sources.append(lines(weights, dict.fromkeys(weights, _NAMES[index])))
        dense = torch.zeros(size, size)
        dense[tuple(one.edge_index)] = 1
        made_of = (part > 0).float()
        touch.append(made_of @ dense @ made_of.T > 0)
    weights = _weights(new)
    origins = {
        (u, v): _origin(*(bool(t[u, v]) for t in touch), *[False] * (2 - len(touch)))
        for u, v in weights
    }
    n_a, n_b = (*sizes, 0)[:2]
    return Provenance(
        share=F.pad(share, (0, n_a + n_b - share.size(1))),
        sizes=(n_a, n_b),
        x=new.nodes["x"],
        node_weight=new.nodes.get("node_weight", torch.ones(new.num_nodes)),
        sources=(sources[0], sources[1] if len(sources) > 1 else []),
        edges=lines(weights, origins),
        y=new.graphs["y"][0] if "y" in new.graphs else None,
        two_sources=mixes,
        fitted_to=fitted,
    )


def _origin(of_a: bool, of_b: bool, new: bool = False) -> Origin:
    if new or not (of_a or of_b):
        return "new"
    return "both" if of_a and of_b else "A" if of_a else "B"


def _weights(graphs: Graphs) -> dict[tuple[int, int], float]:
    ends = [(u, v) for u, v in graphs.edge_index.T.tolist()]
    weight = graphs.edges.get("edge_weight", torch.ones(len(ends)))
    return dict(zip(ends, weight.tolist(), strict=True))
