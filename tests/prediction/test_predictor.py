import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from ifmixup.data import FeatureEncoder, GraphDataset, load
from ifmixup.errors import CheckpointError, InputError, InputTypeError
from ifmixup.prediction.predictor import Predictor
from ifmixup.training.fit import train
from ifmixup.training.packed import pack
from ifmixup.training.trainer import Trainer
from own_classes import Net, Noise
from tiny import parts
from user_classes import EdgeNet, FrozenNet, LazyNet, MixedNet, TableNet

GIN = parts("gin", use_edge_attr=False, epochs=2)


def path(kinds: list[int], y: object = 0, bond: int = 0) -> Data:
    """0 – 1 – … with a kind of node each, and a kind of edge."""
    n = len(kinds)
    edges = torch.tensor([(i, i + 1) for i in range(n - 1)] + [(i + 1, i) for i in range(n - 1)])
    return Data(
        x=torch.tensor(kinds).view(-1, 1),
        edge_index=edges.view(-1, 2).t(),
        edge_attr=torch.full((2 * n - 2, 1), bond),
        y=torch.tensor([y]),
    )


RAW = [path([5, 6], 0), path([6, 6, 7], 1, 1), path([5, 5, 5], 0), path([7, 6], 1, 1)]


def trained(graphs, of=GIN, **known):
    encoder = FeatureEncoder.fit(graphs)
    data = GraphDataset.of("paths", encoder.transform(graphs), encoder=encoder, **known)
    return train(*of, pack(data), train=torch.arange(len(graphs)))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.of(trained(RAW, class_names=["short", "long"]))


def all_of(outputs):
    return torch.cat(list(outputs))


def test_it_says_what_the_training_measured(mutag, tmp_path):
    everything = torch.arange(len(mutag))
    saved = tmp_path / "model.pt"
    training = train(*parts("gcn"), mutag, train=everything, test=everything, save=saved)
    measured = training.latest["test"]
    for predictor in (Predictor.of(training), Predictor.load(saved)):
        found = all_of(predictor.predict(load("MUTAG")))
        assert found.dtype == torch.double
        assert found.sum(1).tolist() == pytest.approx([1] * 188)
        right = (found.argmax(1) == mutag.y).double().mean()
        assert float(right) == measured["accuracy"]
        nll = -found[torch.arange(188), mutag.y].log().mean()
        assert float(nll) == pytest.approx(measured["nll"], rel=1e-4)
        assert predictor.class_names == ["-1", "1"]


def test_order_batches_and_company_do_not_matter(predictor):
    whole = all_of(predictor.predict(RAW))
    for size in (1, 3):
        batches = list(predictor.predict(RAW, size))
        assert [len(batch) for batch in batches] == ([1] * 4 if size == 1 else [3, 1])
        torch.testing.assert_close(torch.cat(batches), whole, atol=1e-6, rtol=0)
    backwards = all_of(predictor.predict(RAW[::-1]))
    torch.testing.assert_close(backwards.flip(0), whole, atol=1e-6, rtol=0)


def test_encoded_and_raw_graphs_are_the_same(predictor):
    encoded = predictor.encoder.transform(RAW)
    dataset = GraphDataset.of("other", encoded, encoder=predictor.encoder)
    expected = all_of(predictor.predict(RAW))
    for graphs in (encoded, dataset, tuple(RAW), np.array([*RAW, None], dtype=object)[:-1]):
        assert torch.equal(all_of(predictor.predict(graphs)), expected)
    assert RAW[0].x.dtype == torch.long


def test_labels_and_values():
    labelled = [replace_y(graph, [1.0, n % 2]) for n, graph in enumerate(RAW)]
    found = all_of(Predictor.of(trained(labelled, task="labels")).predict(labelled))
    assert found.shape == (4, 2)
    assert bool(((found > 0) & (found < 1)).all())
    # In the original units: far from the standardised ones that a model gives.
    measured = [replace_y(graph, [1000.0 + n]) for n, graph in enumerate(RAW)]
    found = all_of(Predictor.of(trained(measured, task="values")).predict(measured))
    assert found.shape == (4, 1)
    assert bool(((found > 990) & (found < 1013)).all())


