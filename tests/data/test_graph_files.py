import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.data import graph_files as module
from ifmixup.data import load
from ifmixup.errors import DatasetError, IfmixupError


def graph(kind, label=None):
    made = nx.Graph() if label is None else nx.Graph(label=label)
    made.add_node("a", element=kind, mass=1.5)
    made.add_node("b", element="H", mass=0.5)
    made.add_edge("a", "b", order=1)
    return made


def node_link(made):
    return json.dumps(nx.node_link_data(made, edges="links"))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    nx.write_graphml(graph("O", "wet"), folder / "one.graphml")
    (folder / "two.json").write_text(node_link(graph("N", "dry")))
    (folder / "notes.txt").write_text("nothing")
    return folder


def test_graphml_and_json(folder):
    dataset = load(folder)
    assert repr(dataset) == "mine(2)"
    assert dataset.ids == ["one", "two"]
    assert dataset.class_names == ["dry", "wet"]
    assert dataset.encoder.feature_names == ["element=H", "element=N", "element=O", "mass"]
    for index, kind in enumerate([2, 1]):
        found = dataset[index]
        assert found.x[:, :3].argmax(1).tolist() == [kind, 0]
        assert found.x[:, 3].tolist() == [1.5, 0.5]
        assert found.edge_index.tolist() == [[0, 1], [1, 0]]
        assert found.edge_attr.tolist() == [[1], [1]]
    assert dataset.y.tolist() == [1, 0]
    assert load(f"{folder}/").ids == ["one", "two"]


def test_labels_beside_the_graphs(folder):
    (folder / "labels.csv").write_text("file,activity,toxic\none.graphml,0.5,1\ntwo,,0\n")
    dataset = load(folder)
    assert (dataset.task, dataset.class_names) == ("values", ["activity", "toxic"])
    assert dataset.y.nan_to_num(-1).tolist() == [[0.5, 1], [-1, 0]]
    assert load(folder, label="toxic").y.tolist() == [1, 0]
    assert load(folder, label="toxic,activity").class_names == ["toxic", "activity"]
    assert load(folder, labelled=False)[0].y is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file\none\n", "needs two columns, file and label"),
        ("file,label\none,1\none,2\n", "line 3: 'one' occurs twice"),
        ("file,label\none,1\none.graphml,2\n", "two labels for one file: 'one.graphml' and 'one'"),
        ("file,label\nother,1\n", "no label for any of the 2 files, such as 'one.graphml'"),
        ("file,label\none,1,2\n", "line 2: expected 2 columns, found 3"),
        ("file,label\none,1\n", None),
    ],
)
def test_a_table_of_labels_that_does_not_fit(folder, text, message):
    (folder / "labels.csv").write_text(text)
    if message is None:
        assert load(folder).skipped[0].text == "two.json"
        return
    with pytest.raises(DatasetError, match=message):
        load(folder)


def test_identifiers(folder):
    made = graph("O", "wet")
    made.graph["key"] = "water"
    nx.write_graphml(made, folder / "one.graphml")
    assert load(folder, identifier="key").ids == ["water", "two"]


