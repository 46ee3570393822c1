import math

import pytest
import torch
from hypothesis import assume, given
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import coalesce

from ifmixup import mix, mix_batch, recover
from ifmixup.errors import RecoveryError
from ifmixup.recovery import recover_structure
from strategies import graphs, inner_ratios

# Three linearly independent rows that are not one-hot, one of them long.
V = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [10.0, 0.0, 1.0]])


def plain(graph: Data, features: Tensor | None = None) -> Data:
    """What mixing sees: features, and each edge once."""
    x = graph.x if features is None else features[graph.x.argmax(1)]
    return Data(x=x, edge_index=coalesce(graph.edge_index, num_nodes=graph.num_nodes))


def same(one: Data, other: Data) -> bool:
    return torch.equal(one.x, other.x) and torch.equal(one.edge_index, other.edge_index)


def graph(kinds: list[int], *edges: tuple[int, int]) -> Data:
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Data(x=torch.eye(3)[kinds], edge_index=index)


@given(graphs(), graphs(), inner_ratios)
def test_recover_inverts_mix(a, b, lam):
    assume(abs(lam - 0.5) > 1e-3)
    a, b = plain(a), plain(b)
    found = recover(mix(a, b, lam))
    large, small = (a, b) if lam > 0.5 else (b, a)
    assert same(found.a, large)
    assert same(found.b, small)
    if same(a, b):
        assert found.lam is None
    else:
        assert found.lam == pytest.approx(max(lam, 1 - lam), abs=1e-7)


@given(graphs(), graphs(), inner_ratios)
def test_any_linearly_independent_features(a, b, lam):
    assume(abs(lam - 0.5) > 1e-3)
    a, b = plain(a, V), plain(b, V)
    found = recover(mix(a, b, lam), features=V)
    large, small = (a, b) if lam > 0.5 else (b, a)
    assert same(found.a, large)
    assert same(found.b, small)
    if not same(a, b):
        assert found.lam == pytest.approx(max(lam, 1 - lam), abs=1e-5)


@pytest.mark.parametrize("eps", [2**-23, 2**-20, 1e-6, 1e-4])
def test_ratios_that_are_nearly_one_come_back_in_float32(eps):
    a, b = graph([0, 1], (0, 1), (1, 0)), graph([0, 1, 2], (0, 2), (0, 1))
    for lam in (1 - eps, eps):
        found = recover(mix(a, b, lam))
        large, small = (a, b) if lam > 0.5 else (b, a)
        assert same(found.a, plain(large))
        assert same(found.b, plain(small))
        assert found.lam == pytest.approx(1 - eps, abs=1e-7)


def test_an_edge_that_stands_twice_is_one_edge():
    batch = Batch.from_data_list([graph([0, 1], (0, 1))])
    partner = Batch.from_data_list([graph([0, 2], (0, 1), (1, 0))])
    mixed = mix_batch(batch, partner, torch.tensor([0.75]), coalesce=False)[0]
    assert mixed.num_edges == 3
    found = recover(mixed)
    assert found.a.edge_index.tolist() == [[0], [1]]
    assert found.b.edge_index.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (graph([0, 1], (0, 1)), graph([0, 2], (0, 1))),  # all edges of weight 1
        (graph([0, 1]), graph([1])),  # no edges
        (
            graph([0, 1], (0, 1), (1, 0)),
            graph([0, 2], (0, 1)),
        ),  # one graph's edges inside the other's
    ],
)
def test_features_tell_the_ratio_where_edges_do_not(a, b):
    found = recover(mix(a, b, 0.75))
    assert found.lam == 0.75
    assert same(found.a, a)
    assert same(found.b, b)


def test_two_identical_graphs():
    a = graph([0, 1], (0, 1))
    found = recover(mix(a, a, 0.3))
    assert found.lam is None
    assert same(found.a, a)
    assert same(found.b, a)


