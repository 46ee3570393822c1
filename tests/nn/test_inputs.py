from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from ifmixup.errors import ComponentError, InputError, ModelError
from ifmixup.graphs import Graphs
from ifmixup.nn import GIN, MODELS, GraphsModel, Neighbours, global_add_pool
from ifmixup.nn.inputs import check_edges, check_nodes

EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize(
    ("x", "batch", "text"),
    [
        (None, None, r"x is None.*OneHotDegree"),
        (torch.ones(4, 2), None, r"x is float32 \[4, 2\], but .* \[N, 3\]"),
        (torch.ones(3), None, r"x is float32 \[3\]"),
        (torch.ones(4, 3, dtype=torch.long), None, r"x is int64 \[4, 3\].*floating-point"),
        (torch.ones(4, 3), torch.zeros(3), r"batch is float32 \[3\].*each of the 4 nodes"),
    ],
)
def test_bad_nodes(x, batch, text):
    with pytest.raises(InputError, match=text):
        check_nodes(x, batch, 3)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"edge_index": EDGES.t()}, r"edge_index is int64 \[3, 2\].*\[2, E\]"),
        ({"edge_weight": torch.ones(4)}, r"float32 \[4\].*each of the 3 edges"),
        (
            {"edge_index": Neighbours.of(EDGES, 3), "edge_weight": torch.ones(4)},
            r"float32 \[4\].*each of the 3 edges",
        ),
        (
            {"edge_index": Neighbours.of(EDGES, 4)},
            r"The Neighbours have 4 nodes, but x has 3 rows",
        ),
        ({"edge_weight": torch.ones(3, 1)}, r"edge_weight is float32 \[3, 1\]"),
        (
            {"edge_weight": torch.zeros(3, dtype=torch.long)},
            r"int64 \[3\].*batch vector is a model's fourth argument",
        ),
        ({"edge_attr": torch.ones(3, 2)}, r"does not read it.*GIN\(edge_dim=.*EdgeAttrToNodes"),
        ({"edge_dim": 2}, r"edge_dim=2, but edge_attr is missing"),
        ({"edge_dim": 2, "edge_attr": torch.ones(3)}, r"float32 \[3\].*\[3, 2\]"),
        ({"edge_dim": 1, "edge_attr": torch.ones(3, 1).long()}, r"int64 \[3, 1\].*floating-point"),
    ],
)
def test_bad_edges(changes, text):
    good = {
        "x": torch.ones(3, 3),
        "edge_index": EDGES,
        "edge_weight": None,
        "edge_attr": None,
        "edge_dim": None,
    }
    with pytest.raises(InputError, match=text):
        check_edges(**{**good, **changes})


def small(**changes) -> Graphs:
    """A graph of two nodes and one of one node."""
    parts = {
        "nodes": {"x": torch.randn(3, 3)},
        "edges": {"edge_index": torch.tensor([[0, 1], [1, 0]])},
        "graphs": {"y": torch.tensor([0, 1])},
        "node_ptr": torch.tensor([0, 2, 3]),
        "edge_ptr": torch.tensor([0, 2, 2]),
    }
    return Graphs(**{**parts, **changes})


MIXED = {
    "nodes": {"x": torch.randn(3, 3), "node_weight": torch.tensor([1.0, 0.5, 1.0])},
    "edges": {
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
        "edge_weight": torch.tensor([0.5, 0.5]),
        "edge_attr": torch.randn(1, 2).expand(2, 2),
    },
}


