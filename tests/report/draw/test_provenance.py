"""Where nodes and edges come from, for every method; checked against its plan."""

from dataclasses import replace

import pytest
import torch

from ifmixup import augment
from ifmixup.augment import Method
from ifmixup.components import resolve
from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, select
from ifmixup.report.draw.provenance import trace
from ifmixup.training.packed import pack

A, B = 3, 17
TWO = {"ifmixup", "s_mixup", "submix", "graph_transplant", "g_mixup"}
INSIDE = {"none", "mixup_graph", "manifold_mixup"}
ONE = set(augment.names()) - TWO - INSIDE


@pytest.fixture(scope="module")
def mutag():
    return pack(load("MUTAG"))


def made(name, **options) -> Method:
    if name == "s_mixup":
        options = {"matcher_channels": 4, "matcher_layers": 1, "matcher_epochs": 1, **options}
    method = resolve("method", name).with_options(**options)
    return method.build(num_classes=2, generator=torch.Generator().manual_seed(0))


def edges_of(mutag, index):
    one = select(mutag.graphs, torch.tensor([index]))
    return {frozenset(pair) for pair in one.edge_index.T.tolist()}


@pytest.mark.parametrize("name", sorted(ONE | TWO))
def test_every_edge_comes_from_where_it_is_said_to(mutag, name):
    found = trace(made(name), mutag.graphs, A, B)
    n_a, n_b = found.sizes
    assert found.two_sources == (name in TWO)
    assert found.share.shape == (len(found.x), n_a + n_b)
    assert len(found.origins) == len(found.labels) == len(found.x)
    assert ("B" in found.origins or "both" in found.origins) == (name in TWO - {"g_mixup"})
    true = {"A": edges_of(mutag, A), "B": edges_of(mutag, B)}
    made_of = [
        [set(part.nonzero().view(-1).tolist()) for part in node.split([n_a, n_b])]
        for node in found.share
    ]
    for edge in found.edges:
        ends = made_of[edge.source], made_of[edge.target]
        has = [
            any(frozenset((u, v)) in true[which] for u in ends[0][i] for v in ends[1][i])
            for i, which in enumerate("AB")
        ]
        told = {"both": [True, True], "A": [True, False], "B": [False, True]}
        assert has == told.get(edge.origin, [False, False])
    if found.y is not None:
        torch.testing.assert_close(found.y.sum(), torch.tensor(1.0))


@pytest.mark.parametrize("name", sorted(ONE))
def test_a_method_of_one_graph_needs_no_partner(mutag, name):
    found = trace(made(name), mutag.graphs, A)
    assert set(found.origins) == {"A"}
    assert found.sizes == (19, 0)


def test_dropped_edges_are_gone(mutag):
    found = trace(made("drop_edge", drop_ratio=0.5), mutag.graphs, A)
    assert found.gone("A") == (0, 22 - len(found.edges))
    assert {edge.origin for edge in found.edges} == {"A"}
    assert str(found) == (
        f"19 nodes (19 of A), {len(found.edges)} edges ({len(found.edges)} of A); "
        f"{22 - len(found.edges)} edges of A gone"
    )


def test_replaced_nodes_are_those_of_the_plan(mutag):
    method = made("submix", subgraph_ratio=1.0)
    plans = []
    draw = method.draw
    method.draw = lambda graphs: plans.append(draw(graphs)) or plans[-1]
    found = trace(method, mutag.graphs, A, B)
    plan = plans[-1]
    mine = plan.target < 19  # of graph A
    assert [node for node, o in enumerate(found.origins) if o == "B"] == sorted(
        plan.target[mine].tolist()
    )
    for target, source in zip(plan.target[mine].tolist(), plan.source[mine].tolist(), strict=True):
        assert found.labels[target] == str(source - 19)


def test_a_merged_node_has_two_numbers_and_a_split_one_is_there_twice(mutag):
    for seed in range(5):
        method = made("nodesam")
        method.generator.manual_seed(seed)
        found = trace(method, mutag.graphs, A)
        merged = [label for label in found.labels if "+" in label]
        assert len(merged) <= 1
        assert len(found.x) == 19
    assert merged


def test_a_ratio_is_used_where_a_plan_has_one(mutag):
    found = trace(made("ifmixup"), mutag.graphs, A, B, lam=0.6)
    torch.testing.assert_close(found.share[0, [0, 19]], torch.tensor([0.6, 0.4]))
    with pytest.raises(InputError, match="SubMix does not take λ"):
        trace(made("submix"), mutag.graphs, A, B, lam=0.6)


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_nothing_to_draw(mutag, name):
    with pytest.raises(InputError, match="leaves the graphs as they are"):
        trace(made(name), mutag.graphs, A, B)


@pytest.mark.parametrize("name", sorted(TWO - {"g_mixup"}))
def test_a_partner_is_asked_for(mutag, name):
    with pytest.raises(InputError, match="mixes two graphs: give the index of a second one"):
        trace(made(name), mutag.graphs, A)


class Half(Method):
    """A user's: half of the features."""

    def change(self, graphs: Graphs, plan: object) -> Graphs:
        return replace(graphs, nodes={**graphs.nodes, "x": graphs.nodes["x"] / 2})


class Careless(Method):
    """A user's that forgets other attributes."""

    def change(self, graphs: Graphs, plan: object) -> Graphs:
        return replace(graphs, nodes={"x": graphs.nodes["x"] / 2})


def test_methods_of_the_users(mutag):
    assert set(trace(Half(2), mutag.graphs, A).origins) == {"A"}
    with pytest.raises(InputError, match="Careless does not carry attributes of nodes along"):
        trace(Careless(2), mutag.graphs, A)
