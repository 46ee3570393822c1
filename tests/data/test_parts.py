from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data import FeatureEncoder, load
from ifmixup.data.dataset import GraphDataset
from ifmixup.data.parts import read_in_parts
from ifmixup.data.skipped import Skipped
from ifmixup.errors import DatasetError, InputError

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
    original = read_in_parts.__globals__["read_molecule"]

    def counted(row, *rest):
        read.append(row.line)
        return original(row, *rest)

    monkeypatch.setitem(read_in_parts.__globals__, "read_molecule", counted)
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
