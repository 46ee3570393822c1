import pytest
import torch

from ifmixup.data import parallel_smiles
from ifmixup.data.parallel_smiles import parse_all

pytest.importorskip("rdkit")

SMILES = [f"{'C' * (1 + i % 7)}O" if i % 5 else "nonsense" for i in range(60)]


@pytest.mark.parametrize("features", ["standard", "element"])
def test_several_processes_give_the_same_in_order(monkeypatch, features):
    alone = list(parse_all(SMILES, features))
    monkeypatch.setattr(parallel_smiles, "AT_ONCE", 7)
    monkeypatch.setattr(parallel_smiles, "_cores", lambda: 2)
    together = list(parse_all(iter(SMILES), features))
    assert len(together) == 60
    for one, other in zip(alone, together, strict=True):
        if isinstance(one, str):
            assert one == other == "not SMILES"
        else:
            assert torch.equal(one.edge_index, other.edge_index)
            assert one.node_kinds == other.node_kinds
            assert one.edge_kinds == other.edge_kinds


def test_it_reads_only_a_little_ahead(monkeypatch):
    monkeypatch.setattr(parallel_smiles, "AT_ONCE", 5)
    monkeypatch.setattr(parallel_smiles, "_cores", lambda: 2)
    read = []
    found = parse_all((read.append(i) or "CC" for i in range(1000)), "element")
    next(found)
    assert len(read) <= 5 * 6
    found.close()
