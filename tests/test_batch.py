import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddSelfLoops

from ifmixup.batch import check_devices, from_batch, to_batch
from ifmixup.errors import InputError
from small_graphs import batch_of, path, same
from strategies import graphs


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_what_is_taken_apart_is_put_together_as_pyg_does(data_list):
    batch = Batch.from_data_list(data_list)
    again = to_batch(from_batch(batch))
    assert same(batch, again)
    assert again.num_graphs == len(data_list)
    for one, other in zip(data_list, again.to_data_list(), strict=True):
        assert same(one, other)


def test_graph_attributes_come_along():
    again = to_batch(from_batch(batch_of(2, 3)))
    assert [graph.name for graph in again.to_data_list()] == ["path 2", "path 3"]


def test_a_batch_put_together_can_be_collated_again_and_moved():
    batch = to_batch(from_batch(batch_of(2, 3)))
    assert same(Batch.from_data_list(batch.to_data_list())[1], path(3))
    assert same(batch.to("cpu")[0], path(2))


def test_data_without_edges_and_edge_index():
    taken = from_batch(Data(x=torch.ones(2, 1)))
    assert taken.edge_index.shape == (2, 0)
    assert taken.node_ptr.tolist() == [0, 2]
    assert taken.edge_ptr.tolist() == [0, 0]


def test_a_batch_without_ptr():
    batch = batch_of(2, 3)
    bare = Batch(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)
    assert from_batch(bare).node_ptr.tolist() == [0, 2, 5]


def test_edge_index_with_metadata_becomes_plain():
    data = path(3)
    data.edge_index = EdgeIndex(data.edge_index, sparse_size=(3, 3), sort_order="row")
    assert type(from_batch(data).edge_index) is torch.Tensor


def test_edges_that_a_transform_appended_return_to_their_graph():
    batch = AddSelfLoops(attr=None)(Batch.from_data_list([path(2), path(2)]).clone())
    del batch.edge_attr
    again = to_batch(from_batch(batch))
    assert again[0].edge_index.tolist() == [[0, 0, 1], [1, 0, 1]]
    assert again[1].edge_index.tolist() == [[0, 0, 1], [1, 0, 1]]


def test_an_edge_between_two_graphs_is_named():
    batch = batch_of(2, 2)
    batch.edge_index = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(InputError, match=r"Edge 1 joins two graphs.*node 1 and node 2"):
        from_batch(batch)


def test_a_graph_of_the_batch_without_nodes_is_named():
    nothing = Data(x=torch.ones(0, 1))
    batch = Batch.from_data_list([Data(x=torch.ones(2, 1)), nothing])
    with pytest.raises(InputError, match="Graph 1 of the batch has no nodes"):
        from_batch(batch)


def test_one_device():
    check_devices(path(2), path(3))
    with pytest.raises(InputError, match="different devices: cpu and meta"):
        check_devices(path(2), path(3).to("meta"))
