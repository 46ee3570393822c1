import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import ifmixup.data
from ifmixup.data import NAMES, FeatureEncoder, load, smiles
from ifmixup.data.dataset import GraphDataset, Skipped
from ifmixup.data.load import read_in_parts
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
    with pytest.raises(DatasetError, match=r"holds no known kind of graphs: NAME_A\.txt"):
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
        ({"task": "values"}, "MUTAG has already been loaded, so task='values' has no effect"),
        ({"label": "y"}, "so label='y' has no effect"),
        ({"identifier": "key"}, "so identifier='key' has no effect"),
        ({"metric": "mae"}, "'mae' does not fit the task 'classes'"),
        ({"task": "nothing"}, "task"),
    ],
)
def test_what_comes_too_late_for_a_dataset(option, message):
    with pytest.raises(InputError, match=message):
        load(load("MUTAG"), **option)


@pytest.mark.parametrize("source", [3, None, iter([])])
def test_what_is_no_source(source):
    with pytest.raises(InputTypeError, match="a DataFrame or a list of SMILES, not a"):
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


TABLE = """\
name,SMILES
a,CCO
b,not a molecule
"c
c",O
d
e,c1ccccc1
"""


@pytest.fixture
def table(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "molecules.csv"
    path.write_text(TABLE)
    return str(path)


def test_a_table_in_parts(table):
    parts = list(read_in_parts(table, 2, identifier="name"))
    assert [part.ids for part in parts] == [["a", "b"], ["c\nc", "3"], ["e"]]
    assert [part.problems for part in parts] == [
        [None, "not SMILES"],
        [None, "expected 2 columns, found 1"],
        [None],
    ]
    assert [[graph.num_nodes for graph in part.graphs] for part in parts] == [[3], [1], [6]]
    assert [len(part) for part in parts] == [2, 2, 1]


def test_rows_are_counted_without_an_identifier(table):
    (part,) = read_in_parts(f"{table}:SMILES", 100)
    assert part.ids == ["0", "1", "2", "3", "4"]


def test_no_more_is_read_than_asked_for(table, monkeypatch):
    read = []
    original = smiles._molecule

    def counted(chem, text):
        read.append(text)
        return original(chem, text)

    monkeypatch.setattr(smiles, "_molecule", counted)
    parts = read_in_parts(table, 2)
    next(parts)
    assert len(read) == 2


def test_strict_stops(table):
    with pytest.raises(DatasetError, match="line 3: 'not a molecule': not SMILES"):
        list(read_in_parts(table, 10, strict=True))


def test_parquet(tmp_path):
    pytest.importorskip("rdkit")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "molecules.parquet"
    parquet.write_table(pyarrow.table({"smiles": ["CC", None, "O"], "n": [5, 6, 7]}), path)
    (part,) = read_in_parts(str(path), 10, identifier="n")
    assert part.ids == ["5", "6", "7"]
    assert part.problems == [None, "no SMILES", None]


def test_other_sources_are_cut():
    mutag = load("MUTAG")
    parts = list(read_in_parts("MUTAG", 100, encoder=mutag.encoder))
    assert [len(part) for part in parts] == [100, 88]
    assert parts[1].ids[0] == "100"
    assert parts[1].encoder == mutag.encoder
    assert torch.equal(parts[1].graphs[0].x, mutag[100].x)
    assert "y" not in parts[0].graphs[0]


def test_what_was_skipped_stands_where_it_was(monkeypatch):
    graphs = [Data(x=torch.ones(n, 1), edge_index=torch.empty(2, 0).long()) for n in (1, 2, 3)]
    skipped = [Skipped(4, "four", "broken"), Skipped(1, "one", "no nodes")]
    made = GraphDataset.of(
        "made", graphs, ids=["two", "three", "five"], skipped=skipped, encoder=None
    )
    monkeypatch.setitem(read_in_parts.__globals__, "load", lambda *_, **__: made)
    (part,) = read_in_parts("somewhere", 10)
    assert part.ids == ["one", "two", "three", "four", "five"]
    assert part.problems == ["no nodes", None, None, "broken", None]
    assert [graph.num_nodes for graph in part.graphs] == [1, 2, 3]


def test_what_was_skipped_is_called_as_the_others_are(tmp_path):
    pytest.importorskip("networkx")
    for name, text in {
        "a": '{"nodes": [{"id": 0}], "links": []}',
        "b": "{",
        "c": '{"nodes": [], "links": []}',
        "d": '{"nodes": [], "links": [], "graph": {"key": "four"}}',
    }.items():
        (tmp_path / f"{name}.json").write_text(text)
    (part,) = read_in_parts(str(tmp_path), 10)
    assert part.ids == ["a", "b", "c", "d"]
    assert [problem is None for problem in part.problems] == [True, False, False, False]
    (part,) = read_in_parts(str(tmp_path), 10, identifier="key")
    assert part.ids == ["a", "b", "c", "four"]
    assert [one.text for one in load(tmp_path, labelled=False).skipped] == [
        *("b.json", "c.json", "d.json"),
    ]


def test_a_table_in_the_home_folder(table, monkeypatch):
    monkeypatch.setenv("HOME", str(Path(table).parent))
    assert len(next(read_in_parts("~/molecules.csv", 10))) == 5


def test_parts_of_nothing():
    with pytest.raises(InputError, match="at least 1 row; got 0"):
        next(read_in_parts("MUTAG", 0, encoder=FeatureEncoder(())))


def test_optional_and_slow_packages_are_not_imported_before_they_are_needed():
    code = (
        "import sys, torch_geometric.data\n"
        "before = set(sys.modules)\n"
        "import ifmixup.data\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "ifmixup" in loaded
    assert not loaded & {"scipy", "sklearn", "pandas", "rdkit", "networkx", "ogb", "pyarrow"}
