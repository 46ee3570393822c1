import pytest
import torch

from ifmixup.data import load, molecules, table_cache
from ifmixup.training.packed import pack

pytest.importorskip("rdkit")

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "not smiles", "C1CCCCC1N", "N#CC"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("IFMIXUP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "m.csv"
    path.write_text(
        "smiles,label,group\n" + "".join(f"{s},{i % 2},{i}\n" for i, s in enumerate(SMILES))
    )
    return path


def forbid(monkeypatch):
    def parse(*_, **__):
        raise AssertionError("it is parsed again")

    monkeypatch.setattr(molecules, "molecules_in", parse)


def test_the_second_time_nothing_is_parsed(table, tmp_path, monkeypatch):
    first = load(str(table), columns=["group"])
    assert len(list((tmp_path / "cache" / "tables").iterdir())) == 1
    forbid(monkeypatch)
    again = load(str(table), columns=["group"])
    assert pack(again).fingerprint == pack(first).fingerprint
    assert again.ids == first.ids
    assert again.skipped == first.skipped
    assert len(again.skipped) == 1
    assert again.encoder == first.encoder
    assert again.rows.smiles == first.rows.smiles
    assert again.rows.columns == first.rows.columns
    assert (again.name, again.task, again.metric) == (first.name, first.task, first.metric)
    assert again.class_names == first.class_names
    for one, other in zip(first, again, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.y, other.y)


def test_other_content_or_options_are_read(table, monkeypatch):
    load(str(table))
    assert load(str(table), features="element").num_features < load(str(table)).num_features
    table.write_text(table.read_text().replace("CCO", "CCN"))
    assert load(str(table)).rows.smiles[0] == "CCN"
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="again"):
        load(str(table), task="values")


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_broken_file_is_read_from_its_source(table, tmp_path, content):
    first = load(str(table))
    (kept,) = (tmp_path / "cache" / "tables").iterdir()
    kept.write_bytes(kept.read_bytes()[:-200] if content is None else content)
    assert pack(load(str(table))).fingerprint == pack(first).fingerprint
    assert kept.stat().st_size > 500


def test_it_can_be_off_and_is_bounded(table, tmp_path, monkeypatch):
    monkeypatch.setattr(table_cache, "MOST_BYTES", 1)
    load(str(table))
    load(str(table), features="element")
    assert len(list((tmp_path / "cache" / "tables").iterdir())) == 1
    monkeypatch.setenv("IFMIXUP_CACHE", "off")
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="again"):
        load(str(table))
