from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import subgraph

from ifmixup.batch import from_batch, to_batch
from ifmixup.graphs import (
    concatenate,
    cut,
    is_one_hot,
    is_undirected,
    keep_edges,
    keep_nodes,
    permute_nodes,
    ranges,
    select,
    split,
    without_repeated_edges,
)
from small_graphs import batch_of, path, same
from strategies import dense_edges, graphs


def test_ranges():
    values, segment, ptr = ranges(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3]))
    assert values.tolist() == [5, 6, 9, 10, 11]
    assert segment.tolist() == [0, 0, 2, 2, 2]
    assert ptr.tolist() == [0, 2, 2, 5]


@given(st.lists(graphs(), min_size=1, max_size=4), st.data())
def test_select_is_pyg_indexing(data_list, data):
    index = data.draw(st.lists(st.integers(0, len(data_list) - 1), min_size=1, max_size=5))
    batch = Batch.from_data_list(data_list)
    selected = to_batch(select(from_batch(batch), torch.tensor(index)))
    assert same(selected, Batch.from_data_list([data_list[i] for i in index]))


def test_select_takes_lists_and_edge_attributes_along():
    selected = to_batch(select(from_batch(batch_of(2, 4, 3)), torch.tensor([2, 0, 2])))
    for graph, n in zip(selected.to_data_list(), (3, 2, 3), strict=True):
        assert same(graph, path(n))


def test_split_gives_consecutive_groups():
    first, nobody, second = split(from_batch(batch_of(2, 4, 3)), [1, 0, 2])
    assert same(to_batch(first), batch_of(2))
    assert nobody.num_graphs == 0
    assert same(to_batch(second), batch_of(4, 3))


def test_cutting_many_batches_is_selecting_each():
    whole = from_batch(batch_of(2, 4, 3))
    batches = [torch.tensor([2, 0]), torch.tensor([1])]
    for part, index in zip(cut(whole, batches), batches, strict=True):
        assert same(to_batch(part), to_batch(select(whole, index)))
    assert same(to_batch(cut(whole, batches[1:])[0]), batch_of(4))


class TestIndex:
    """Each graph's index in its dataset goes with it."""

    numbered = replace(from_batch(batch_of(2, 4, 3)), index=torch.tensor([70, 80, 90]))

    def test_of_selected_and_split_graphs(self):
        assert select(self.numbered, torch.tensor([2, 0, 2])).index.tolist() == [90, 70, 90]
        assert [part.index.tolist() for part in split(self.numbered, [1, 2])] == [[70], [80, 90]]
        parts = cut(self.numbered, [torch.tensor([1]), torch.tensor([0, 2])])
        assert [part.index.tolist() for part in parts] == [[80], [70, 90]]

    def test_of_graphs_end_to_end(self):
        plain = replace(self.numbered, graphs={})
        one, two = split(plain, [1, 2])
        assert concatenate(two, one).index.tolist() == [80, 90, 70]
        assert concatenate(two, replace(one, index=None)).index is None

    def test_of_changed_graphs(self):
        for changed in (
            keep_edges(self.numbered, self.numbered.edge_index[0] > 0),
            keep_nodes(self.numbered, self.numbered.nodes["x"].view(-1) != 1),
            permute_nodes(self.numbered, torch.tensor([1, 0, 5, 4, 3, 2, 8, 7, 6])),
            without_repeated_edges(self.numbered),
        ):
            assert changed.index.tolist() == [70, 80, 90]

    def test_is_not_known_of_a_batch(self):
        assert from_batch(batch_of(2)).index is None
        assert "index" not in to_batch(self.numbered)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], True),
        ([[1, 0], [1, 0]], True),
        ([[1.0, 1.0], [0.0, 0.0]], False),
        ([[2.0, -1.0], [0.0, 1.0]], False),
        ([[0.5, 0.5], [1.0, 0.0]], False),
        ([[0.0, 0.0]], False),
        ([[float("nan"), 1.0]], False),
        ([1.0, 0.0], False),
    ],
)
def test_one_hot_rows(rows, expected):
    assert is_one_hot(torch.tensor(rows)) is expected


@given(st.lists(graphs(weighted=True), min_size=1, max_size=5), st.data())
def test_split_is_pyg_slicing(data_list, data):
    at = data.draw(st.integers(0, len(data_list)))
    parts = split(from_batch(Batch.from_data_list(data_list)), [at, len(data_list) - at])
    for part, expected in zip(parts, (data_list[:at], data_list[at:]), strict=True):
        assert part.num_graphs == len(expected)
        if expected:
            assert same(to_batch(part), Batch.from_data_list(expected))


def test_permute_nodes():
    taken = permute_nodes(from_batch(batch_of(2, 3)), torch.tensor([1, 0, 4, 2, 3]))
    second = to_batch(taken)[1]
    assert second.x.view(-1).tolist() == [2, 0, 1]  # node 0 is what was node 2
    assert second.edge_index.tolist() == [[1, 2], [2, 0]]
    assert second.edge_attr.tolist() == [10, 11]


