import io
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from ifmixup.data import FeatureEncoder
from ifmixup.data.encoder import Column
from ifmixup.errors import InputError

EDGES = torch.tensor([[0, 1], [1, 0]])


def graph(x, edge_attr=None, **more):
    parts = {} if edge_attr is None else {"edge_attr": torch.tensor(edge_attr)}
    return Data(x=torch.tensor(x), edge_index=EDGES, **parts, **more)


def test_integers_become_one_hot_over_what_was_seen():
    a, b = graph([[6, 0], [8, 1]], [1, 1]), graph([[6, 1], [-1, 1]], [4, 4])
    encoder = FeatureEncoder.fit([a, b])
    assert encoder.nodes == (Column("x[0]", (-1, 6, 8)), Column("x[1]", (0, 1)))
    assert encoder.edges == (Column("edge_attr[0]", (1, 4)),)
    one, other = encoder.transform([a, b])
    assert one.x.tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]
    assert other.x.tolist() == [[0, 1, 0, 0, 1], [1, 0, 0, 0, 1]]
    assert other.edge_attr.tolist() == [[0, 1], [0, 1]]
    assert one.x.dtype == torch.float32
    assert a.x.tolist() == [[6, 0], [8, 1]]  # the given graphs are as they were
    assert encoder.num_features == 5
    assert encoder.feature_names == ["x[0]=-1", "x[0]=6", "x[0]=8", "x[1]=0", "x[1]=1"]


def test_floats_pass_unchanged():
    a = graph([[0.25, 1.0], [3.0, -1.0]], [0.5, 2.0])
    encoder = FeatureEncoder.fit([a])
    assert encoder.nodes == (Column("x[0]"), Column("x[1]"))
    (one,) = encoder.transform([a])
    assert torch.equal(one.x, a.x)
    assert one.edge_attr.tolist() == [[0.5], [2.0]]
    double = Data(x=a.x.double(), edge_index=EDGES, edge_attr=a.edge_attr)
    assert encoder.transform([double])[0].x.dtype == torch.float64


def test_texts_and_floats_together():
    a = graph([[0.5], [1.5]], node_kinds=[("N",), ("C",)])
    encoder = FeatureEncoder.fit([a], node_names=["element", "charge"])
    assert encoder.nodes == (Column("element", ("C", "N")), Column("charge"))
    (one,) = encoder.transform([a])
    assert one.x.tolist() == [[0, 1, 0.5], [1, 0, 1.5]]
    assert "node_kinds" not in one
    assert a.node_kinds == [("N",), ("C",)]


def test_texts_that_are_numbers_stand_in_their_order():
    a = Data(node_kinds=[("10",), ("9",), ("nan",), ("b",), ("",)], num_nodes=5, edge_index=EDGES)
    assert FeatureEncoder.fit([a]).nodes[0].kinds == ("9", "10", "", "b", "nan")


def test_what_was_not_seen_is_zeros_and_one_warning():
    encoder = FeatureEncoder.fit([graph([[6], [8]], [1, 2])])
    new = [graph([[7], [6]], [3, 3]), graph([[7], [9]], [1, 2])]
    with pytest.warns(UserWarning, match="were encoded as zeros") as caught:
        a, b = encoder.transform(new)
    assert a.x.tolist() == [[0, 0], [1, 0]]
    assert b.x.tolist() == [[0, 0], [0, 0]]
    assert a.edge_attr.tolist() == [[0, 0], [0, 0]]
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("3 categories are not in the training data")
    assert "x[0] 7 (2x)" in message
    assert "x[0] 9 (1x)" in message
    assert "edge_attr[0] 3 (2x)" in message


def test_a_warning_names_ten():
    encoder = FeatureEncoder.fit([graph([[0], [1]])])
    many = Data(x=torch.arange(2, 14).view(-1, 1), edge_index=EDGES)
    with pytest.warns(UserWarning, match=r"12 categories .* and 2 more\."):
        encoder.transform([many])


def test_edges_that_training_did_not_have_go():
    encoder = FeatureEncoder.fit([graph([[0.5], [1.0]])])
    assert encoder.edges is None
    (one,) = encoder.transform([graph([[0.5], [1.0]], [1, 1])])
    assert "edge_attr" not in one


def test_one_graph_is_no_view_of_all():
    graphs = [graph([[i], [i + 1]]) for i in range(50)]
    one = FeatureEncoder.fit(graphs).transform(graphs)[3]
    saved = io.BytesIO()
    torch.save(one.x, saved)
    assert one.x.untyped_storage().nbytes() == one.x.numel() * 4