def replace_y(graph, row):
    changed = graph.clone()
    changed.y = torch.tensor([row])
    return changed


def test_continuous_features_are_standardised():
    graphs = [path([0, 0], n % 2) for n in range(6)]
    for n, graph in enumerate(graphs):
        graph.x = torch.tensor([[100.0 + n], [200.0 - n]])
    training = train(*GIN, pack(graphs), train=torch.arange(6), test=torch.arange(6))
    predictor = Predictor.of(training)
    (graph, *_) = predictor.prepared(graphs)
    mean, std = training.scaling.x_mean, training.scaling.x_std
    torch.testing.assert_close(graph.x, (graphs[0].x - mean) / std)
    assert graphs[0].x[0, 0] == 100
    right = all_of(predictor.predict(graphs)).argmax(1) == torch.arange(6) % 2
    assert float(right.double().mean()) == training.latest["test"]["accuracy"]


def test_edge_attributes(tmp_path):
    encoder = FeatureEncoder.fit(RAW)
    data = GraphDataset.of("paths", encoder.transform(RAW), encoder=encoder)
    of = parts("gin", epochs=2, use_edge_attr=True)
    train(*of, pack(data), train=torch.arange(4), save=tmp_path / "model.pt")
    predictor = Predictor.load(tmp_path / "model.pt")
    one, other = (all_of(predictor.predict([path([5, 6], 0, bond)])) for bond in (0, 1))
    assert not torch.allclose(one, other)
    bare = path([5, 6])
    del bare.edge_attr
    with pytest.raises(InputError, match=r"no columns of edge_attr.*It was trained on paths"):
        predictor.predict([bare])
    single = Data(x=torch.tensor([[5]]), edge_index=torch.empty(2, 0).long())
    assert all_of(predictor.predict([RAW[0], single])).shape == (2, 2)
    encoded = encoder.transform([path([5, 6])])[0]
    encoded.edge_attr = torch.ones(2, 3)
    with pytest.raises(InputError, match=r"edge_attr of float32 \[2, 3\].*\[2 edges, 2\]"):
        predictor.predict([encoded])


def test_a_model_that_reads_no_edge_attributes_asks_for_none(predictor):
    bare = path([5, 6])
    del bare.edge_attr
    assert torch.equal(all_of(predictor.predict([bare])), all_of(predictor.predict(RAW[:1])))


def test_edge_weights_of_some_graphs(predictor):
    weighted = RAW[1].clone()
    weighted.edge_weight = torch.full((weighted.num_edges,), 0.3)
    lonely = Data(x=torch.tensor([[5]]))
    graphs = [RAW[1], weighted, lonely]
    alone = [all_of(predictor.predict([graph])) for graph in graphs]
    assert not torch.allclose(alone[0], alone[1])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        together = all_of(predictor.predict([graphs[index] for index in order]))
        torch.testing.assert_close(
            together, torch.cat([alone[index] for index in order]), atol=1e-6, rtol=0
        )


EDGE = torch.tensor([[0], [1]])


