"""What holds for every method, and with every model."""

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Batch

from ifmixup import augment
from ifmixup.batch import from_batch, to_batch
from ifmixup.errors import IfmixupError, InputTypeError
from ifmixup.graphs import is_undirected, without_repeated_edges
from ifmixup.nn import MODELS

METHODS = augment.names()
everyone = pytest.mark.parametrize("name", METHODS)


def seeded(name: str, seed: int = 0, **options) -> augment.Method:
    return augment.create(name, 2, generator=torch.Generator().manual_seed(seed), **options)


def same(one: Batch, other: Batch) -> bool:
    keys = set(one.keys()) | set(other.keys())
    return all(one[key] is not None and torch.equal(one[key], other[key]) for key in keys)


@everyone
def test_the_same_generator_state_gives_the_same_batch(name, batch):
    method = seeded(name)
    state = method.generator.get_state()
    first, second = method(batch), method(batch)
    method.generator.set_state(state)
    assert same(first, method(batch))
    assert same(first, seeded(name)(batch))
    if name not in ("none", "mixup_graph"):
        assert not same(first, second) if first.x.shape == second.x.shape else True


@everyone
def test_without_a_generator_the_global_one_decides(name, batch):
    method = augment.create(name, 2)
    torch.manual_seed(3)
    first = method(batch)
    torch.manual_seed(3)
    assert same(first, method(batch))


@everyone
def test_a_plan_can_be_replayed(name, batch):
    method = seeded(name)
    plan = method.plan(batch)
    assert same(method.augment(batch, plan), method.augment(batch, plan))


@everyone
def test_the_input_is_never_changed(name, batch):
    before = batch.clone()
    keys = batch.keys()
    seeded(name)(batch)
    seeded(name).eval()(batch)
    assert batch.keys() == keys
    assert same(before, batch)


@everyone
def test_the_same_plan_gives_the_same_to_graphs_and_to_their_batch(name, batch):
    method = seeded(name)
    graphs = method.prepare(from_batch(batch))
    plan = method.draw(graphs)
    assert same(to_batch(method.change(graphs, plan)), method.augment(batch, plan))


@everyone
def test_what_is_taken_from_prepared_graphs_is_the_augmented_batch(name, batch):
    index = [4, 0, 7, 3, 1]
    graphs = seeded(name).prepare(from_batch(batch))
    (taken,) = seeded(name).take(graphs, [torch.tensor(index)])
    assert same(to_batch(taken), seeded(name)(batch_of(batch, index)))


@everyone
def test_batches_that_are_taken_together_have_graphs_of_their_own(name, batch):
    method = seeded(name)
    graphs = method.prepare(from_batch(batch))
    taken = method.take(graphs, [torch.tensor([0, 5, 2]), torch.tensor([7]), torch.tensor([1, 3])])
    assert [part.num_graphs for part in taken] == [3, 1, 2]
    for part in taken:
        assert part.node_ptr[0] == part.edge_ptr[0] == 0
        assert part.node_ptr[-1] == part.num_nodes
        assert part.edge_ptr[-1] == part.edge_index.size(1)
        if part.edge_index.numel():
            assert part.edge_index.max() < part.num_nodes
            assert torch.equal(part.node_graph[part.edge_index[0]], part.edge_graph)
        assert part.graphs["y"].shape == (part.num_graphs, 2)


def batch_of(batch: Batch, index: list[int]) -> Batch:
    return Batch.from_data_list([batch[i] for i in index])


@everyone
def test_prepared_graphs_are_never_changed(name, batch):
    method = seeded(name)
    taken = from_batch(batch)
    graphs = method.prepare(taken)
    before, prepared = batch.clone(), to_batch(graphs).clone()
    method.change(graphs, method.draw(graphs))
    method.take(graphs, [torch.tensor([2, 0]), torch.tensor([1])])
    assert same(to_batch(graphs), prepared)
    assert same(to_batch(taken), before)


@everyone
def test_mirrored_edges_stay_mirrored_where_the_method_says_so(name, batch):
    assert not augment.Method.keeps_undirected  # a method has to say so
    graphs = without_repeated_edges(from_batch(batch))
    assert is_undirected(graphs)
    method = seeded(name)
    graphs = method.prepare(graphs)
    for _ in range(20):
        for taken in method.take(graphs, [torch.tensor([6, 1, 3, 0]), torch.tensor([2, 5])]):
            assert is_undirected(taken) or not method.keeps_undirected


@everyone
def test_labels_are_rows_that_sum_to_one(name, batch):
    y = seeded(name)(batch).y
    assert y.shape == (8, 2)
    torch.testing.assert_close(y.sum(1), torch.ones(8))


@everyone
def test_in_eval_mode_only_labels_change(name, batch):
    out = seeded(name).eval()(batch)
    assert torch.equal(out.y, F.one_hot(batch.y, 2).float())
    out.y = batch.y
    assert same(out, batch)


@everyone
@pytest.mark.parametrize("size", [1, 3])
def test_a_batch_of_any_size(name, size, batch):
    out = seeded(name)(Batch.from_data_list(batch.to_data_list()[:size]))
    assert len(out.to_data_list()) == size


@everyone
def test_graphs_can_be_taken_out(name, batch):
    out = seeded(name)(batch)
    graphs = out.to_data_list()
    again = Batch.from_data_list(graphs)
    assert same(out, again)
    assert all(graph.num_nodes >= 1 for graph in graphs)


@everyone
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_dtype_is_kept(name, dtype, batch):
    batch.x = batch.x.to(dtype)
    out = seeded(name)(batch)
    assert out.x.dtype == out.y.dtype == dtype


@everyone
def test_float_rows_need_no_number_of_classes(name, batch):
    batch.y = torch.rand(8, 3)
    assert augment.create(name)(batch).y.shape == (8, 3)


@everyone
@pytest.mark.parametrize("model", MODELS)
def test_every_method_trains_every_model(name, model, batch):
    torch.manual_seed(0)
    network = MODELS[model](3, 8, 2, 2)
    method = seeded(name)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        logits, y = method.step(network, batch)
        assert logits.shape == y.shape == (8, 2)
        # against the smallest loss that soft labels allow, so that methods can be compared
        loss = F.cross_entropy(logits, y) - F.cross_entropy(y.clamp(min=1e-9).log(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) < sum(losses[:10])


@pytest.mark.parametrize("wrong", ["graphs", 7, None])
def test_what_is_no_batch(wrong):
    with pytest.raises(TypeError, match=r"Expected a PyG Batch.*from_data_list") as error:
        seeded("none")(wrong)
    assert isinstance(error.value, IfmixupError)


def test_gin_that_reads_edge_attributes(batch):
    batch.edge_attr = torch.rand(batch.num_edges, 2)
    network = MODELS["gin"](3, 4, 1, 2, edge_dim=2)
    logits, _ = seeded("ifmixup").step(network, batch)
    assert logits.shape == (8, 2)


def test_a_method_of_the_old_kind_is_told_what_to_override():
    with pytest.raises(InputTypeError, match=r"Old overrides augment.*draw and change"):

        class Old(augment.Method):
            def augment(self, batch, plan):
                return batch


def test_a_method_that_does_not_say_otherwise_gets_every_batch_alone(batch):
    seen = []

    class Counting(augment.Method):
        def draw(self, graphs):
            seen.append(graphs.num_graphs)

    method = Counting(2)
    graphs = method.prepare(from_batch(batch))
    taken = method.take(graphs, [torch.tensor([0, 5, 2]), torch.tensor([7])])
    assert seen == [3, 1]
    assert [part.num_graphs for part in taken] == [3, 1]