def test_plain_values_and_back():
    a = graph([[6], [8]], [0.5, 1.0], node_kinds=[("C",), ("N",)])
    encoder = FeatureEncoder.fit([a])
    saved = io.BytesIO()
    torch.save(encoder.to_dict(), saved)
    saved.seek(0)
    assert FeatureEncoder.of(torch.load(saved, weights_only=True)) == encoder


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"nodes": [], "edges": 3},
        {"nodes": [{"name": "x"}], "edges": None},
        {"nodes": [{"name": 3, "kinds": None}], "edges": None},
        {"nodes": [{"name": "x", "kinds": [0.5]}], "edges": None},
        {"nodes": [{"name": "x", "kinds": [True]}], "edges": None},
        {"nodes": [{"name": "x", "kinds": [1, 1]}], "edges": None},
    ],
)
def test_values_that_are_no_encoder(values):
    with pytest.raises(InputError, match="not those of a FeatureEncoder"):
        FeatureEncoder.of(values)


INTEGERS = FeatureEncoder((Column("atom", (6, 8)),))
TEXTS = FeatureEncoder((Column("atom", ("C", "N")),))
FLOATS = FeatureEncoder((Column("charge"), Column("mass")))


@pytest.mark.parametrize(
    ("encoder", "new", "message"),
    [
        (INTEGERS, graph([[0.5], [1.0]]), "atom holds floats, but held integers"),
        (FLOATS, graph([[1, 2], [1, 2]]), "charge holds integers, but held floats"),
        (FLOATS, graph([[0.5], [1.0]]), "1 columns of x, but .* learned on 2: charge, mass"),
        (TEXTS, graph([[6], [8]]), "atom holds integers, but held texts"),
        (
            INTEGERS,
            Data(edge_index=EDGES, num_nodes=2),
            "no columns of x, .* learned on 1: atom",
        ),
    ],
)
def test_graphs_that_do_not_fit(encoder, new, message):
    with pytest.raises(InputError, match=message):
        encoder.transform([new])


def test_what_cannot_be_learned():
    with pytest.raises(InputError, match="learned on graphs, but there are none"):
        FeatureEncoder.fit([])
    with pytest.raises(InputError, match="no node features x"):
        FeatureEncoder.fit([Data(edge_index=EDGES, num_nodes=2)])
    with pytest.raises(InputError, match="2 names were given for 1 columns"):
        FeatureEncoder.fit([graph([[1], [2]])], node_names=["a", "b"])


def test_features_that_would_fill_the_memory():
    wide = FeatureEncoder((Column("x[0]", tuple(range(100_000))),))
    with pytest.raises(InputError, match="10000 x 100000 entries, more than the 201326592 allowed"):
        wide.transform([Data(x=torch.zeros(10_000, 1, dtype=torch.long), edge_index=EDGES)])


def test_nothing_to_transform():
    assert INTEGERS.transform([]) == []


ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=6)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_one_hot_says_the_same_as_the_numbers(graphs):
    data = [Data(x=torch.tensor(rows), edge_index=EDGES[:, :0]) for rows in graphs]
    encoder = FeatureEncoder.fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = encoder.transform(data)
    first = len(encoder.nodes[0].kinds)
    for rows, one in zip(graphs, found, strict=True):
        assert one.x.sum(1).tolist() == [2] * len(rows)
        for row, encoded in zip(rows, one.x, strict=True):
            assert encoder.nodes[0].kinds[int(encoded[:first].argmax())] == row[0]
            assert encoder.nodes[1].kinds[int(encoded[first:].argmax())] == row[1]


def test_a_column_and_what_it_becomes():
    assert (Column("f").width, Column("f").feature_names) == (1, ["f"])
    kinds = Column("element", ("C", "N"))
    assert (kinds.width, kinds.feature_names) == (2, ["element=C", "element=N"])


def test_one_column_need_not_be_a_matrix():
    a = Data(x=torch.tensor([1, 2]), edge_index=EDGES)
    b = Data(x=torch.tensor([[3]]), edge_index=EDGES[:, :0])
    encoder = FeatureEncoder.fit([a, b])
    assert encoder.nodes == (Column("x[0]", (1, 2, 3)),)
    assert [one.x.argmax(1).tolist() for one in encoder.transform([a, b])] == [[0, 1], [2]]