class TestNodeWeight:
    """Sizes, and λ where they differ, without any condition on features."""

    @given(graphs(), graphs(), inner_ratios)
    def test_sizes_edges_and_ratio_come_back_whatever_the_features_are(self, a, b, lam):
        assume(abs(lam - 0.5) > 1e-3)
        a, b = plain(a), plain(b)
        a.x, b.x = torch.full((a.num_nodes, 1), 3.5), torch.zeros(b.num_nodes, 1)
        found = recover_structure(mix(a, b, lam))
        large, small = (a, b) if lam > 0.5 else (b, a)
        assert (found.a.num_nodes, found.b.num_nodes) == (large.num_nodes, small.num_nodes)
        assert torch.equal(found.a.edge_index, large.edge_index)
        assert torch.equal(found.b.edge_index, small.edge_index)
        assert found.a.x is None
        told = a.num_nodes != b.num_nodes or not torch.equal(a.edge_index, b.edge_index)
        assert (found.lam is not None) == told
        if told:
            assert found.lam == pytest.approx(max(lam, 1 - lam), abs=1e-7)

    @given(graphs(), graphs(), inner_ratios)
    def test_nodes_may_have_zero_features(self, a, b, lam):
        assume(abs(lam - 0.5) > 1e-3)
        a, b = plain(a), plain(b)
        a.x[:, 0], b.x[:, 0] = 0, 0  # some rows are all zero now
        large, small = (a, b) if lam > 0.5 else (b, a)
        found = recover(mix(a, b, lam))
        assert same(found.a, large)
        assert same(found.b, small)
        basis = torch.eye(3)[1:]
        assert same(recover(mix(a, b, lam), features=basis).a, large)

    def test_the_ratio_of_graphs_that_differ_in_size_alone(self):
        a, b = graph([0, 1]), graph([0])
        a.x[1] = 0
        assert recover(mix(a, b, 0.75)).lam == 0.75
        assert recover(mix(a, b, 0.25)).b.num_nodes == 2

    def test_a_half_is_still_refused(self):
        with pytest.raises(RecoveryError, match=r"node weights show λ = 0.5"):
            recover_structure(mix(graph([0, 1]), graph([0]), 0.5))

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ([1.0, 0.75, 0.6], "node weights hold 0.6, which is none of 0, 0.25, 0.75, 1"),
            ([0.75, 1.0, 0.75], "a dummy node comes before others"),
            ([1.0, 1.0, 0.0], "last node has weight 0, as at λ = 1"),
            ([1.0, 0.75, 0.25], "a dummy node comes before others"),
        ],
    )
    def test_weights_that_no_pair_could_have_made(self, weight, message):
        data = Data(x=torch.ones(3, 1), node_weight=torch.tensor(weight))
        with pytest.raises(RecoveryError, match=message):
            recover_structure(data)

    def test_features_of_a_node_that_does_not_exist(self):
        data = Data(x=torch.eye(2), node_weight=torch.tensor([1.0, 0.75]))
        with pytest.raises(RecoveryError, match="dummy node, by its weight, has features"):
            recover(data)

    def test_without_it_sizes_are_not_known(self):
        with pytest.raises(RecoveryError, match="has no node_weight"):
            recover_structure(graph([0, 1]))


def mixed(weights: list[float], x: Tensor | None = None) -> Data:
    edges = torch.tensor([[i, i + 1] for i in range(len(weights))]).T
    x = torch.eye(3)[torch.zeros(len(weights) + 1).long()] if x is None else x
    return Data(x=x, edge_index=edges, edge_weight=torch.tensor(weights))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (mixed([0.5, 1.0]), "edge weights show λ = 0.5"),
        (mixed([1.0], torch.tensor([[0.5, 0.5], [1.0, 0.0]])), "node features show λ = 0.5"),
        (mixed([0.3, 0.4]), "edge weights hold 0.4, which is none of 0, 0.3, 0.7, 1"),
        (mixed([1.5]), "edge weights hold 1.5"),
        (mixed([math.nan]), "edge weights hold nan"),
        (mixed([0.3], torch.tensor([[0.2, 0.8], [1.0, 0.0]])), "node features hold 0.2"),
        (
            mixed([1.0], torch.tensor([[2.0, 0.0], [1.0, 0.0]])),
            r"Pass the feature set as features=",
        ),
        (
            mixed([1.0], torch.tensor([[1.0, 1.0], [1.0, 0.0]])),
            "node 0 would have several features",
        ),
        (mixed([1.0], torch.tensor([[1.0, 0.0], [0.0, 0.0]])), "an edge ends at a dummy node"),
        (Data(x=torch.tensor([[1.0], [0.0]])), "features of its last node are all zero"),
        (Data(x=torch.tensor([[0.7], [1.0]])), "a dummy node comes before others"),
        (Data(x=torch.ones(2, 1).long()), "no float node features"),
    ],
)
def test_what_no_pair_could_have_made(data, message):
    with pytest.raises(RecoveryError, match=message):
        recover(data)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (torch.tensor([[1.0, 0.0], [2.0, 0.0]]), "2 rows.*not linearly independent.*Lemma 2"),
        (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), "3 rows.*not linearly independent"),
        (torch.ones(2, 5), r"shape \[k, 2\]; got \[2, 5\]"),
        (torch.tensor([[1.0, 0.0]]), "not mixtures of the feature set"),
    ],
)
def test_feature_sets_that_do_not_fit(features, message):
    data = Data(x=torch.tensor([[0.7, 0.3], [0.3, 0.7]]))
    with pytest.raises(RecoveryError, match=message):
        recover(data, features=features)


def test_a_ratio_finer_than_the_features_tell_is_an_error_and_not_a_guess():
    skewed = torch.tensor([[1.0, 0.0], [1.0, 1e-3]])
    a = Data(x=skewed[[0, 1]], edge_index=torch.tensor([[0], [1]]))
    b = Data(x=skewed[[1, 1]], edge_index=torch.tensor([[1], [0]]))
    with pytest.raises(
        RecoveryError, match=r"too near 0.5 or 1 for the precision of the node features"
    ):
        recover(mix(a, b, 1 - 1e-6), features=skewed)


def test_one_graph_at_a_time():
    batch = Batch.from_data_list([graph([0]), graph([1])])
    with pytest.raises(RecoveryError, match="got a batch of 2"):
        recover(batch)


def test_weights_are_floats():
    data = mixed([1.0])
    data.edge_weight = data.edge_weight.long()
    with pytest.raises(RecoveryError, match="must be floats"):
        recover(data)