def weighted(weight):
    return Data(x=torch.ones(2, 3), edge_index=EDGE, edge_weight=weight)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Data(x=torch.ones(2, 5), edge_index=EDGE), r"x of float32 \[2, 5\].*floats \[nodes, 3\]"),
        (Data(x=torch.ones(2, 2).long(), edge_index=EDGE), "2 columns of x"),
        (Data(x=torch.ones(3), edge_index=EDGE), r"x\[0\] holds floats, but held integers"),
        (Data(edge_index=EDGE, num_nodes=2), "no node features x"),
        (Data(x=torch.full((2, 3), torch.nan), edge_index=EDGE), "are not all finite"),
        (Data(x=torch.ones(1, 3), edge_index=EDGE), "edge_index names nodes from 0 to 1, but"),
        (Data(x=torch.ones(0, 3)), "Graph 0 has no nodes"),
        (Data(x=torch.ones(2, 3), edge_index=EDGE.float()), "edge_index must be .* float32"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_computed(predictor, graph, message):
    with pytest.raises(InputError, match=message):
        predictor.predict([graph])  # without asking for a batch


def test_what_the_model_knows_is_told(predictor):
    known = r"It was trained on paths, with 3 features \(x\[0\]=5, x\[0\]=6, x\[0\]=7\)"
    with pytest.raises(InputError, match=f"Graph 1 has x of .*{known}"):
        predictor.predict([*predictor.encoder.transform(RAW[:1]), Data(x=torch.ones(2, 4))])


def test_graphs_that_were_encoded_otherwise(predictor):
    other = [path([1, 2]), path([3, 3])]
    encoder = FeatureEncoder.fit(other)
    dataset = GraphDataset.of("other", encoder.transform(other), encoder=encoder)
    assert dataset.num_features == predictor.encoder.num_features
    with pytest.raises(InputError, match="have their own encoding"):
        predictor.predict(dataset)


def test_an_unknown_category_is_told_and_doubted(predictor):
    with pytest.warns(UserWarning, match=r"x\[0\] 9 \(2x\)"):
        known, unknown = predictor.prepared([RAW[0], path([9, 5, 9])])
    assert predictor.doubt(known) is None
    assert predictor.doubt(unknown) == "2 nodes with an unknown x[0]: not in the training data"


def test_a_stream_is_read_batch_by_batch(predictor):
    read = []

    def graphs():
        for number, graph in enumerate([*RAW, Data(x=torch.ones(1, 7))]):
            read.append(number)
            yield graph

    outputs = predictor.predict(graphs(), 2)
    assert read == []
    next(outputs)
    assert read == [0, 1]
    next(outputs)
    with pytest.raises(InputError, match="Graph 4 has x of"):
        next(outputs)


def test_one_graph_is_not_several(predictor):
    with pytest.raises(InputTypeError, match="Put it into a list"):
        predictor.predict(RAW[0])
    with pytest.raises(InputTypeError, match="graph 1 is a str"):
        predictor.predict([RAW[0], "graph"])
    with pytest.raises(InputError, match="batch_size must be at least 1; got 0"):
        predictor.predict(RAW, 0)


def test_nothing_is_nothing(predictor):
    assert list(predictor.predict([])) == []


def test_the_training_may_go_on(mutag):
    training = Trainer(*GIN, mutag, train=torch.arange(100))
    training.run_epoch()
    predictor = Predictor.of(training)
    graphs = load("MUTAG")[100:]
    assert isinstance(graphs, InMemoryDataset)
    before = all_of(predictor.predict(graphs))
    training.run_epoch()
    assert torch.equal(all_of(predictor.predict(graphs)), before)


OWN = [Net, LazyNet, FrozenNet, MixedNet, EdgeNet, TableNet]


@pytest.mark.parametrize("method", ["ifmixup", Noise])
@pytest.mark.parametrize("cls", OWN, ids=lambda cls: cls.__name__)
def test_a_users_class_predicts_what_was_measured(mutag, tmp_path, cls, method):
    path, test = tmp_path / "model.pt", torch.arange(100, 188)
    trainer = train(*parts(cls, method), mutag, train=torch.arange(100), test=test, save=path)
    for predictor in (Predictor.of(trainer), Predictor.load(path, cls)):
        found = all_of(predictor.predict(load("MUTAG")[100:]))
        right = (found.argmax(1) == mutag.y[100:]).double().mean()
        assert float(right) == trainer.latest["test"]["accuracy"]
        nll = -found[torch.arange(88), mutag.y[100:]].log().mean()
        assert float(nll) == pytest.approx(trainer.latest["test"]["nll"], rel=1e-4)
    kinds = {name: value.dtype for name, value in trainer.model.state_dict().items()}
    assert {name: v.dtype for name, v in predictor.model.state_dict().items()} == kinds
    frozen = {name for name, value in trainer.model.named_parameters() if not value.requires_grad}
    assert frozen == {n for n, v in predictor.model.named_parameters() if not v.requires_grad}
    assert bool(frozen) == (cls is FrozenNet)


def test_edge_attributes_and_node_weights_go_to_a_model_that_names_them(mutag):
    trainer = train(*parts(EdgeNet, "ifmixup"), mutag, train=torch.arange(100))
    assert trainer.settings.use_edge_attr is True
    assert trainer.model.given == {"edge_attr", "node_weight"}
    predictor = Predictor.of(trainer)
    all_of(predictor.predict(load("MUTAG")[:3]))
    assert predictor.model.given == {"edge_attr"}
    bare = train(*parts(EdgeNet, use_edge_attr=False), mutag, train=torch.arange(100))
    assert bare.model.given == set()


NETS = """
from torch import nn
from torch_geometric.nn import GraphConv, global_mean_pool

class Net(nn.Module):
    def __init__(self, in_channels, out_channels, width: int = 8):
        super().__init__()
        self.conv, self.head = GraphConv(in_channels, width), nn.Linear(width, out_channels)

    def forward(self, x, edge_index, edge_weight, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index, edge_weight).relu(), batch))
"""


@pytest.fixture
def nets(tmp_path, mutag):
    """A model file and the file of its class, which no test has loaded under that name."""
    (tmp_path / "first").mkdir()
    file = tmp_path / "first" / "nets.py"
    file.write_text(NETS)
    of = parts(f"{file}:Net", width=4, epochs=1)
    train(*of, mutag, train=torch.arange(100), save=tmp_path / "model.pt")
    found = tmp_path / "nets.py"  # elsewhere: the path does not matter
    found.write_text(NETS)
    return tmp_path / "model.pt", found


def rewrite(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_a_users_class_is_named_again(nets, monkeypatch):
    model, file = nets
    monkeypatch.setattr("ifmixup.components._FOUND", {})  # as in another process
    with pytest.raises(CheckpointError, match=r"its model is Net .*--model nets\.py:Net for ifm"):
        Predictor.load(model)
    monkeypatch.chdir(file.parent)
    predictor = Predictor.load("model.pt", "nets.py:Net")  # without a warning: the same code
    assert predictor.model.conv.out_channels == 4  # the option in the file, not the default


def test_other_code_is_told_and_used_if_the_weights_fit(nets):
    model, file = nets
    rewrite(file, ".relu()", ".tanh()")
    with pytest.warns(UserWarning, match=r"with Net \(nets\.py:Net, code .* different code"):
        predictor = Predictor.load(model, f"{file}:Net")
    assert all_of(predictor.predict(load("MUTAG")[:3])).shape == (3, 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "width, out_channels)",
            "width, out_channels, bias=False)",
            r"does not have: \['head.bias",
        ),
        ("nn.Linear(width", "nn.Linear(2 * width", r"head.weight are torch.float32 \[2, 4\], not"),
        ("width", "hidden", "Unknown option of model 'Net' 'width'"),
        ("self.conv, ", "raise OSError('no disk'); self.conv, ", "failed: OSError: no disk"),
    ],
    ids=["fewer weights", "other shapes", "another option", "an error"],
)
def test_other_code_that_does_not_fit(nets, old, new, message):
    model, file = nets
    rewrite(file, old, new)
    with (
        pytest.warns(UserWarning, match="different code"),
        pytest.raises(CheckpointError, match=message),
    ):
        Predictor.load(model, f"{file}:Net")


def test_a_model_of_ifmixup_needs_no_name_but_may_have_it(mutag, tmp_path):
    path = tmp_path / "model.pt"
    train(*GIN, mutag, train=torch.arange(100), save=path)
    one, other = (all_of(Predictor.load(path, model).predict(load("MUTAG")[:5]))
                  for model in (None, "gin"))  # fmt: skip
    assert torch.equal(one, other)
    with (
        pytest.warns(UserWarning, match=r"trained with GIN \(ifmixup.nn:GIN\); GCN"),
        pytest.raises(CheckpointError, match=r"does not have|not torch"),
    ):
        Predictor.load(path, "gcn")
