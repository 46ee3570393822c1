import torch
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.paper.graph_size import graph_sizes, sizes_table


def test_mixing_only_makes_graphs_larger():
    sizes = graph_sizes(load("MUTAG"))
    assert sizes.nodes.shape == sizes.mixed_edges.shape == (188,)
    assert (sizes.mixed_nodes >= sizes.nodes).all()
    assert (sizes.mixed_edges >= sizes.edges).all()
    assert sizes.nodes.double().mean().item() == load("MUTAG").x.size(0) / 188
    again = graph_sizes(load("MUTAG"))
    assert torch.equal(again.mixed_nodes, sizes.mixed_nodes)


def test_the_table_has_a_line_for_each_count():
    assert sizes_table("MUTAG", graph_sizes(load("MUTAG"))).row_count == 4


def test_a_graph_without_edges_counts_none():
    class Few(list):
        num_classes = 2

    graph = Data(
        x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([0])
    )
    sizes = graph_sizes(Few([graph, graph]))
    assert sizes.edges.tolist() == sizes.mixed_edges.tolist() == [0, 0]
