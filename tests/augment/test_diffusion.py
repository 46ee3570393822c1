"""Personalised PageRank against a direct solve of its definition; components against a search."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from ifmixup.augment.diffusion import components, dense_pagerank, pagerank, pagerank_key
from ifmixup.batch import from_batch
from strategies import graphs


def adjacency(graph: Data) -> torch.Tensor:
    """Symmetric, 0 and 1, without self-loops."""
    dense = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    dense[graph.edge_index[0], graph.edge_index[1]] = 1
    return torch.maximum(dense, dense.T).fill_diagonal_(0)


def by_definition(graph: Data, root: int, teleport: float) -> torch.Tensor:
    """p = α e + (1 − α) Â p, solved."""
    looped = adjacency(graph) + torch.eye(graph.num_nodes, dtype=torch.float64)
    half = torch.diag(looped.sum(1) ** -0.5)
    start = torch.zeros(graph.num_nodes, dtype=torch.float64)
    start[root] = teleport
    one = torch.eye(graph.num_nodes, dtype=torch.float64)
    return torch.linalg.solve(one - (1 - teleport) * half @ looped @ half, start)


def reachable(graph: Data, root: int) -> set[int]:
    found, rest = {root}, [root]
    dense = adjacency(graph)
    while rest:
        near = set(dense[rest.pop()].nonzero().view(-1).tolist()) - found
        found |= near
        rest += near
    return found


@settings(max_examples=80)
@given(
    data=st.lists(graphs(max_nodes=8), min_size=1, max_size=4),
    teleport=st.sampled_from([0.05, 0.15, 0.5, 1.0]),
    draw=st.data(),
)
def test_both_ways_are_the_direct_solve(data, teleport, draw):
    whole = from_batch(Batch.from_data_list(data))
    roots = [[draw.draw(st.integers(0, g.num_nodes - 1)) for _ in range(2)] for g in data]
    found = pagerank(whole, torch.tensor(roots) + whole.node_ptr[:-1].unsqueeze(1), teleport)
    for g, graph in enumerate(data):
        dense = dense_pagerank(adjacency(graph).unsqueeze(0), teleport)[0]
        rows = found[whole.node_ptr[g] : whole.node_ptr[g + 1]]
        for column, root in enumerate(roots[g]):
            expected = by_definition(graph, root, teleport)
            torch.testing.assert_close(dense[root], expected, rtol=0, atol=1e-12)
            torch.testing.assert_close(rows[:, column], expected, rtol=0, atol=1e-9)


@settings(max_examples=80)
@given(data=st.lists(graphs(max_nodes=8), min_size=1, max_size=4))
def test_components_are_what_can_be_reached(data):
    whole = from_batch(Batch.from_data_list(data))
    label = components(whole)
    for g, graph in enumerate(data):
        first = int(whole.node_ptr[g])
        for node in range(graph.num_nodes):
            reached = reachable(graph, node)
            assert label[first + node] == first + min(reached)


def test_a_long_path_is_one_component():
    node = torch.arange(999)
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(0))
    edges = order[torch.stack([node, node + 1])]
    label = components(from_batch(Data(x=torch.ones(1000, 1), edge_index=edges)))
    assert label.tolist() == [0] * 1000


def test_nodes_that_are_alike_stay_in_their_order():
    score = torch.tensor([0.2, 0.5, 0.2 + 1e-13, 0.0, 0.0, 0.3], dtype=torch.float64)
    reached = torch.tensor([True, True, True, True, False, True])
    key = pagerank_key(score, reached)
    assert key.argsort(stable=True).tolist() == [1, 5, 0, 2, 3, 4]
    assert int(key.max()) < 2**32


def test_the_root_has_the_most():
    ring = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    score = pagerank(
        from_batch(Data(x=torch.ones(5, 1), edge_index=ring)), torch.tensor([[3]]), 0.15
    )
    assert int(score.argmax()) == 3
    torch.testing.assert_close(score[2], score[4])
