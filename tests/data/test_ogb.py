import gzip

import pytest

from ifmixup.data import load
from ifmixup.data import ogb as module
from ifmixup.errors import DatasetError, InputError, MissingExtraError

# Two molecules of three and two atoms, and one atom on its own; each bond stands once.
RAW = {
    "num-node-list": "3\n2\n1\n",
    "num-edge-list": "2\n1\n0\n",
    "edge": "0,1\n1,2\n0,1\n",
    "node-feat": "5,0\n7,0\n5,1\n5,0\n5,0\n16,0\n",
    "edge-feat": "0,0\n1,0\n0,0\n",
    "graph-label": "1\n0\n1\n",
}
SPLIT = {"train": "0\n", "valid": "2\n", "test": "1\n"}


def write(root, name="ogbg_molhiv", raw=RAW, split=SPLIT, kind="scaffold"):
    for folder, texts in ((root / name / "raw", raw), (root / name / "split" / kind, split)):
        folder.mkdir(parents=True, exist_ok=True)
        for part, text in texts.items():
            (folder / f"{part}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return root


def test_a_tiny_molhiv(tmp_path):
    dataset = load("ogb:ogbg-molhiv", write(tmp_path))
    assert repr(dataset) == "ogbg-molhiv(3)"
    assert (dataset.task, dataset.metric) == ("labels", "roc_auc")
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [0],
        "validation": [2],
        "test": [1],
    }
    first, second, third = dataset
    # Columns: 5, 7, 16, then 0, 1.
    assert first.x.tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]]
    assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert first.edge_attr.tolist() == [[1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 1, 1]]
    assert second.is_undirected()
    assert third.num_edges == 0
    assert dataset.y.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("name", ["hiv", "ogbg_molhiv"])
def test_where_it_is_looked_for(tmp_path, monkeypatch, name):
    write(tmp_path, name)
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path))
    assert len(load("ogb:ogbg-molhiv")) == 3
    monkeypatch.delenv("IFMIXUP_DATA")
    assert len(load("ogb:ogbg-molhiv", tmp_path / name)) == 3
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"There is no ogbg_molhiv/raw/.*GraphPropPredDataset"):
        load("ogb:ogbg-molhiv")
    (tmp_path / "dataset").mkdir()
    write(tmp_path / "dataset")
    assert len(load("ogb:ogbg-molhiv")) == 3


def test_several_labels_some_not_known(tmp_path):
    raw = {**RAW, "graph-label": "1,\n,0\n1,0\n"}
    dataset = load("ogb:ogbg-molpcba", write(tmp_path, "ogbg_molpcba", raw))
    assert (dataset.metric, dataset.num_classes) == ("average_precision", 2)
    assert dataset.y.nan_to_num(-1).tolist() == [[1, -1], [-1, 0], [1, 0]]


def test_one_label_that_is_not_known(tmp_path):
    dataset = load("ogb:ogbg-molhiv", write(tmp_path, raw={**RAW, "graph-label": "1\n\n0\n"}))
    assert dataset.y.nan_to_num(-1).tolist() == [[1], [-1], [0]]


def test_classes_without_node_features(tmp_path):
    raw = {key: text for key, text in RAW.items() if key != "node-feat"}
    raw |= {"edge-feat": "0.5\n0.25\n1\n", "graph-label": "3\n0\n3\n"}
    dataset = load("ogb:ogbg-ppa", write(tmp_path, "ogbg_ppa", raw, kind="species"))
    assert (dataset.task, dataset.metric, dataset.class_names) == (
        "classes",
        "accuracy",
        ["0", "3"],
    )
    assert dataset[0].edge_attr.tolist() == [[0.5], [0.25], [0.5], [0.25]]
    assert dataset[0].x.argmax(1).tolist() == [1, 2, 1]  # the degree


def test_a_metric_that_is_not_there(tmp_path):
    raw = {**RAW, "graph-label": "0.5\n1.5\n-2\n"}
    write(tmp_path, "ogbg_molesol", raw)
    with pytest.warns(
        UserWarning, match="OGB evaluates ogbg-molesol by RMSE, which ifmixup does not"
    ):
        dataset = load("ogb:ogbg-molesol", tmp_path)
    assert (dataset.task, dataset.metric) == ("values", "mae")
    assert load("ogb:ogbg-molesol", tmp_path, metric="mae").metric == "mae"


def test_without_labels_or_split(tmp_path):
    dataset = load("ogb:ogbg-molhiv", write(tmp_path, split={}), labelled=False)
    assert dataset[0].y is None
    assert dataset.split is None


def test_names(monkeypatch, tmp_path):
    with pytest.raises(InputError, match=r"Unknown OGB dataset 'ogbg-molhif'\. Did you mean"):
        load("ogb:ogbg-molhif")
    with pytest.raises(InputError, match="ogbg-code2 is about subtoken prediction"):
        load("ogb:ogbg-code2")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ifmixup\[ogb\]'"):
        load("ogb:ogbg-molhiv", tmp_path)


@pytest.mark.parametrize(
    ("raw", "split", "message"),
    [
        ({"num-edge-list": "2\n1\n"}, {}, "numbers of nodes and edges do not fit together"),
        ({"edge": "0,1\n"}, {}, "edge.csv.gz has 1 lines, expected 3"),
        ({"edge": "0,1\n1,9\n0,1\n"}, {}, "graph 0: edge_index .* numbered from 0 to 2"),
        ({"node-feat": "5\n"}, {}, "node-feat.csv.gz has 1 lines, expected 6"),
        ({"graph-label": "1\n0\n"}, {}, "graph-label.csv.gz has 2 lines, expected 3"),
        ({"graph-label": "1\nx\n0\n"}, {}, "graph-label.csv.gz, line 2: could not convert"),
        ({"graph-label": "1\n1,2\n0\n"}, {}, "line 2: expected 1 columns, found 2"),
        ({"graph-label": "1\n5\n0\n"}, {}, "5 does not fit the task 'labels'"),
        ({}, {"train": "7\n"}, "train.csv.gz must name graphs from 0 to 2"),
        ({}, {"train": "0\n0\n"}, "each once"),
        ({}, {"train": "1\n"}, "a graph is in two parts of the split"),
    ],
)
def test_files_that_are_broken(tmp_path, raw, split, message):
    write(tmp_path, raw={**RAW, **raw}, split={**SPLIT, **split})
    with pytest.raises(DatasetError, match=message):
        load("ogb:ogbg-molhiv", tmp_path)


def test_a_file_that_is_no_gz_or_too_large(tmp_path, monkeypatch):
    write(tmp_path)
    path = tmp_path / "ogbg_molhiv" / "raw" / "num-node-list.csv.gz"
    path.write_bytes(b"3\n2\n")
    with pytest.raises(DatasetError, match=r"num-node-list\.csv\.gz cannot be read"):
        load("ogb:ogbg-molhiv", tmp_path)
    write(tmp_path)
    monkeypatch.setattr("ifmixup.data.text_files.MAX_GZIP", 4)
    with pytest.raises(DatasetError, match="more than the 4 allowed"):
        load("ogb:ogbg-molhiv", tmp_path)
