import zipfile
from dataclasses import replace

import pytest
import torch
from torch_geometric.io import read_tu_data
from torch_geometric.transforms import OneHotDegree

from ifmixup.data import load
from ifmixup.data.catalog import NAMES
from ifmixup.data.encoder import Column, FeatureEncoder
from ifmixup.data.raw import LoadOptions
from ifmixup.data.text_files import TextFile
from ifmixup.data.tu import parse, read_tu, tu_in
from ifmixup.errors import DatasetError, InputError


def parsed_with(texts, encoder=None):
    files = {part: TextFile(f"TINY_{part}.txt", text.encode()) for part, text in texts.items()}
    return parse(files, "TINY.zip", "TINY", LoadOptions(encoder=encoder))


def parsed(texts):
    found = parsed_with(texts)
    return found._data, found.slices


def test_the_tiny_dataset_written_out(tiny):
    data, slices = parsed(tiny)
    # Edges sorted, node 1's self-loop gone, the two 2-1 merged; nodes counted within their graph.
    assert data.edge_index.tolist() == [
        [0, 0, 1, 1, 2, 2, 0, 1, 1, 2],
        [1, 2, 0, 2, 0, 1, 1, 0, 2, 1],
    ]
    # Labels 3, 4, 5 are columns 0, 1, 2.
    assert data.x.argmax(dim=1).tolist() == [0, 2, 0, 1, 1, 0, 2]
    assert data.x.dtype == torch.float32
    assert data.x.sum(dim=1).tolist() == [1] * 7
    assert data.edge_attr.tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [2, 0, 0],  # merged edges add up, as in PyG
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 1],
        [1, 0, 0],
        [1, 0, 0],
    ]
    assert data.y.tolist() == [0, 1]
    assert data.y.dtype == torch.int64
    assert {key: value.tolist() for key, value in slices.items()} == {
        "x": [0, 3, 7],
        "edge_index": [0, 6, 10],
        "edge_attr": [0, 6, 10],
        "y": [0, 1, 2],
    }


def test_the_tiny_dataset_as_pyg_reads_it(tmp_path, tiny, write_folder):
    assert_as_pyg(write_folder(tmp_path, tiny), "TINY")


def test_two_columns_of_labels_as_pyg_reads_them(tmp_path, tiny, write_folder):
    tiny["node_labels"] = "1, 5\n2, 7\n1, 5\n-1, 5\n1, 6\n1, 5\n0, 5\n"
    tiny["edge_labels"] = "\n".join(f"{i % 2}, {i % 3}" for i in range(12)) + "\n"
    assert_as_pyg(write_folder(tmp_path, tiny), "TINY")
    assert parsed(tiny)[0].x.shape == (7, 4 + 3)


def test_line_ends_and_separators_do_not_matter(tiny):
    expected, _ = parsed(tiny)
    windows, _ = parsed({part: text.replace("\n", "\r\n") + "\r\n" for part, text in tiny.items()})
    for key, value in expected:
        assert torch.equal(windows[key], value)


@pytest.mark.parametrize("name", NAMES)
def test_as_pyg_reads_it(tmp_path, tu_source, name):
    with zipfile.ZipFile(tu_source(name)) as archive:
        archive.extractall(tmp_path)
    assert_as_pyg(tmp_path / name, name)


def assert_as_pyg(folder, name):
    found = read_tu(folder, name, LoadOptions())
    data, slices = found._data, found.slices
    expected, expected_slices, sizes = read_tu_data(str(folder), name)
    if expected.x is None:
        # PyG's transform takes the width from us; it fails for a degree that is larger.
        width = data.x.size(1)
        graph = expected.clone()
        graph.edge_index = expected.edge_index + _starts(data, slices)
        expected.x = OneHotDegree(width - 1)(graph).x
        expected_slices["x"] = slices["x"]
        assert data.x[:, -1].any()
    else:
        expected.x = expected.x[:, sizes["num_node_attributes"] :]
    keys = {"x", "edge_index", "y"} | ({"edge_attr"} if expected.edge_attr is not None else set())
    assert set(data.keys()) == keys == set(slices)
    for key in keys:
        assert data[key].dtype == expected[key].dtype
        assert torch.equal(data[key], expected[key])
        assert torch.equal(slices[key], expected_slices[key])


