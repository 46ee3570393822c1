import torch

from ifmixup.augment import create


def test_the_graphs_stay(batch):
    out = create("none", 2)(batch)
    assert torch.equal(out.x, batch.x)
    assert torch.equal(out.edge_index, batch.edge_index)
    assert out.edge_weight is None