@given(st.lists(graphs(weighted=True), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_permuted_nodes_keep_their_edges_and_these_stay_sorted(data_list, random):
    taken = without_repeated_edges(from_batch(Batch.from_data_list(data_list)))
    orders = [list(range(graph.num_nodes)) for graph in data_list]
    for order in orders:
        random.shuffle(order)
    starts = taken.node_ptr.tolist()
    order = [start + i for start, order in zip(starts, orders, strict=False) for i in order]
    permuted = permute_nodes(taken, torch.tensor(order))
    assert (permuted.edge_index[0].diff() >= 0).all()
    for graph, order, result in zip(
        data_list, orders, to_batch(permuted).to_data_list(), strict=True
    ):
        n = graph.num_nodes
        assert torch.equal(result.x, graph.x[order])
        assert torch.equal(dense_edges(result, n), dense_edges(graph, n)[order][:, order])


def test_keep_edges():
    kept = to_batch(
        keep_edges(from_batch(batch_of(3, 3)), torch.tensor([False, True, True, False]))
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
    kept = keep_nodes(from_batch(Batch.from_data_list(data_list)), torch.cat(masks))
    for graph, mask, result in zip(data_list, masks, to_batch(kept).to_data_list(), strict=True):
        edge_index, _ = subgraph(mask, graph.edge_index, relabel_nodes=True, num_nodes=len(mask))
        assert torch.equal(result.edge_index, edge_index)
        assert torch.equal(result.x, graph.x[mask])


def test_repeated_edges_merge():
    edges = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1]])
    data = Data(x=torch.ones(2, 1), edge_index=edges, edge_attr=torch.tensor([1.0, 5.0, 3.0, 7.0]))
    data.edge_weight = torch.tensor([0.25, 1.0, 0.5, 1.0])
    merged = without_repeated_edges(from_batch(data))
    assert merged.edge_index.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert merged.edges["edge_weight"].tolist() == [1.0, 0.75, 1.0]
    assert merged.edges["edge_attr"].tolist() == [5.0, 2.0, 7.0]
    assert merged.edge_ptr.tolist() == [0, 3]


def test_sorted_edges_are_not_touched():
    taken = from_batch(batch_of(3, 2))
    assert without_repeated_edges(taken) is taken


def test_where_the_edges_of_each_node_begin_and_how_many_there_are():
    edges = torch.tensor([[0, 0, 2, 4], [1, 2, 1, 4]])
    taken = from_batch(Data(x=torch.ones(6, 1), edge_index=edges))
    assert taken.source_ptr.tolist() == [0, 2, 2, 3, 3, 4, 4]
    assert taken.degree.tolist() == [2, 0, 1, 0, 1, 0]
    fewer = keep_edges(taken, torch.tensor([True, False, True, True]))
    assert fewer.degree.tolist() == [1, 0, 1, 0, 1, 0]  # what was worked out before is not kept


def test_how_many_nodes_and_edges_each_graph_has():
    taken = from_batch(batch_of(2, 1, 3))
    assert taken.node_counts.tolist() == [2, 1, 3]
    assert taken.edge_counts.tolist() == [1, 0, 2]
    assert select(taken, torch.tensor([2, 0])).node_counts.tolist() == [3, 2]


def mirrored(edges: list[list[int]], **attributes: list) -> bool:
    values = {name: torch.tensor(value) for name, value in attributes.items()}
    edge_index = torch.tensor(edges, dtype=torch.long)
    return is_undirected(from_batch(Data(x=torch.ones(4, 1), edge_index=edge_index, **values)))


def test_undirected_edges_that_are_sorted_are_mirrored():
    assert mirrored([[0, 0, 1, 1, 2], [1, 2, 0, 1, 0]])  # with a loop, which is its own image
    assert mirrored([[0, 0, 1, 1, 2], [2, 1, 1, 0, 0]])  # only sources need be sorted
    assert mirrored([[0, 0, 1, 1], [1, 1, 0, 0]])
    assert mirrored([[], []])


def test_directed_edges_are_not_mirrored():
    assert not mirrored([[0], [1]])
    assert not mirrored([[0, 1, 2], [1, 2, 0]])
    assert not mirrored([[0, 0, 1], [1, 1, 0]])  # there twice and back once


def test_edges_that_are_not_sorted_are_not_mirrored():
    assert not mirrored([[1, 0], [0, 1]])


def test_both_directions_of_mirrored_edges_carry_the_same():
    edges = [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert mirrored(edges, edge_weight=[0.5, 0.7, 0.5, 0.7])
    assert not mirrored(edges, edge_weight=[0.5, 0.7, 0.7, 0.5])
    rows = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    assert mirrored(edges, edge_attr=rows)
    assert not mirrored(edges, edge_attr=[*rows[:3], [3.0, 5.0]])
    assert not mirrored(edges, edge_weight=[0.5, 0.7, 0.5, 0.7], edge_attr=[*rows[:3], [3.0, 5.0]])
    twice = [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert mirrored(twice, edge_weight=[0.5, 0.7, 0.5, 0.7])
    assert not mirrored(twice, edge_weight=[0.5, 0.7, 0.5, 0.5])


@given(graphs())
def test_mirrored_are_the_graphs_with_a_symmetric_matrix(graph):
    e = dense_edges(graph, graph.num_nodes)
    once = without_repeated_edges(from_batch(graph))
    assert is_undirected(once) == torch.equal(e, e.T)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 1], [1, 0]], True),
        ([[0, 1], [0, 0]], False),
        ([[1, 1], [0, 1]], False),
        ([[0.5, 0.5]], False),
        ([[2, -1]], False),
        ([[1]], True),
    ],
)
def test_one_hot(rows, expected):
    assert is_one_hot(torch.tensor(rows)) is expected