def _starts(data, slices):
    counts = slices["edge_index"].diff()
    return slices["x"][:-1].repeat_interleave(counts)


def test_without_labels_the_degree(tiny):
    del tiny["node_labels"], tiny["edge_labels"]
    data, slices = parsed(tiny)
    # Neither the self-loop nor the edge that stands twice counts. Node 7 is alone.
    assert data.x.argmax(dim=1).tolist() == [2, 2, 2, 1, 2, 1, 0]
    assert data.x.shape == (7, 3)
    assert "edge_attr" not in data
    assert "edge_attr" not in slices


def test_the_width_of_the_degrees_is_the_whole_datasets(tiny):
    # A star of three leaves and a pair: the pair's degrees are as wide as the star's.
    texts = {
        "A": "1,2\n2,1\n1,3\n3,1\n1,4\n4,1\n5,6\n6,5\n",
        "graph_indicator": "1\n1\n1\n1\n2\n2\n",
        "graph_labels": "0\n1\n",
    }
    data, slices = parsed(texts)
    pair = data.x[slices["x"][1] :]
    assert pair.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]]


def test_without_labels_but_with_attributes(tiny):
    del tiny["node_labels"]
    tiny["node_attributes"] = "0.5, 1\n" * 7
    data, _ = parsed(tiny)
    assert data.x.dtype == torch.float32
    assert data.x.tolist() == [[0.5, 1.0]] * 7


def test_graphs_without_edges_at_the_end_keep_their_place(tiny):
    texts = {"A": "1,2\n2,1\n3,3\n", "graph_indicator": "1\n1\n2\n3\n", "graph_labels": "5\n7\n5\n"}
    data, slices = parsed(texts)
    assert slices["edge_index"].tolist() == [0, 2, 2, 2]
    assert slices["x"].tolist() == [0, 2, 3, 4]
    assert data.y.tolist() == [0, 1, 0]


BROKEN = [
    ("A", "1, 2\n2, 8\n", r"TINY_A\.txt, line 2: the edge \[2, 8\] needs nodes from 1 to 7"),
    ("A", "0, 2\n2, 1\n", r"TINY_A\.txt, line 1: the edge \[0, 2\] needs nodes from 1 to 7"),
    ("A", "1, 2\n\n3, 4\n", r"TINY_A\.txt, line 3: an edge joins graph 1 with graph 2"),
    ("A", "1, 2\n1, 2, 3\n", r"TINY_A\.txt, line 2: expected 2 columns, found 3"),
    ("A", "", r"TINY_A\.txt is empty"),
    ("A", None, r"TINY\.zip has no TINY_A\.txt"),
    ("graph_indicator", None, r"TINY\.zip has no TINY_graph_indicator\.txt"),
    ("graph_labels", None, r"TINY\.zip has no TINY_graph_labels\.txt"),
    ("graph_labels", "", r"TINY_graph_labels\.txt is empty"),
    ("graph_indicator", "2\n2\n", r"line 1: graph 2 after graph 0; nodes must be in the order"),
    ("graph_indicator", "0\n1\n", r"line 1: graph 0 after graph 0; .* counted 1, 2, 3"),
    ("graph_indicator", "1\n1\n3\n", r"line 3: graph 3 after graph 1; nodes must be in the order"),
    ("graph_indicator", "1\n2\n1\n", r"line 3: graph 1 after graph 2; nodes must be in the order"),
    ("graph_indicator", "1\n1\n1.5\n", r"line 3: expected integers"),
    ("graph_labels", "1\n", r"graph_labels\.txt has 1 lines, expected 2: one for each graph"),
    ("graph_labels", "1\n2\n1\n", r"graph_labels\.txt has 3 lines, expected 2"),
    ("graph_labels", "1, 0\n2, 1\n", r"graph_labels\.txt, line 1: expected 1 column, found 2"),
    ("node_labels", "1\n2\n", r"node_labels\.txt has 2 lines, expected 7: one for each node of "),
    ("edge_labels", "1\n2\n", r"edge_labels\.txt has 2 lines, expected 12: one for each edge of "),
    ("node_labels", "1\n" * 6 + "?\n", r"node_labels\.txt, line 7: '\?' is not a number"),
    ("node_labels", "1\n" * 6 + "9000000000\n", r"node_labels\.txt: one-hot .* 7 x 9000000000 en"),
    ("edge_labels", f"{-(2**53)}\n" * 11 + f"{2**53}\n", r"edge_labels\.txt: one-hot features"),
]


