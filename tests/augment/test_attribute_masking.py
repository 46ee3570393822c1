import pytest
import torch
from torch_geometric.data import Batch, Data

from ifmixup.augment import AttributeMasking
from ifmixup.batch import from_batch
from ifmixup.errors import InputError


def masking(ratio: float) -> AttributeMasking:
    return AttributeMasking(2, mask_ratio=ratio, generator=torch.Generator().manual_seed(0))


def nodes(x: torch.Tensor) -> Batch:
    return Batch.from_data_list(
        [Data(x=x, edge_index=torch.zeros(2, 0).long(), y=torch.tensor([0]))]
    )


def test_one_hot_rows_become_random_one_hot_rows():
    batch = nodes(torch.eye(4)[torch.zeros(8000).long()])
    x = masking(0.2)(batch).x
    assert ((x == 0) | (x == 1)).all()
    assert (x.sum(1) == 1).all()
    # a fifth is masked, and every value is as likely, the old one too
    expected = torch.tensor([0.8 + 0.05, 0.05, 0.05, 0.05])
    torch.testing.assert_close(x.mean(0), expected, atol=0.02, rtol=0)


def test_other_rows_become_rows_of_other_nodes():
    rows = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    x = masking(1.0)(nodes(rows)).x
    assert not torch.equal(x, rows)
    assert all((rows == row).all(1).any() for row in x)


def test_only_planned_nodes_change(batch):
    method = masking(0.5)
    plan = method.plan(batch)
    out = method.augment(batch, plan)
    node, rows = plan
    assert torch.equal(out.x[node], rows)
    rest = torch.ones(batch.num_nodes, dtype=torch.bool)
    rest[node] = False
    assert torch.equal(out.x[rest], batch.x[rest])


@pytest.mark.parametrize("one_hot", [True, False])
def test_a_batch_is_changed_the_same_whatever_is_prepared_with_it(batch, one_hot):
    if not one_hot:
        batch.x = torch.rand(batch.num_nodes, 3)
    graphs = from_batch(batch)
    index = [torch.tensor([2, 0, 4]), torch.tensor([7, 1]), torch.tensor([3])]
    together, alone = masking(0.5), masking(0.5)
    for part, cut in zip(together.take(graphs, index), index, strict=True):
        (expected,) = alone.take(graphs, [cut])
        assert torch.equal(part.nodes["x"], expected.nodes["x"])
        rows = graphs.nodes["x"][torch.isin(graphs.node_graph, cut)]
        assert one_hot or all((rows == row).all(1).any() for row in part.nodes["x"])


def test_features_are_needed(batch):
    batch.x = None
    with pytest.raises(InputError, match="needs node features x"):
        masking(0.2)(batch)
