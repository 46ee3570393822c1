"""What a source says of its graphs besides: rows, SMILES and other columns."""

import networkx
import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.errors import DatasetError, InputError
from ifmixup.training.packed import PackedDataset, pack

TABLE = "smiles,label,split\nCCO,1,train\nXX,0,train\nc1ccccc1,0,val\nCCN,1,test\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(TABLE)
    return str(path)


def test_a_table_keeps_its_smiles_and_the_columns_that_are_asked_for(table):
    plain = load(table)
    assert (plain.rows.columns, plain.smiles) == ({}, ["CCO", "c1ccccc1", "CCN"])
    rows = load(table, columns="split").rows
    assert rows.columns == {"split": ["train", "val", "test"]}
    assert list(rows.index) == [0, 2, 3]  # row 1 was skipped
    with pytest.raises(DatasetError, match=r"no column 'part'\. Its columns: smiles, label, split"):
        load(table, columns=["part"])


def test_they_are_no_part_of_the_data_and_stay_with_a_selection(table):
    kept, plain = load(table, columns=["split"]), load(table)
    assert pack(kept).fingerprint == pack(plain).fingerprint
    for part in (kept[1:], kept.copy([1, 2])):
        assert part.rows.columns == {"split": ["val", "test"]}
        assert part.smiles == ["c1ccccc1", "CCN"]
        assert list(part.rows.index) == [2, 3]
    packed = pack(kept[1:])
    assert packed.rows.columns == {"split": ["val", "test"]}
    assert PackedDataset.of(packed.to_dict()).rows is None  # workers need none of it


def test_a_loaded_dataset_has_the_columns_it_was_loaded_with(table):
    kept = load(table, columns=["split"])
    assert load(kept, columns=["split"]) is kept
    with pytest.raises(InputError, match=r"without its column 'label'.*columns=\['label'\]"):
        load(kept, columns="label")


def test_attributes_of_graphs_are_columns():
    edge = torch.tensor([[0], [1]])
    own = [Data(x=torch.eye(2), edge_index=edge, y=torch.tensor([i]), lab=f"L{i}") for i in (0, 1)]
    assert load(own, columns=["lab"]).rows.columns == {"lab": ["L0", "L1"]}
    with pytest.raises(DatasetError, match="no attribute 'team'"):
        load(own, columns=["team"])
    graphs = [networkx.path_graph(3) for _ in range(2)]
    for i, graph in enumerate(graphs):
        graph.graph.update(label=i, lab=i + 5)
    graphs[1].graph.pop("lab")
    assert load(graphs, columns=["lab"]).rows.columns == {"lab": ["5", ""]}


def test_columns_of_a_folder_of_graphs(tmp_path):
    for name in "ab":
        networkx.write_graphml(networkx.path_graph(3), tmp_path / f"{name}.graphml")
    (tmp_path / "labels.csv").write_text("file,label,part\na,0,train\nb,1,test\n")
    found = load(tmp_path, label="label", columns=["part"])
    assert found.rows.columns == {"part": ["train", "test"]}


def test_other_sources_have_none():
    assert load("MUTAG").smiles is None
    with pytest.raises(DatasetError, match="MUTAG has no column 'split'"):
        load("MUTAG", columns="split")