@pytest.mark.parametrize(("part", "text", "message"), BROKEN)
def test_broken_files(tiny, part, text, message):
    tiny[part] = text
    with pytest.raises(DatasetError, match=message):
        parsed({part: text for part, text in tiny.items() if text is not None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1, 2\n" * 6, r"has 6 lines, expected 7: one for each node of TINY_graph_indicator\.txt"),
        ("1, 2\n" * 6 + "1\n", r"line 7: expected 2 columns, found 1"),
        ("1, 2\n" * 6 + "1, nan\n", r"line 7: \[1\.0, nan\] is not finite"),
        ("1, 2\n" * 6 + "1e300, 1\n", r"line 7: \[1e\+300, 1\.0\] is too large for a 32-bit float"),
    ],
)
def test_broken_attributes(tiny, text, message):
    del tiny["node_labels"]
    tiny["node_attributes"] = text
    with pytest.raises(DatasetError, match=message):
        parsed(tiny)


def test_degrees_that_would_fill_the_memory(monkeypatch, tiny):
    del tiny["node_labels"], tiny["edge_labels"]
    monkeypatch.setattr("ifmixup.data.encoder.MAX_ENTRIES", 20)
    with pytest.raises(DatasetError, match="7 x 3 entries are more than the 20 allowed"):
        parsed(tiny)


def test_the_encoder_of_other_graphs_must_know_the_same_columns(tiny):
    bare = {part: text for part, text in tiny.items() if not part.endswith(("_labels", "butes"))}
    bare["graph_labels"] = tiny["graph_labels"]
    labels, degrees = parsed_with(tiny).encoder, parsed_with(bare).encoder
    assert torch.equal(parsed_with(tiny, labels)._data.x, parsed(tiny)[0].x)
    with pytest.raises(DatasetError, match=r"nodes carry node label, .* learned on \(degree\)"):
        parsed_with(tiny, degrees)
    with pytest.raises(DatasetError, match=r"nodes carry \(degree\), .* learned on node label"):
        parsed_with(bare, labels)
    saved = FeatureEncoder((Column("x[0]", (3, 4, 5)),))
    with pytest.raises(DatasetError, match=r"TINY\.zip: its nodes carry .* learned on x\[0\]"):
        parsed_with(tiny, saved)
    del tiny["edge_labels"]
    with pytest.raises(DatasetError, match=r"its edges carry nothing, .* learned on edge label"):
        parsed_with(tiny, labels)
    assert "edge_attr" not in parsed_with(tiny, replace(labels, edges=None))._data


def test_a_real_dataset_with_a_broken_line(tmp_path, write_zip):
    mutag = load("MUTAG")
    assert len(mutag) == 188
    path = write_zip(tmp_path / "MUTAG.zip", {"A": "1, 2\n2, one\n"}, name="MUTAG")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("MUTAG/MUTAG_graph_indicator.txt", "1\n1\n")
        archive.writestr("MUTAG/MUTAG_graph_labels.txt", "1\n")
    with pytest.raises(DatasetError, match=r"MUTAG\.zip: MUTAG/MUTAG_A\.txt, line 2: 'one' is no"):
        load("MUTAG", root=tmp_path)


@pytest.mark.parametrize("where", ["own", "own/raw"])
def test_a_folder(tmp_path, tiny, write_folder, where):
    write_folder(tmp_path / where, tiny)
    assert tu_in(tmp_path / "own") == (tmp_path / where, "TINY")
    dataset = load(tmp_path / "own")
    assert repr(dataset) == "TINY(2)"
    assert repr(load(f"{tmp_path}/own/")) == "TINY(2)"
    assert dataset.class_names == ["-1", "1"]


