import math

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from ifmixup.data import from_networkx, load
from ifmixup.data.encoder import Column
from ifmixup.data.networkx import add_attributes
from ifmixup.errors import DatasetError, InputError, InputTypeError


def water(label=None):
    graph = nx.Graph() if label is None else nx.Graph(label=label)
    graph.add_nodes_from(
        [("o", {"element": "O"}), ("h", {"element": "H"}), ("i", {"element": "H"})]
    )
    graph.add_edges_from([("o", "h"), ("o", "i")], kind="single")
    return graph


def salt(label=None):
    graph = nx.Graph() if label is None else nx.Graph(label=label)
    graph.add_nodes_from([(1, {"element": "Na"}), (2, {"element": "Cl"})])
    graph.add_edge(1, 2, kind="ionic")
    return graph


def test_two_graphs_written_out():
    dataset = from_networkx([water(), salt()], ["wet", "dry"])
    assert (dataset.task, dataset.class_names) == ("classes", ["dry", "wet"])
    assert dataset.encoder.nodes == (Column("element", ("Cl", "H", "Na", "O")),)
    assert dataset.encoder.edges == (Column("kind", ("ionic", "single")),)
    one, other = dataset
    assert one.x.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert one.edge_index.tolist() == [[0, 1, 0, 2], [1, 0, 2, 0]]
    assert one.edge_attr.tolist() == [[0, 1]] * 4
    assert other.edge_attr.tolist() == [[1, 0]] * 2
    assert dataset.y.tolist() == [1, 0]
    assert dataset.ids == ["0", "1"]
    assert dataset.name.startswith("graphs-")


def test_labels_that_graphs_carry():
    assert load([water("wet"), salt("dry")]).class_names == ["dry", "wet"]
    numbered = [nx.path_graph(2), nx.path_graph(3)]
    for index, graph in enumerate(numbered):
        graph.graph.update(y=[index, 1 - index], group="ab"[index])
    dataset = from_networkx(numbered)
    assert (dataset.task, dataset.y.tolist()) == ("labels", [[0, 1], [1, 0]])
    assert from_networkx(numbered, label="group").class_names == ["a", "b"]
    assert from_networkx(numbered, label="group", identifier="group", name="n").ids == ["a", "b"]
    with pytest.raises(DatasetError, match=r"The graphs have no label\. Give y="):
        from_networkx([nx.path_graph(2)])


@pytest.mark.parametrize(
    ("y", "task", "expected"),
    [
        ([1, 0], "classes", [1, 0]),
        (np.array([3, 7]), "classes", [0, 1]),
        (torch.tensor([0.5, 1.5]), "values", [[0.5], [1.5]]),
        ([[1, None], [0, 1]], "labels", [[1, -1], [0, 1]]),
        ([0.5, None], "values", [[0.5], [-1]]),
        ([[0.5, 2], None], "values", [[0.5, 2], [-1, -1]]),
        ([True, False], "classes", [1, 0]),
        ([math.nan, 0.25], "values", [[-1], [0.25]]),
    ],
)
def test_what_y_may_be(y, task, expected):
    dataset = from_networkx([nx.path_graph(2), nx.path_graph(3)], y)
    assert (dataset.task, dataset.y.nan_to_num(-1).tolist()) == (task, expected)


def test_a_class_that_is_not_known_is_skipped():
    dataset = from_networkx([nx.path_graph(2), nx.path_graph(3)], ["a", None])
    assert (len(dataset), dataset.skipped[0].reason) == (1, "no label")


def test_without_attributes_the_degree():
    dataset = from_networkx([nx.star_graph(3), nx.path_graph(2)], [0, 1])
    assert dataset.encoder.nodes == (Column("(degree)", (0, 1, 2, 3)),)
    assert dataset[0].x.argmax(1).tolist() == [3, 1, 1, 1]
    with pytest.warns(UserWarning, match=r"\(degree\) 5 \(1x\)"):
        other = from_networkx([nx.star_graph(5)], labelled=False, encoder=dataset.encoder)
    assert other[0].x.sum(1).tolist() == [0, 1, 1, 1, 1, 1]
    # Attributes that training did not have do not matter.
    assert from_networkx([water()], labelled=False, encoder=dataset.encoder)[0].x.shape == (3, 4)


def test_prediction_uses_what_training_saw():
    encoder = from_networkx([water(), salt()], [0, 1]).encoder
    other = nx.relabel_nodes(water(), {"h": 5})
    other.nodes[5].update(element="D", extra={"not": "used"})
    with pytest.warns(UserWarning, match=r"element 'D' \(1x\)"):
        (graph,) = from_networkx([other], labelled=False, encoder=encoder)
    assert graph.x.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    with pytest.raises(DatasetError, match="no node has an attribute 'element'"):
        from_networkx([nx.path_graph(2)], labelled=False, encoder=encoder)


