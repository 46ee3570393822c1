"""What holds for every method, ours and the user's, on graphs nobody thought of."""

import copy
import inspect
import pickle
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from ifmixup import augment
from ifmixup.augment import Method
from ifmixup.batch import from_batch, to_batch
from ifmixup.components import resolve
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, is_undirected, select, without_repeated_edges
from ifmixup.nn import GIN
from ifmixup.training.packed import pack
from ifmixup.training.trainer import Trainer
from strategies import CLASSES, graphs
from tiny import parts


class Noise(Method):
    """A method as a user writes it."""

    keeps_undirected = True

    def __init__(self, num_classes=None, *, std: float = 0.1, generator=None):
        super().__init__(num_classes, generator=generator)
        self.std = std

    def draw(self, graphs: Graphs) -> Tensor:
        x = graphs.nodes["x"]
        drawn = torch.randn(x.shape, generator=self.generator, device="cpu")
        return drawn.to(x.device, x.dtype)

    def change(self, graphs: Graphs, plan: Tensor) -> Graphs:
        return replace(graphs, nodes={**graphs.nodes, "x": graphs.nodes["x"] + self.std * plan})


def fold(*classes: int) -> list[Data]:
    """Training graphs for methods that estimate: one path of 1, 2, … nodes for each class."""
    node = torch.arange(len(classes))
    return [
        Data(
            x=torch.eye(3)[node[: n + 1] % 3],
            edge_index=torch.stack([node[:n], node[1 : n + 1]]),
            y=torch.tensor([number]),
        )
        for n, number in enumerate(classes)
    ]


OPTIONS: dict[str, dict[str, Any]] = {
    "ifmixup": {"alpha": 1.0, "p": 0.8, "shuffle_every": 1},
    "drop_edge": {"drop_ratio": 0.5},
    "drop_node": {"drop_ratio": 0.5},
    "attribute_masking": {"mask_ratio": 0.5},
    "g_mixup": {"add_ratio": 0.6},
    "subgraph": {"keep_ratio": 0.5},
    "edge_perturbation": {"perturb_ratio": 0.5},
    "submix": {"subgraph_ratio": 1.0},
    "graph_transplant": {"anchor_ratio": 0.3},
    "s_mixup": {
        "p": 0.8,
        "threshold": 0.01,
        "matcher_channels": 4,
        "matcher_layers": 1,
        "matcher_epochs": 1,
    },
}
ADDING = {augment.GMixup}  # after the graphs of the batch, which stay
DROPPING = {augment.DropNode, augment.Subgraph, augment.GraphTransplant}  # nodes
ONLY_CLASSES = {augment.GMixup}
CLASSES_OF_METHODS = [*map(augment.get, augment.names()), Noise]
everyone = pytest.mark.parametrize("cls", CLASSES_OF_METHODS, ids=lambda cls: cls.__name__)
some = settings(max_examples=40)  # of each method
batches = st.lists(graphs(), min_size=1, max_size=5).map(Batch.from_data_list)


@cache  # PyG cannot make a batch on another default device
def fold_batch(*classes: int) -> Batch:
    return Batch.from_data_list(fold(*classes))


def seeded(cls: type[Method], seed: int = 0, training=(0, 1, 2, 3)) -> Method:
    name = next((name for name in augment.names() if augment.get(name) is cls), "")
    generator = torch.Generator().manual_seed(seed)
    return cls(CLASSES, generator=generator, **OPTIONS.get(name, {})).fit(fold_batch(*training))


def same(one: Data, other: Data) -> bool:
    keys = set(one.keys()) | set(other.keys())
    return all(one[key] is not None and torch.equal(one[key], other[key]) for key in keys)


def tensors(value: Any) -> list[Tensor]:
    """All tensors of a plan."""
    found = vars(value).values() if hasattr(value, "__dict__") else [value]
    return [each for each in found if isinstance(each, Tensor)]


@everyone
@some
@given(batch=batches)
def test_input_output_and_plan(cls, batch):
    before, keys = batch.clone(), list(batch.keys())
    method = seeded(cls)
    out = method(batch)
    assert list(batch.keys()) == keys
    assert same(before, batch)  # the input is untouched

    assert out.x.dtype == out.y.dtype == torch.float32
    count = out.num_graphs
    assert count == batch.num_graphs or (cls in ADDING and count > batch.num_graphs)
    assert out.y.shape == (count, CLASSES)
    torch.testing.assert_close(out.y.sum(1), torch.ones(count))
    assert all(value.isfinite().all() for _, value in out if isinstance(value, Tensor))
    parts = out.to_data_list()
    assert len(parts) == count
    assert all(part.num_nodes >= 1 for part in parts)
    assert all(same(part, out[i]) for i, part in enumerate(parts))
    assert same(out, Batch.from_data_list(parts))

    assert same(out, seeded(cls)(batch))  # the same generator, the same graphs
    method = seeded(cls)
    plan = method.plan(batch)
    assert all(map(torch.equal, tensors(plan), tensors(seeded(cls).plan(batch))))
    assert same(method.augment(batch, plan), method.augment(batch, plan))
    assert same(method.augment(batch, plan), out) or cls.change is Method.change
    assert method.eval()(batch) is batch


