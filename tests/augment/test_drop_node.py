import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import subgraph

from ifmixup.augment import DropNode


def dropper(ratio: float) -> DropNode:
    return DropNode(2, drop_ratio=ratio, generator=torch.Generator().manual_seed(0))


def test_nodes_leave_with_their_edges(batch):
    method = dropper(0.4)
    keep = method.plan(batch)
    assert 0 < keep.sum() < batch.num_nodes
    out = method.augment(batch, keep)
    expected, _ = subgraph(keep, batch.edge_index, relabel_nodes=True)
    assert torch.equal(out.x, batch.x[keep])
    assert torch.equal(out.edge_index, expected)
    assert torch.equal(out.batch, batch.batch[keep])


def test_at_least_one_node_stays(batch):
    out = dropper(1.0)(batch)
    assert out.ptr.diff().tolist() == [1] * 8


def test_the_fraction_that_leaves():
    graph = Data(x=torch.ones(5000, 1), edge_index=torch.zeros(2, 0).long(), y=torch.tensor([0]))
    left = dropper(0.2)(Batch.from_data_list([graph])).num_nodes / 5000
    assert left == pytest.approx(0.8, abs=0.02)


def test_nothing(batch):
    assert torch.equal(dropper(0.0)(batch).edge_index, batch.edge_index)
