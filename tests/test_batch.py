import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddSelfLoops

from ifmixup.batch import check_devices, from_batch, label_rows, to_batch
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


@pytest.mark.parametrize("ptr", [False, True])
@given(data=st.data())
def test_nodes_in_any_order_return_to_their_graph(ptr, data):
    """Whether ``ptr`` is missing or of the order before; nodes keep their order in a graph."""
    some = data.draw(st.lists(graphs(), min_size=1, max_size=4))
    batch = Batch.from_data_list(some)
    order = torch.tensor(data.draw(st.permutations(range(batch.num_nodes))))
    graph = batch.batch[order]
    mixed = Batch(
        x=batch.x[order], edge_index=order.argsort()[batch.edge_index], batch=graph, y=batch.y
    )
    if ptr:
        mixed.ptr = batch.ptr
    taken = to_batch(from_batch(mixed))
    for i, one in enumerate(taken.to_data_list()):
        own = order[graph == i] - batch.ptr[i]
        assert torch.equal(one.x, some[i].x[own])
        assert torch.equal(own[one.edge_index], some[i].edge_index)
        assert torch.equal(one.y, some[i].y)


def test_a_batch_that_lost_nodes_after_it_was_made():
    batch = batch_of(2, 3).subgraph(torch.tensor([True, False, False, True, True]))
    taken = from_batch(batch)
    assert taken.node_ptr.tolist() == [0, 1, 3]
    assert taken.nodes["x"].view(-1).tolist() == [0, 1, 2]
    assert taken.edge_index.tolist() == [[1], [2]]


@pytest.mark.parametrize("wrong", [[0, 0, -1], [0.0, 0.0, 1.0], [0, 1]])
def test_a_batch_vector_that_makes_no_sense(wrong):
    with pytest.raises(InputError, match=r"the graph of each of the 3 nodes, integers from 0; got"):
        from_batch(Batch(x=torch.ones(3, 1), batch=torch.tensor(wrong)))


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


@pytest.mark.parametrize(
    "y", [torch.tensor([2, 0]), torch.tensor([[2], [0]]), torch.tensor([2, 0]).int()]
)
def test_class_numbers_become_rows(y):
    rows = label_rows(y, 2, 3, torch.float64)
    assert rows.dtype == torch.float64
    assert rows.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_float_labels_are_left_alone():
    y = torch.tensor([[0.5, float("nan")], [1.0, 0.0]])
    assert label_rows(y, 2, None, torch.float16) is y


def test_several_float_values_of_a_graph_need_a_row():
    with pytest.raises(InputError, match=r"6 rows for 2 graphs.*\[1, T\]"):
        label_rows(torch.zeros(6), 2, None, torch.float32)


def test_integer_rows_are_no_class_numbers():
    with pytest.raises(InputError, match=r"4 integers for 2 graphs.*\.float\(\)"):
        label_rows(torch.zeros(2, 2, dtype=torch.long), 2, 2, torch.float32)