@everyone
@some
@given(batch=batches, data=st.data())
def test_batches_cut_from_a_dataset(cls, batch, data):
    method = seeded(cls)
    whole = method._prepare(replace(from_batch(batch), index=torch.arange(batch.num_graphs) + 100))
    before = to_batch(whole).clone()
    index = st.lists(st.integers(0, batch.num_graphs - 1), min_size=1, max_size=4)
    cuts = [torch.tensor(each) for each in data.draw(st.lists(index, min_size=1, max_size=3))]
    taken = method.take(whole, cuts)
    assert same(to_batch(whole), before)
    for part, cut in zip(taken, cuts, strict=True):
        added = part.num_graphs - cut.numel()
        assert added == 0 or (cls in ADDING and added > 0)
        assert part.index.tolist() == (cut + 100).tolist() + [-1] * added
        assert part.node_ptr[0] == part.edge_ptr[0] == 0
        assert part.node_ptr[-1] == part.num_nodes
        assert part.edge_ptr[-1] == part.edge_index.size(1)
        assert torch.equal(part.node_graph[part.edge_index], part.edge_graph.expand(2, -1))
        assert part.graphs["y"].shape == (part.num_graphs, CLASSES)
    if len(cuts) == 1 and cls.change is not Method.change:
        alone = seeded(cls)(to_batch(select(from_batch(batch), cuts[0])))
        assert same(to_batch(replace(taken[0], index=None)), alone)


@everyone
@some
@given(batch=batches)
def test_nodes_survive_unless_they_are_dropped(cls, batch):
    """Isolated and trailing nodes too: no graph shrinks to what its edges reach."""
    if cls in DROPPING:
        return
    method = seeded(cls)
    out = method(batch)
    sizes = out.ptr.diff()[: batch.num_graphs]
    assert (sizes >= batch.ptr.diff()).all()
    if cls is not augment.IfMixup:
        assert torch.equal(sizes, batch.ptr.diff())


@everyone
@some
@given(batch=batches)
def test_undirected_graphs_stay_undirected_where_that_is_promised(cls, batch):
    batch.edge_index = torch.cat([batch.edge_index, batch.edge_index.flip(0)], 1)
    method = seeded(cls)
    whole = method._prepare(without_repeated_edges(from_batch(batch)))
    assert is_undirected(whole)
    for repeated in (False, True):
        method.repeated_edges = repeated
        for part in method.take(whole, [torch.arange(batch.num_graphs), torch.tensor([0])]):
            assert is_undirected(part) or not cls.keeps_undirected
    assert cls.keeps_undirected  # which is true of all of these


@pytest.fixture
def example() -> Batch:
    alone = Data(x=torch.eye(3)[[1]], edge_index=torch.empty(2, 0).long(), y=torch.tensor([1]))
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    path = Data(x=torch.eye(3)[[0, 1, 2, 2, 0]], edge_index=edges, y=torch.tensor([3]))
    return Batch.from_data_list([path, alone, path])


@everyone
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_the_dtype_is_kept(cls, dtype, example):
    example.x = example.x.to(dtype)
    out = seeded(cls)(example)
    assert out.x.dtype == out.y.dtype == dtype
    for name in ("edge_weight", "node_weight"):
        assert out.get(name) is None or out[name].dtype == dtype


@everyone
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_changes_nothing(cls, dtype, example):
    expected = seeded(cls)(example)
    with torch.autocast("cpu", dtype):
        assert same(seeded(cls)(example), expected)


@everyone
def test_copies_and_pickles_draw_the_same(cls, example):
    method = seeded(cls)
    method(example)  # somewhere in the middle of the generator's numbers
    twins = [copy.deepcopy(method), pickle.loads(pickle.dumps(method))]
    expected = method(example)
    for twin in twins:
        assert repr(twin) == repr(method)
        assert twin.generator is not method.generator
        assert same(twin(example), expected)
    assert isinstance(copy.deepcopy(cls(2)), cls)  # without a generator


