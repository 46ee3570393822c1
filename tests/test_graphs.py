import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import subgraph

from ifmixup.batches import put_together, take_apart
from ifmixup.graphs import (
    keep_edges,
    keep_nodes,
    permute_nodes,
    ranges,
    select,
    without_repeated_edges,
)
from small_graphs import batch_of, path, same
from strategies import graphs


def test_ranges():
    values, segment, ptr = ranges(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3]))
    assert values.tolist() == [5, 6, 9, 10, 11]
    assert segment.tolist() == [0, 0, 2, 2, 2]
    assert ptr.tolist() == [0, 2, 2, 5]


@given(st.lists(graphs(), min_size=1, max_size=4), st.data())
def test_select_is_pyg_indexing(data_list, data):
    places = st.lists(st.integers(0, len(data_list) - 1), min_size=1, max_size=5)
    index = data.draw(places)
    batch = Batch.from_data_list(data_list)
    selected = put_together(select(take_apart(batch), torch.tensor(index)))
    assert same(selected, Batch.from_data_list([data_list[i] for i in index]))


def test_select_takes_lists_and_edge_attributes_along():
    selected = put_together(select(take_apart(batch_of(2, 4, 3)), torch.tensor([2, 0, 2])))
    for graph, n in zip(selected.to_data_list(), (3, 2, 3), strict=True):
        assert same(graph, path(n))


def test_permute_nodes():
    taken = permute_nodes(take_apart(batch_of(2, 3)), torch.tensor([1, 0, 4, 2, 3]))
    second = put_together(taken)[1]
    assert second.x.view(-1).tolist() == [2, 0, 1]  # place 0 holds what was node 2
    assert second.edge_index.tolist() == [[1, 2], [2, 0]]


def test_keep_edges():
    kept = put_together(
        keep_edges(take_apart(batch_of(3, 3)), torch.tensor([False, True, True, False]))
    )
    assert [graph.edge_index.tolist() for graph in kept.to_data_list()] == [[[1], [2]], [[0], [1]]]
    assert kept.edge_attr.tolist() == [11, 10]


@given(st.lists(graphs(), min_size=1, max_size=4), st.data())
def test_keep_nodes_is_the_induced_subgraph(data_list, data):
    masks = [
        torch.tensor(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        for n in (graph.num_nodes for graph in data_list)
    ]
    for mask in masks:
        mask[0] = True
    kept = keep_nodes(take_apart(Batch.from_data_list(data_list)), torch.cat(masks))
    for graph, mask, result in zip(
        data_list, masks, put_together(kept).to_data_list(), strict=True
    ):
        edge_index, _ = subgraph(mask, graph.edge_index, relabel_nodes=True, num_nodes=len(mask))
        assert torch.equal(result.edge_index, edge_index)
        assert torch.equal(result.x, graph.x[mask])


def test_repeated_edges_merge():
    edges = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1]])
    data = Data(x=torch.ones(2, 1), edge_index=edges, edge_attr=torch.tensor([1.0, 5.0, 3.0, 7.0]))
    data.edge_weight = torch.tensor([0.25, 1.0, 0.5, 1.0])
    merged = without_repeated_edges(take_apart(data))
    assert merged.edge_index.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert merged.edges["edge_weight"].tolist() == [1.0, 0.75, 1.0]
    assert merged.edges["edge_attr"].tolist() == [5.0, 2.0, 7.0]
    assert merged.edge_ptr.tolist() == [0, 3]


def test_sorted_edges_are_not_touched():
    taken = take_apart(batch_of(3, 2))
    assert without_repeated_edges(taken) is taken
