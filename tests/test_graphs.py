import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddSelfLoops
from torch_geometric.utils import subgraph

from ifmixup.errors import InputError
from ifmixup.graphs import (
    keep_edges,
    keep_nodes,
    permute_nodes,
    put_together,
    ranges,
    select,
    take_apart,
    without_repeated_edges,
)
from strategies import graphs


def path(n: int) -> Data:
    """0 → 1 → … → n − 1."""
    return Data(
        x=torch.arange(float(n)).view(n, 1),
        edge_index=torch.stack([torch.arange(n - 1), torch.arange(1, n)]),
        edge_attr=torch.arange(10.0, 10 + n - 1),
        y=torch.tensor([n]),
        name=f"path {n}",
    )


def batch_of(*sizes: int) -> Batch:
    return Batch.from_data_list([path(n) for n in sizes])


def same(one: Data, other: Data) -> bool:
    assert set(one.keys()) == set(other.keys())
    return all(
        torch.equal(one[key], other[key])
        if isinstance(one[key], torch.Tensor)
        else one[key] == other[key]
        for key in one.keys()  # noqa: SIM118 - Data is no dict
    )


def test_ranges():
    values, ptr = ranges(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3]))
    assert values.tolist() == [5, 6, 9, 10, 11]
    assert ptr.tolist() == [0, 2, 2, 5]


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_what_is_taken_apart_is_put_together_as_pyg_does(data_list):
    batch = Batch.from_data_list(data_list)
    again = put_together(take_apart(batch))
    assert same(batch, again)
    assert again.num_graphs == len(data_list)
    for one, other in zip(data_list, again.to_data_list(), strict=True):
        assert same(one, other)


def test_graph_attributes_come_along():
    again = put_together(take_apart(batch_of(2, 3)))
    assert [graph.name for graph in again.to_data_list()] == ["path 2", "path 3"]


def test_a_batch_put_together_can_be_collated_again_and_moved():
    batch = put_together(take_apart(batch_of(2, 3)))
    assert same(Batch.from_data_list(batch.to_data_list())[1], path(3))
    assert same(batch.to("cpu")[0], path(2))


def test_data_without_edges_and_edge_index():
    taken = take_apart(Data(x=torch.ones(2, 1)))
    assert taken.edge_index.shape == (2, 0)
    assert taken.node_ptr.tolist() == [0, 2]
    assert taken.edge_ptr.tolist() == [0, 0]


def test_a_batch_without_ptr():
    batch = batch_of(2, 3)
    bare = Batch(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)
    assert take_apart(bare).node_ptr.tolist() == [0, 2, 5]


def test_edge_index_with_metadata_becomes_plain():
    data = path(3)
    data.edge_index = EdgeIndex(data.edge_index, sparse_size=(3, 3), sort_order="row")
    assert type(take_apart(data).edge_index) is torch.Tensor


def test_edges_that_a_transform_appended_return_to_their_graph():
    batch = AddSelfLoops(attr=None)(Batch.from_data_list([path(2), path(2)]).clone())
    del batch.edge_attr
    again = put_together(take_apart(batch))
    assert again[0].edge_index.tolist() == [[0, 0, 1], [1, 0, 1]]
    assert again[1].edge_index.tolist() == [[0, 0, 1], [1, 0, 1]]


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


def test_an_edge_between_two_graphs_is_named():
    batch = batch_of(2, 2)
    batch.edge_index = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(InputError, match=r"Edge 1 joins two graphs.*node 1 and node 2"):
        take_apart(batch)


def test_a_graph_of_the_batch_without_nodes_is_named():
    nothing = Data(x=torch.ones(0, 1))
    batch = Batch.from_data_list([Data(x=torch.ones(2, 1)), nothing])
    with pytest.raises(InputError, match="Graph 1 of the batch has no nodes"):
        take_apart(batch)