class Net(nn.Module):
    """Keeps how it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x, edges, w, batch):
        self.called = (x, edges, w, batch)
        return self.lin(global_add_pool(x, batch))


class Reads(Net):
    def forward(self, x, edge_index, edge_weight, batch, *, edge_attr=None, node_weight=None):
        self.more = (edge_attr, node_weight)
        return super().forward(x, edge_index, edge_weight, batch)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_our_models_give_the_same_the_fast_way(name, undirected):
    graphs = small(**MIXED)
    model = MODELS[name](3, 4, 2, 2).eval()
    taken = GraphsModel(model, undirected=undirected)
    expected = model(
        graphs.nodes["x"],
        graphs.edge_index,
        graphs.edges["edge_weight"],
        torch.tensor([0, 0, 1]),
        node_weight=graphs.nodes["node_weight"],
    )
    assert torch.allclose(taken(graphs), expected, atol=1e-6)
    assert isinstance(taken.inputs(graphs)["edge_index"], Neighbours) == undirected
    assert taken.inputs(graphs)["batch_size"] == 2
    assert torch.allclose(taken.classify(taken.embed(graphs)), expected, atol=1e-6)
    h = taken.encode(graphs, stop=1)
    states = replace(graphs, nodes={**graphs.nodes, "x": h})
    assert torch.allclose(taken.encode(states, start=1), taken.encode(graphs), atol=1e-6)
    continued = taken.classify(taken.embed(states, start=1))
    assert torch.allclose(continued, expected, atol=1e-6)


def test_edge_attributes_go_to_a_model_that_was_made_for_them():
    graphs = small(**MIXED)
    assert "edge_attr" not in GraphsModel(GIN(3, 4, 2, 2)).inputs(graphs)
    assert GraphsModel(GIN(3, 4, 2, 2, edge_dim=2))(graphs).shape == (2, 2)


def test_any_other_model_is_called_by_position():
    net, graphs = Net(), small()
    assert GraphsModel(net, undirected=True)(graphs).shape == (2, 2)
    x, edge_index, edge_weight, batch = net.called
    assert x is graphs.nodes["x"]
    assert edge_index is graphs.edge_index
    assert edge_weight is None
    assert batch.tolist() == [0, 0, 1]


def test_it_gets_what_its_forward_names_and_the_graphs_have():
    net, graphs = Reads(), small(**MIXED)
    GraphsModel(net)(graphs)
    assert net.more[0] is graphs.edges["edge_attr"]
    assert net.more[1] is graphs.nodes["node_weight"]
    assert net.called[2] is graphs.edges["edge_weight"]
    GraphsModel(net, node_weight=False)(graphs)
    assert net.more[1] is None
    GraphsModel(net)(small())
    assert net.more == (None, None)
    GraphsModel(Net())(graphs)  # names neither


def test_a_compiled_model_is_called_like_the_one_inside():
    compiled = torch.compile(Reads(), backend="eager")
    taken = GraphsModel(compiled)
    assert set(taken.inputs(small(**MIXED))) >= {"edge_attr", "node_weight"}
    assert "batch_size" in GraphsModel(torch.compile(GIN(3, 4, 2, 2))).inputs(small())


class Broken(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return self.lin(x[:, :2])


class OfNodes(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return self.lin(x)


class Predicts(Net):
    def forward(self, x, edge_index, edge_weight, batch):
        return super().forward(x, edge_index, edge_weight, batch).argmax(1)


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (
            Broken(),
            ComponentError,
            r"Broken\.forward failed: RuntimeError.*\(test_inputs\.py, line \d+",
        ),
        (OfNodes(), ModelError, r"\[3, 2\] for 2 graphs.*ifmixup\.nn\.Classifier"),
        (Predicts(), ModelError, r"returns torch\.int64; it must return logits"),
    ],
)
def test_models_that_cannot_be_used(model, error, text):
    with pytest.raises(error, match=text):
        GraphsModel(model)(small())


def test_parts_that_a_model_lacks():
    for call in (
        lambda taken: taken.embed(small()),
        lambda taken: taken.encode(small()),
        lambda taken: taken.classify(torch.ones(2, 3)),
    ):
        with pytest.raises(ModelError, match=r"Net has no method .* give yours embed"):
            call(GraphsModel(Net()))
