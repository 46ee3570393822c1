import time
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import ifmixup.data
from ifmixup.data import NAMES, load
from ifmixup.errors import DatasetError, InputError, InputTypeError


def test_the_public_names():
    assert ifmixup.data.__all__ == [
        "NAMES",
        "EdgeAttrToNodes",
        "FeatureEncoder",
        "GraphDataset",
        "Part",
        "Skipped",
        "feature_set",
        "from_networkx",
        "from_pyg",
        "load",
        "read_in_parts",
        "statistics",
    ]


def test_mutag_without_anything():
    dataset = load("MUTAG")
    assert repr(dataset) == "MUTAG(188)"
    assert (dataset.num_features, dataset.num_edge_features, dataset.num_classes) == (7, 4, 2)
    # The first compound: a chain of aromatic rings with a nitro group.
    first = dataset[0]
    assert first.num_nodes == 17
    assert first.num_edges == 38
    assert first.x.argmax(dim=1).tolist() == [0] * 14 + [1, 2, 2]
    assert first.edge_index[:, :4].tolist() == [[0, 0, 1, 1], [1, 5, 0, 2]]
    assert first.y.tolist() == [1]
    assert first.is_undirected()
    assert int(dataset.y.sum()) == 125
    assert (dataset.task, dataset.metric, dataset.class_names) == (
        "classes",
        "accuracy",
        ["-1", "1"],
    )
    assert dataset.ids[:3] == ["0", "1", "2"]
    assert (dataset.skipped, dataset.split) == ([], None)


def test_each_load_is_on_its_own():
    one, other = load("mutag"), load("MUTAG")
    one[0].x.zero_()
    assert other[0].x.sum() == 17


@pytest.mark.parametrize("where", ["zip", "TINY/raw", "TINY", "."])
def test_every_place(tmp_path, tiny, write_folder, write_zip, monkeypatch, where):
    if where == "zip":
        write_zip(tmp_path / "TINY.zip", tiny)
    else:
        write_folder(tmp_path / where, tiny)
    given = load("TINY", root=tmp_path)
    monkeypatch.setenv("IFMIXUP_DATA", str(tmp_path))
    named = load("TINY")
    for key, value in given[1]:
        assert torch.equal(named[1][key], value)
    before = set(tmp_path.rglob("*"))
    load("TINY")
    assert set(tmp_path.rglob("*")) == before  # nothing is written


def test_a_users_own_mutag_comes_before_ours(tmp_path, tiny, write_zip):
    write_zip(tmp_path / "MUTAG.zip", tiny, name="MUTAG")
    assert repr(load("MUTAG", tmp_path)) == "MUTAG(2)"


def test_a_path_is_not_a_name():
    with pytest.raises(DatasetError, match="cannot be the name of a dataset"):
        load("../MUTAG")


def test_a_name_comes_before_a_folder_and_a_folder_before_the_network(
    tmp_path, tiny, write_folder, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "MUTAG", tiny)
    write_folder(tmp_path / "mine", tiny)
    assert repr(load("MUTAG")) == "MUTAG(188)"
    assert repr(load("mutag")) == "MUTAG(188)"
    assert repr(load(Path("MUTAG"))) == "TINY(2)"
    assert repr(load("./MUTAG")) == "TINY(2)"
    assert repr(load("mine")) == "TINY(2)"
    with pytest.raises(DatasetError, match="There is no dataset 'other'"):
        load("other")


def test_a_home_folder(tmp_path, tiny, write_folder, monkeypatch):
    write_folder(tmp_path / "mine", tiny)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert repr(load("~/mine")) == "TINY(2)"


@pytest.mark.parametrize("name", ["here", "x.txt"])
def test_a_path_to_nothing_that_is_known(tmp_path, name):
    with pytest.raises(DatasetError, match=f"There is no .*{name}"):
        load(tmp_path / name)
    path = tmp_path / name
    path.write_text("x") if "." in name else path.mkdir()
    with pytest.raises(DatasetError, match=r"holds no graphs that are known: NAME_A\.txt"):
        load(path)


def test_a_dataset_that_is_loaded_already():
    dataset = load("MUTAG")
    assert load(dataset) is dataset
    assert load(dataset, encoder=dataset.encoder) is dataset


def test_a_dataset_that_is_loaded_already_is_asked_for_otherwise():
    dataset = load("MUTAG")
    other = load(dataset, metric="roc_auc", task="classes")
    assert (other.metric, dataset.metric, other.ids) == ("roc_auc", "accuracy", dataset.ids)
    assert load(dataset, metric="accuracy", task="classes") is dataset
    bare = load(dataset[5:8], labelled=False)
    assert (bare[0].y, len(bare), bare.ids) == (None, 3, ["5", "6", "7"])
    assert torch.equal(bare[1].x, dataset[6].x)
    assert dataset[0].y.tolist() == [1]
    assert load(bare, labelled=False) is bare


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"task": "values"}, "MUTAG is loaded already, so task='values' comes too late"),
        ({"label": "y"}, "so label='y' comes too late"),
        ({"identifier": "key"}, "so identifier='key' comes too late"),
        ({"metric": "mae"}, "'mae' does not fit the task 'classes'"),
        ({"task": "nothing"}, "task"),
    ],
)
def test_what_comes_too_late_for_a_dataset(option, message):
    with pytest.raises(InputError, match=message):
        load(load("MUTAG"), **option)


@pytest.mark.parametrize("source", [3, None, iter([])])
def test_what_is_no_source(source):
    with pytest.raises(InputTypeError, match="a PyG dataset or a list of graphs, not a"):
        load(source)


# graphs, nodes, directed edges, features, classes; each edge in both directions
SIZES = {
    "PTC_MR": (344, 4915, 10108, 18, 2),
    "NCI109": (4127, 122494, 265208, 38, 2),
    "NCI1": (4110, 122747, 265506, 37, 2),
    "MUTAG": (188, 3371, 7442, 7, 2),
    "ENZYMES": (600, 19580, 74564, 3, 6),
    "PROTEINS": (1113, 43471, 162088, 3, 2),
    "IMDB-MULTI": (1500, 19502, 197806, 89, 3),
    "IMDB-BINARY": (1000, 19773, 193062, 136, 2),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_eight(tu_source, name):
    source = tu_source(name)
    start = time.perf_counter()
    dataset = load(name, root=source.parent)
    assert time.perf_counter() - start < 5  # ten times what it takes, for a busy machine
    graphs = list(dataset)
    assert (
        len(graphs),
        sum(graph.num_nodes for graph in graphs),
        sum(graph.num_edges for graph in graphs),
        dataset.num_features,
        dataset.num_classes,
    ) == SIZES[name]
    assert {graph.num_features for graph in graphs} == {dataset.num_features}
    assert all(torch.equal(graph.x.sum(1), torch.ones(graph.num_nodes)) for graph in graphs)


def test_the_papers_short_names(tu_source):
    assert repr(load("IMDB-B", tu_source("IMDB-BINARY").parent)) == "IMDB-BINARY(1000)"
    assert repr(load("imdb-m", tu_source("IMDB-MULTI").parent)) == "IMDB-MULTI(1500)"


def test_an_empty_name_is_no_folder():
    with pytest.raises(InputError, match="name of the source is empty"):
        load("")


def test_a_list_that_mixes_kinds():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InputTypeError, match="item 1 is a Data"):
        load([networkx.path_graph(3), Data(x=torch.ones(1, 1))])