@pytest.mark.parametrize("name", ["other.zip", "OTHER.ZIP"])
def test_a_zip_under_another_name(tmp_path, tiny, write_zip, name):
    path = write_zip(tmp_path / name, tiny)
    assert tu_in(path) == (path, "TINY")
    assert repr(load(str(path))) == "TINY(2)"


def test_how_the_features_were_made(tmp_path, tiny, write_folder):
    encoder = read_tu(write_folder(tmp_path, tiny), "TINY", LoadOptions()).encoder
    assert encoder.nodes == (Column("node label", (3, 4, 5)),)
    assert encoder.edges == (Column("edge label", (0, 1, 2)),)
    tiny["node_labels"] = "1, 5\n" * 7
    encoder = read_tu(write_folder(tmp_path, tiny), "TINY", LoadOptions()).encoder
    names = [column.name for column in encoder.nodes]
    assert names == ["node label 0", "node label 1"]


def test_attributes_and_degrees(tmp_path, tiny, write_folder):
    labels = tiny.pop("node_labels")
    bare = write_folder(tmp_path / "bare", tiny)
    assert load(bare).encoder.nodes == (Column("(degree)", (0, 1, 2)),)
    tiny["node_attributes"] = "0.5, 1\n" * 7
    attributed = write_folder(tmp_path / "attributed", tiny)
    names = [column.name for column in load(attributed).encoder.nodes]
    assert names == ["node attribute 0", "node attribute 1"]
    assert labels


def test_other_graphs_are_encoded_alike(tmp_path, tiny, write_folder):
    encoder = load(write_folder(tmp_path / "a", tiny)).encoder
    tiny["node_labels"] = "5\n9\n5\n5\n5\n5\n5\n"
    tiny["graph_labels"] = ""
    folder = write_folder(tmp_path / "b", tiny)
    with pytest.warns(UserWarning, match=r"node label 9 \(1x\)"):
        other = load(folder, encoder=encoder, labelled=False)
    assert other[0].x.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert "y" not in other[0]
    assert other.class_names is None
    (folder / "TINY_graph_labels.txt").unlink()
    with pytest.warns(UserWarning, match="node label 9"):
        again = load(folder, encoder=encoder, labelled=False)
    assert torch.equal(again[1].x, other[1].x)


def test_degrees_of_other_graphs(tmp_path, tiny, write_folder):
    del tiny["node_labels"], tiny["edge_labels"]
    encoder = load(write_folder(tmp_path / "a", tiny)).encoder
    star = {
        "A": "1,2\n2,1\n1,3\n3,1\n1,4\n4,1\n",
        "graph_indicator": "1\n1\n1\n1\n",
    }
    folder = write_folder(tmp_path / "b", star)
    with pytest.warns(UserWarning, match=r"\(degree\) 3 \(1x\)"):
        dataset = load(folder, encoder=encoder, labelled=False)
    assert dataset[0].x.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]


def test_the_task_is_classes(tmp_path, tiny, write_folder):
    folder = write_folder(tmp_path, tiny)
    assert load(folder, task="classes", metric="roc_auc").metric == "roc_auc"
    with pytest.raises(InputError, match="labels are classes; the task cannot be 'values'"):
        load(folder, task="values")


def test_two_datasets_in_one_folder(tmp_path, tiny, write_folder):
    write_folder(tmp_path, tiny)
    write_folder(tmp_path, tiny, name="OTHER")
    with pytest.raises(DatasetError, match=r"holds 2 datasets: OTHER, TINY. Give the name of one"):
        tu_in(tmp_path)


def test_what_is_none(tmp_path):
    assert tu_in(tmp_path) is None
    (tmp_path / "x.zip").write_bytes(b"no")
    with pytest.raises(DatasetError, match="not a zip that can be read"):
        tu_in(tmp_path / "x.zip")
    (tmp_path / ".._A.txt").write_text("1, 2\n")
    with pytest.raises(DatasetError, match="cannot be the name of a dataset"):
        load(tmp_path)