def test_weights_of_all_edges():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 0.5), (1, 2, 2)])
    dataset = from_networkx([graph, nx.empty_graph(1)], [0, 1])
    assert dataset[0].edge_weight.tolist() == [0.5, 0.5, 2, 2]
    assert dataset[1].edge_weight.shape == (0,)
    assert "edge_attr" not in dataset[0]
    half = nx.Graph([(0, 1, {"weight": "heavy"})])
    assert from_networkx([half], [0]).encoder.edges == (Column("weight", ("heavy",)),)


@pytest.mark.parametrize("other", [{}, {"weight": "heavy"}, {"weight": math.nan}])
def test_weights_of_some_edges(other):
    whole = nx.Graph([(0, 1, {"weight": 2})])
    part = nx.Graph([(0, 1, {"weight": 1}), (1, 2, other)])
    for known in ({}, {"encoder": from_networkx([whole], [0]).encoder}):
        with pytest.raises(DatasetError, match="graph 1: the weight of an edge is missing or no"):
            from_networkx([whole, part], [0, 1], **known)


def test_weights_that_were_categories_stay_so():
    encoder = from_networkx([nx.Graph([(0, 1, {"weight": "2"})])], [0]).encoder
    (graph,) = from_networkx([nx.Graph([(0, 1, {"weight": 2})])], labelled=False, encoder=encoder)
    assert graph.edge_attr.tolist() == [[1], [1]]
    assert "edge_weight" not in graph


def test_an_attribute_that_is_called_degree():
    one = nx.Graph([(0, 1)])
    nx.set_node_attributes(one, {0: "high", 1: "low"}, "degree")
    dataset = from_networkx([one], [0])
    again = from_networkx([one], labelled=False, encoder=dataset.encoder)
    assert torch.equal(again[0].x, dataset[0].x)
    assert dataset.encoder.feature_names == ["degree=high", "degree=low"]


def test_labels_of_numpy_and_torch_in_lists():
    dataset = from_networkx([nx.path_graph(2)] * 2, [[np.float64(0.5), torch.tensor(2)], [1, 3]])
    assert (dataset.task, dataset.y.tolist()) == ("values", [[0.5, 2], [1, 3]])


def test_directed_parallel_and_looped():
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 1)])
    parallel = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    one, other = from_networkx([directed, parallel], [0, 1])
    assert one.edge_index.tolist() == [[0, 1, 2], [1, 2, 1]]
    assert other.edge_index.tolist() == [[0, 1, 1], [1, 0, 1]]


def test_features_by_name():
    graph = water()
    nx.set_node_attributes(graph, 0.5, "mass")
    dataset = from_networkx([graph], [0], node_features=["mass"], edge_features=[])
    assert dataset[0].x.tolist() == [[0.5]] * 3
    assert dataset.num_edge_features == 0


def test_what_is_no_graph():
    with pytest.raises(InputTypeError, match="Graph 1 is a int; a NetworkX graph is needed"):
        from_networkx([nx.path_graph(2), 3], [0, 1])
    with pytest.raises(DatasetError, match="there are no graphs"):
        from_networkx([], [])
    with pytest.raises(InputError, match="1 labels were given for 2 graphs"):
        from_networkx([nx.path_graph(2)] * 2, [0])
    with pytest.raises(DatasetError, match="Graph 1 has 1 labels, others have 2"):
        from_networkx([nx.path_graph(2)] * 2, [[0, 1], [1]])


def test_graphs_without_nodes_are_skipped():
    dataset = from_networkx([nx.path_graph(2), nx.empty_graph(0)], [0, 1])
    assert dataset.ids == ["0"]
    with pytest.raises(DatasetError, match="no graph that can be used; 1 were skipped"):
        from_networkx([nx.empty_graph(0)], [0])


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 6))
    graph = nx.DiGraph() if draw(st.booleans()) else nx.Graph()
    names = draw(st.permutations(range(size)))
    for name in names:
        graph.add_node(
            name, kind=draw(st.sampled_from("abc")), size=draw(st.floats(-9, 9, width=32))
        )
    ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    for one, other in draw(st.lists(ends, max_size=8)):
        graph.add_edge(one, other, bond=draw(st.integers(0, 2)))
    return graph