@everyone
def test_without_a_generator_the_global_one_decides(cls, example):
    torch.manual_seed(3)
    first = cls(CLASSES).fit(fold(0, 1))(example)
    torch.manual_seed(3)
    assert same(first, cls(CLASSES).fit(fold(0, 1))(example))


@everyone
def test_no_tensor_is_made_on_the_default_device(cls, example):
    """A tensor without a device is on meta here, and mixing it with others fails."""
    index = [torch.tensor([0, 2]), torch.tensor([1])]

    def made() -> list[Batch]:
        method = seeded(cls)
        taken = method.take(method._prepare(from_batch(example)), index)
        return [method(example), *map(to_batch, taken)]

    expected = made()
    with torch.device("meta"):
        found = made()
    assert all(map(same, found, expected))  # which compares devices too


@everyone
@pytest.mark.parametrize("shape", [(3, 2), (3,)])
def test_float_labels_need_no_number_of_classes(cls, shape, example):
    example.y = torch.rand(shape)
    method = cls()
    if cls in ONLY_CLASSES:
        with pytest.raises(InputError, match="class"):
            method.fit(example.to_data_list())
    else:
        assert method.fit(example.to_data_list())(example).y.shape == shape


@everyone
def test_one_class_in_the_fold(cls, example):
    out = seeded(cls, training=(2, 2, 2))(example)
    torch.testing.assert_close(out.y.sum(1), torch.ones(out.num_graphs))
    assert (out.y[3:] == torch.eye(4)[2]).all()  # what a method adds is of that class


@everyone
def test_other_attributes_are_handled_or_refused(cls, example):
    training = fold(0, 1, 2, 3)
    for graph in [example, *training]:
        graph.edge_attr = torch.rand(graph.num_edges, 2)
        graph.pos = torch.rand(graph.num_nodes, 3)
    try:
        out = cls(CLASSES).fit(training)(example)
    except InputError as error:
        assert "edge_attr" in str(error) or "pos" in str(error)  # noqa: PT017
    else:
        assert out.edge_attr.shape == (out.num_edges, 2)
        assert out.pos.shape == (out.num_nodes, 3)
    example.atom = torch.arange(example.num_nodes)  # which cannot be interpolated
    try:
        out = cls(CLASSES).fit(training)(example)
    except InputError as error:
        assert "'atom'" in str(error)  # noqa: PT017
    else:
        assert out.atom.shape == (out.num_nodes,)


@everyone
@some
@given(batch=batches)
def test_the_loss_of_any_graphs(cls, batch):
    """Of one graph, of graphs of one node, and without edges too."""
    torch.manual_seed(0)
    model = GIN(3, 4, 2, CLASSES, jk="sum")
    loss = seeded(cls).loss(model, batch, F.cross_entropy)
    assert loss.isfinite()
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@everyone
def test_a_training_shows_a_method_its_training_graphs_only(cls, example):
    """Other graphs to test on change no loss."""
    losses = []
    for others in (example.to_data_list(), fold(3, 3, 2, 2, 1, 0)[2:]):
        data = pack([*fold(0, 1, 2, 3), *others], "few")
        how, model, _ = parts("gcn", "none", epochs=1)
        method = resolve("method", cls).spec
        trainer = Trainer(how, model, method, data, train=torch.arange(4))
        trainer.run_epoch()
        losses.append(trainer.curves["train_loss"])
    assert losses[0] == losses[1]


@everyone
def test_fit_gets_the_training_graphs_and_leaves_them_as_they_are(cls, example, monkeypatch):
    """Whatever the method does with them, in a training of a fold."""
    seen = []

    class Spied(cls):
        def fit(self, graphs, *, seed=0):
            before = to_batch(replace(graphs, index=None)).clone()
            super().fit(graphs, seed=seed)
            assert same(to_batch(replace(graphs, index=None)), before)
            seen.append(graphs.index.tolist())

    data = pack([*example.to_data_list(), *fold(0, 1, 2, 3)], "few")
    how, model, _ = parts("gcn", "none", epochs=1)
    train, test = torch.tensor([6, 3, 5]), torch.tensor([0, 1, 2, 4])
    spec = resolve("method", Spied).spec
    Trainer(how, model, spec, data, train=train, test=test).run_epoch()
    assert seen == [[6, 3, 5]]


@pytest.mark.parametrize("name", sorted({*augment.names()} - {"none"}))
def test_the_paper_is_linked_and_every_option_described(name):
    cls = augment.get(name)
    text = inspect.getdoc(cls)
    assert re.search("https://(arxiv|doi).org/", text)
    for option in inspect.signature(cls).parameters:
        assert f"\n    {option}: " in text or "arguments are those of :class:`IfMixup`" in text