def test_a_newer_networkx_writes_edges_and_directed_graphs(folder):
    made = nx.DiGraph([(0, 1), (1, 2)], label="wet")
    nx.set_node_attributes(made, "C", "element")
    nx.set_node_attributes(made, 1.0, "mass")
    nx.set_edge_attributes(made, 1, "order")
    (folder / "two.json").write_text(json.dumps(nx.node_link_data(made, edges="edges")))
    assert load(folder)[1].edge_index.tolist() == [[0, 1], [1, 2]]


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph id="&d;"/></graphml>"""
OUTSIDE = """<!DOCTYPE g [<!ENTITY a SYSTEM "file:///etc/passwd">]><graphml>&a;</graphml>"""


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.graphml", LAUGHS, "it has a DOCTYPE"),
        ("x.graphml", LAUGHS.replace('"1.0"', '"1.0" encoding="UTF-16"').encode("utf-16"), "DOCTY"),
        ("x.graphml", OUTSIDE, "it has a DOCTYPE"),
        ("x.graphml", "<graphml", "not XML"),
        ("x.graphml", "", "not XML"),
        *(
            ("x.graphml", f"<?xml version='1.0' encoding='{name}'?><graphml/>", "not XML")
            for name in ("foo", "shift_jis", "utf-7")
        ),
        ("x.graphml", "<graphml/>", "not GraphML"),
        ("x.json", "{", "not JSON"),
        ("x.json", "[" * 100_000, "not JSON"),
        ("x.json", b"\xff\xfe\xff", "not JSON"),
        ("x.json", "[1]", "there is no list 'nodes'"),
        ("x.json", '{"nodes": {}}', "there is no list 'nodes'"),
        ("x.json", '{"nodes": []}', "there is no list 'links' or 'edges'"),
        ("x.json", '{"nodes": [1], "links": []}', "node 0 has no 'id'"),
        ("x.json", '{"nodes": [{"id": [1]}], "links": []}', "node 0 has no 'id' that is a text or"),
        ("x.json", '{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "node 1 occurs twice"),
        (
            "x.json",
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
            "link 0 has an end 2 that is not a node",
        ),
        ("x.json", '{"nodes": [{"id": 1}], "links": [[1, 1]]}', "link 0 has no 'source'"),
    ],
)
def test_files_that_are_no_graphs_are_skipped_and_named(folder, name, content, reason):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    dataset = load(folder)
    assert dataset.ids == ["one", "two"]
    (skipped,) = dataset.skipped
    assert (skipped.line, skipped.text) == (3, name)
    assert reason in skipped.reason
    with pytest.raises(DatasetError, match="line 3: "):
        load(folder, strict=True)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('{"id": 1, "element": {"a": 1}, "mass": 1.0}', "the attribute 'element' is a dict"),
        ('{"id": 1, "element": "C", "mass": [1, 2]}', "the attribute 'mass.* is missing"),
        ('{"id": 1, "element": "C"}', "the attribute 'mass' of a node is missing"),
        ('{"id": 1, "element": "C", "mass": NaN}', "NaN or infinity"),
    ],
)
def test_ragged_attributes(folder, node, message):
    text = f'{{"nodes": [{node}], "links": [], "graph": {{"label": "wet"}}}}'
    (folder / "x.json").write_text(text)
    with pytest.raises(DatasetError, match=message):
        load(folder)


def test_bounds(folder, monkeypatch):
    size = (folder / "one.graphml").stat().st_size
    monkeypatch.setattr(module, "MAX_FILE", size - 1)
    dataset = load(folder)
    assert f"holds {size} bytes, more than the {size - 1} allowed" in dataset.skipped[0].reason
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(DatasetError, match="more than the 10 allowed"):
        load(folder)


def test_nothing_of_use(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DatasetError, match="no graph that can be used; 1 were skipped, the first"):
        load(tmp_path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["id", "source", "target", "a", "weight"]), VALUES), max_size=4
)


@given(
    st.dictionaries(st.sampled_from(["nodes", "links", "graph", "label"]), VALUES)
    | st.fixed_dictionaries(
        {"nodes": ROWS, "links": ROWS, "graph": st.fixed_dictionaries({"label": VALUES})}
    )
)
def test_any_json_is_a_graph_or_an_error_of_ours(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("any")
    (folder / "x.json").write_text(json.dumps(values))
    try:
        dataset = load(folder)
    except IfmixupError:
        return
    assert dataset[0].x.isfinite().all()


def test_strange_names_and_numbers(folder):
    node = {"id": 1, "node_for_adding": "x", "element": "C", "mass": 1.0}
    link = {"source": 1, "target": 1, "u_of_edge": 2, "order": 1, "weight": 10**400}
    values = {"nodes": [node], "links": [link], "graph": {"label": "wet"}}
    (folder / "x.json").write_text(json.dumps(values))
    dataset = load(folder)
    assert dataset[2].num_edges == 1
    assert [column.name for column in dataset.encoder.edges] == ["order", "u_of_edge", "weight"]