@given(st.lists(st.tuples(graphs(), st.sampled_from(["x", "y", "z"])), min_size=1, max_size=4))
def test_nodes_edges_and_labels_come_back(pairs):
    given_graphs, labels = zip(*pairs, strict=True)
    dataset = from_networkx(given_graphs, labels)
    kinds = dataset.encoder.nodes[0].kinds
    for original, label, found in zip(given_graphs, labels, dataset, strict=True):
        assert dataset.class_names[int(found.y)] == label
        nodes = list(original.nodes)
        assert found.num_nodes == len(nodes)
        for node, row in zip(nodes, found.x, strict=True):
            assert kinds[int(row[: len(kinds)].argmax())] == original.nodes[node]["kind"]
            assert float(row[-1]) == original.nodes[node]["size"]
        ends = {(nodes[one], nodes[other]) for one, other in found.edge_index.t().tolist()}
        assert len(ends) == found.num_edges
        directed = original if original.is_directed() else original.to_directed()
        assert ends == set(directed.edges)
        if dataset.encoder.edges is not None:
            bonds = dataset.encoder.edges[0].kinds
            for (one, other), row in zip(
                found.edge_index.t().tolist(), found.edge_attr, strict=True
            ):
                assert bonds[int(row.argmax())] == str(original[nodes[one]][nodes[other]]["bond"])


def put(rows, **options):
    graphs = [Data(num_nodes=len(one)) for one in rows]
    names = add_attributes(graphs, rows, "node", "here", **options)
    return names, graphs


def test_categories_first_then_numbers():
    row = {"mass": 1.5, "element": "C", "charge": -1, "ring": True}
    names, (graph,) = put([[row, {"mass": 2, "element": "N", "charge": 0, "ring": False}]])
    assert names == ["charge", "element", "ring", "mass"]
    assert graph.node_kinds == [("-1", "C", "1"), ("0", "N", "0")]
    assert graph.x.tolist() == [[1.5], [2.0]]
    assert graph.x.dtype == torch.float32


def test_a_category_that_is_missing_is_one():
    _, (a, b) = put([[{"k": "x"}, {"k": None}], [{}]])
    assert (a.node_kinds, b.node_kinds) == ([("x",), ("",)], [("",)])


def test_lists_are_columns():
    names, (graph,) = put([[{"p": [0.5, 1]}, {"p": np.array([2.0, 3.0])}, {"p": (4, 5.5)}]])
    assert names == ["p[0]", "p[1]"]
    assert graph.x.tolist() == [[0.5, 1], [2, 3], [4, 5.5]]
    names, (graph,) = put([[{"p": torch.tensor([0.5]), "q": np.float32(2)}]])
    assert names == ["p[0]", "q"]
    assert graph.x.tolist() == [[0.5, 2.0]]


def test_nothing_is_nothing():
    names, (graph,) = put([[{}, {}]])
    assert names == []
    assert set(graph.keys()) == {"num_nodes"}


def test_some_of_them():
    rows = [[{"a": 1, "b": 0.5, "c": {}}]]
    assert put(rows, wanted=["b"])[0] == ["b"]
    with pytest.raises(DatasetError, match=r"no node has an attribute 'z'. There are: a, b"):
        put([[{"a": 1, "b": 0.5}]], wanted=["z"])


def test_as_an_encoder_expects():
    expected = [Column("element", ("C",)), Column("p[1]")]
    names, (graph,) = put([[{"p": [1.0, 2.0], "element": 7, "other": {}}]], columns=expected)
    assert names == ["element", "p[1]"]
    assert graph.node_kinds == [("7",)]
    assert graph.x.tolist() == [[2.0]]
    with pytest.raises(DatasetError, match=r"no node has an attribute 'element'. There are: p"):
        put([[{"p": [1.0, 2.0]}]], columns=expected)
    with pytest.raises(DatasetError, match="There are: none"):
        put([[{}]], columns=expected)


def test_edges():
    graphs = [Data(num_nodes=2), Data(num_nodes=1)]
    assert add_attributes(graphs, [[{"w": 0.5}], []], "edge", "here") == ["w"]
    assert graphs[0].edge_attr.tolist() == [[0.5]]
    assert graphs[1].edge_attr.shape == (0, 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[{"a": 0.5}], [{}]], "here, graph 1: the attribute 'a' of a node is missing, but others"),
        ([[{"p": [0.5, 1.0]}, {"p": [0.5]}]], r"graph 0: the attribute 'p\[1\]' of a node is miss"),
        ([[{"a": {"b": 1}}]], "graph 0: the attribute 'a' is a dict; numbers, texts and lists"),
        ([[{"a": [[1, 2]]}]], r"'a\[0\]' is a list; numbers"),
        ([[{"a": 10**400}, {"a": 0.5}]], "graph 0: 'a' is too large a number"),
        ([[{f"a{i}": 1 for i in range(10_001)}]], "10001 different attributes, more than the 1000"),
    ],
)
def test_attributes_that_cannot_be_used(rows, message):
    with pytest.raises(DatasetError, match=message):
        put(rows)


def test_a_text_where_training_had_a_number():
    with pytest.raises(DatasetError, match="'a' of a node is 'x', but others have numbers"):
        put([[{"a": "x"}]], columns=[Column("a")])
