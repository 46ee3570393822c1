import pytest
import torch
from torch_geometric.data import Data

from ifmixup import mix
from ifmixup.errors import InputError
from ifmixup.report.draw.pair import Edge, count, take_pair, weight_text


def graph(n, edges, weights=None):
    x = torch.eye(4)[torch.arange(n) % 4]
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    weight = {} if weights is None else {"edge_weight": torch.tensor(weights)}
    return Data(x=x, edge_index=edge_index, y=torch.tensor([1]), **weight)


PATH = [[0, 1], [1, 0], [1, 2], [2, 1]]
TRIANGLE_LESS_ONE = [[0, 1], [1, 0], [0, 2], [2, 0], [2, 3], [3, 2]]


def test_a_pair_written_out():
    pair = take_pair(graph(3, PATH), graph(4, TRIANGLE_LESS_ONE), 0.75)
    assert pair.sizes == (3, 4)
    assert pair.num_nodes == 4
    assert pair.edges[0] == [Edge(0, 1, 1.0, "A"), Edge(1, 2, 1.0, "A")]
    assert pair.edges[1] == [Edge(0, 1, 1.0, "B"), Edge(0, 2, 1.0, "B"), Edge(2, 3, 1.0, "B")]
    assert pair.edges[2] == [
        Edge(0, 1, 1.0, "both"),
        Edge(0, 2, 0.25, "B"),
        Edge(1, 2, 0.75, "A"),
        Edge(2, 3, 0.25, "B"),
    ]
    assert pair.weights() == {"both": [1.0], "A": [0.75], "B": [0.25, 0.25]}
    assert str(pair) == (
        "4 nodes, 4 edges: 1 in both (weight 1), 1 only in A (weight 0.75), "
        "2 only in B (weight 0.25)"
    )


@pytest.mark.parametrize(
    ("lam", "origins"), [(1.0, {"both": 1, "A": 1}), (0.0, {"both": 1, "B": 2})]
)
def test_at_the_ends_the_other_graph_is_gone(lam, origins):
    pair = take_pair(graph(3, PATH), graph(4, TRIANGLE_LESS_ONE), lam)
    assert {origin: len(weights) for origin, weights in pair.weights().items()} == origins
    assert {edge.weight for edge in pair.edges[2]} == {1.0}


def test_a_node_that_one_graph_lacks_has_the_weight_of_the_other():
    pair = take_pair(graph(3, PATH), graph(4, TRIANGLE_LESS_ONE), 0.75)
    assert pair.node_weight.tolist() == [1.0, 1.0, 1.0, 0.25]
    assert take_pair(graph(4, PATH), graph(3, PATH), 0.75).node_weight.tolist()[3] == 0.75


def test_node_weights_of_the_mixed_graph_are_used(monkeypatch):
    def weighted(a, b, lam, **options):
        return mix(a, b, lam, **options).update({"node_weight": torch.tensor([0.5, 1.0])})

    monkeypatch.setattr("ifmixup.report.draw.pair.mix", weighted)
    assert take_pair(graph(2, []), graph(2, []), 0.75).node_weight.tolist() == [0.5, 1.0]


def test_directions_are_kept_where_they_differ():
    pair = take_pair(graph(2, [[0, 1], [1, 0], [1, 1]]), graph(2, [[0, 1]]), 0.75)
    assert pair.edges[0] == [Edge(0, 1, 1.0, "A"), Edge(1, 1, 1.0, "A")]
    assert pair.edges[1] == [Edge(0, 1, 1.0, "B", directed=True)]
    assert pair.edges[2] == [
        Edge(0, 1, 1.0, "both", directed=True),
        Edge(1, 0, 0.75, "A", directed=True),
        Edge(1, 1, 0.75, "A"),
    ]


def test_given_weights_are_a_range():
    pair = take_pair(
        graph(2, [[0, 1], [1, 0]], [0.5, 0.5]), graph(3, [[1, 2], [2, 0]], [0.25, 1.0]), 0.5
    )
    assert pair.weights() == {"A": [0.25], "B": [0.125, 0.5]}
    assert "2 only in B (weight 0.125 to 0.5)" in str(pair)


def test_without_edges():
    pair = take_pair(graph(1, []), graph(2, []), 0.5)
    assert pair.edges == ([], [], [])
    assert str(pair) == "2 nodes, 0 edges"


def test_a_ratio_out_of_range():
    with pytest.raises(InputError, match=r"λ must be in \[0, 1\]; got 1.5"):
        take_pair(graph(1, []), graph(1, []), 1.5)


def test_words():
    assert [count(n, "edge") for n in (0, 1, 2)] == ["0 edges", "1 edge", "2 edges"]
    assert [weight_text([w]) for w in (1.0, 1 / 3, 0.1000000238, 0.125)] == [
        "1",
        "0.333",
        "0.1",
        "0.125",
    ]
    assert weight_text([0.25, 0.75, 0.5]) == "0.25 to 0.75"
