import pytest
import torch

from ifmixup.data import load
from ifmixup.data.columns import Column
from ifmixup.data.tu_source import read_tu, tu_in
from ifmixup.errors import DatasetError, InputError


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
    encoder = read_tu(write_folder(tmp_path, tiny), "TINY").encoder
    assert encoder.nodes == (Column("node label", (3, 4, 5)),)
    assert encoder.edges == (Column("edge label", (0, 1, 2)),)
    tiny["node_labels"] = "1, 5\n" * 7
    names = [column.name for column in read_tu(write_folder(tmp_path, tiny), "TINY").encoder.nodes]
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
        tu_in(tmp_path)
