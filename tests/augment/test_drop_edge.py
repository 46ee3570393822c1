import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import is_undirected, to_undirected

from ifmixup.augment import DropEdge


def dropper(ratio: float) -> DropEdge:
    return DropEdge(2, drop_ratio=ratio, generator=torch.Generator().manual_seed(0))


def test_an_undirected_edge_falls_as_a_whole(batch):
    method = dropper(0.5)
    for _ in range(20):
        out = method(batch)
        assert out.num_nodes == batch.num_nodes
        for graph in out.to_data_list():
            assert is_undirected(graph.edge_index, num_nodes=graph.num_nodes)


def test_the_fraction_that_falls():
    edges = to_undirected(torch.combinations(torch.arange(150)).T)
    graph = Data(x=torch.ones(150, 1), edge_index=edges, y=torch.tensor([0]))
    batch = Batch.from_data_list([graph])
    left = dropper(0.2)(batch).num_edges / batch.num_edges
    assert left == pytest.approx(0.8, abs=0.015)


def test_nothing_and_everything(batch):
    assert torch.equal(dropper(0.0)(batch).edge_index, batch.edge_index)
    assert dropper(1.0)(batch).num_edges == 0


def test_edge_attributes_fall_with_their_edge(batch):
    batch.edge_attr = batch.edge_index[0].float()
    out = dropper(0.5)(batch)
    assert 0 < out.num_edges < batch.num_edges
    assert torch.equal(out.edge_attr, out.edge_index[0].float())
