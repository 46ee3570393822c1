import io
import os

import pytest
import torch
from rich.console import Console
from torch_geometric.data import Data

from ifmixup.data import NAMES, load
from ifmixup.data.catalog import VARIABLE, find
from ifmixup.paper.dataset_table import HEAD, dataset_rows, graph_sizes, rich_table, sizes_table

FOLDER = os.environ.get(VARIABLE)


def test_what_agrees_with_the_paper_stands_once(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows, missing = dataset_rows()
    assert rows == [("MUTAG", "188", "17.9", "39.6", "7", "2")]
    assert len(rows[0]) == len(HEAD)
    assert set(missing) == set(NAMES) - {"MUTAG"}
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table())
    text = console.file.getvalue()
    assert "188" in text
    assert "Not on this machine, or damaged: PTC_MR" in text


def test_a_damaged_file_does_not_hide_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "PTC_MR.zip").write_bytes(b"no zip")
    rows, missing = dataset_rows()
    assert [row[0] for row in rows] == ["MUTAG"]
    assert "PTC_MR" in missing


@pytest.mark.skipif(
    not FOLDER or any(find(name, FOLDER) is None for name in NAMES),
    reason="needs IFMIXUP_DATA to name a folder with the paper's eight datasets",
)
def test_what_differs_from_the_paper_stands_beside_it():
    rows, missing = dataset_rows()
    assert not missing
    found = {row[0]: row[1:] for row in rows}
    differing = {(name, cell) for name, row in found.items() for cell in row if "(" in cell}
    assert differing == {
        ("PTC_MR", "344 (334)"),
        ("IMDB-MULTI", "131.9 (65.9)"),
        ("IMDB-MULTI", "89 (–)"),
        ("IMDB-BINARY", "193.1 (96.5)"),
        ("IMDB-BINARY", "136 (–)"),
    }


def test_mixing_only_makes_graphs_larger():
    sizes = graph_sizes(load("MUTAG"))
    assert sizes.nodes.shape == sizes.mixed_edges.shape == (188,)
    assert (sizes.mixed_nodes >= sizes.nodes).all()
    assert (sizes.mixed_edges >= sizes.edges).all()
    assert sizes.nodes.double().mean().item() == load("MUTAG").x.size(0) / 188
    again = graph_sizes(load("MUTAG"))
    assert torch.equal(again.mixed_nodes, sizes.mixed_nodes)


def test_the_table_has_a_line_for_each_count():
    assert sizes_table("MUTAG", graph_sizes(load("MUTAG"))).row_count == 4


def test_a_graph_without_edges_counts_none():
    class Few(list):
        num_classes = 2

    graph = Data(
        x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([0])
    )
    sizes = graph_sizes(Few([graph, graph]))
    assert sizes.edges.tolist() == sizes.mixed_edges.tolist() == [0, 0]