def test_true_and_false_are_numbers():
    given = Data(x=torch.tensor([[True], [False]]))
    encoder = FeatureEncoder.fit([given])
    assert encoder.nodes == (Column("x[0]"),)
    assert encoder.transform([given])[0].x.tolist() == [[1], [0]]


def test_a_graph_without_edges_needs_no_edge_attr():
    x = torch.ones(2, 1)
    a = Data(x=x, edge_index=EDGES, edge_attr=torch.tensor([5, 6]))
    b = Data(x=x, edge_index=EDGES[:, :0])
    encoder = FeatureEncoder.fit([a, b])
    assert encoder.edges == (Column("edge_attr[0]", (5, 6)),)
    assert [one.edge_attr.tolist() for one in encoder.transform([a, b])] == [[[1, 0], [0, 1]], []]


def test_texts_column_by_column():
    a = Data(node_kinds=[("C", "1"), ("N", "0")], num_nodes=2)
    b = Data(node_kinds=[("O", "0")], num_nodes=1)
    encoder = FeatureEncoder.fit([a, b], node_names=["element", "charge"])
    assert encoder.nodes == (Column("element", ("C", "N", "O")), Column("charge", ("0", "1")))
    assert encoder.edges is None
    rows = [one.x.tolist() for one in encoder.transform([a, b])]
    assert rows == [[[1, 0, 0, 0, 1], [0, 1, 0, 1, 0]], [[0, 0, 1, 1, 0]]]


X = torch.ones(2, 2)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([Data(x=X), Data(num_nodes=1)], "Graph 1 has no x, but others have it"),
        (
            [Data(x=X), Data(x=X[:, :1])],
            r"Graphs 0 and 1 differ: x is .* \[2, 2\] and .* \[2, 1\]",
        ),
        ([Data(x=X), Data(x=X.long())], r"differ: x is float32 \[2, 2\] and int64 \[2, 2\]"),
        ([Data(x=X[None], num_nodes=1)], r"Graph 0: x must .*; got float32 \[1, 2, 2\]"),
        ([Data(x=[1, 2], num_nodes=2)], "Graph 0: x must .*; got list"),
        ([Data(x=X, num_nodes=3)], "Graph 0 has 2 rows of x, but 3 nodes"),
    ],
)
def test_numbers_that_do_not_fit(graphs, message):
    with pytest.raises(InputError, match=message):
        FeatureEncoder.fit(graphs)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([Data(node_kinds=[("C",)], num_nodes=1), Data(num_nodes=1)], "Graph 1 has no node_kinds"),
        ([Data(node_kinds=[("C",)], num_nodes=2)], "Graph 0 has 1 rows of node_kinds, but 2 nodes"),
        ([Data(node_kinds=[("C",), ("C", "N")], num_nodes=2)], r"different lengths: \[1, 2\]"),
    ],
)
def test_texts_that_do_not_fit(graphs, message):
    with pytest.raises(InputError, match=message):
        FeatureEncoder.fit(graphs)


def test_columns_have_names():
    graphs = [Data(x=torch.tensor([[3, 1]]), num_nodes=1), Data(x=torch.tensor([[1, 1]]))]
    columns = (Column("x[0]", (1, 3)), Column("x[1]", (1,)))
    assert FeatureEncoder.fit(graphs) == FeatureEncoder(columns)
    columns = (Column("a", (1, 3)), Column("b", (1,)))
    assert FeatureEncoder.fit(graphs, node_names=["a", "b"]) == FeatureEncoder(columns)


def test_known_categories_do_not_warn():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert INTEGERS.transform([graph([[6], [8]])])[0].x.tolist() == [[1, 0], [0, 1]]
    assert not caught


@pytest.mark.parametrize("given", [{}, {"edge_kinds": []}, {"edge_attr": torch.zeros(0, 1)}])
def test_graphs_without_edges_fit_any_columns_of_edges(given):
    columns = (Column("kind", ("a", "b")), Column("order", ("1",)), Column("length"))
    bare = Data(x=torch.ones(1, 1), edge_index=EDGES[:, :0], **given)
    (found,) = FeatureEncoder((Column("x"),), columns).transform([bare])
    assert found.edge_attr.shape == (0, 4)
    assert "edge_kinds" not in found


def test_the_size_is_checked_before_it_is_made(monkeypatch):
    monkeypatch.setattr("ifmixup.data.encoder.MAX_ENTRIES", 5)
    with pytest.raises(InputError, match="x would have 3 x 2 entries, more than the 5 allowed"):
        INTEGERS.transform([Data(x=torch.tensor([[6], [8], [6]]))])
