import sys

import pytest

from ifmixup.data.smiles import BadSmilesError, smiles_reader
from ifmixup.errors import MissingExtraError


@pytest.fixture(scope="module")
def read():
    with smiles_reader() as reader:
        yield reader


def test_carbon_dioxide_written_out(read):
    graph = read("O=C=O")
    assert graph.num_nodes == 3
    assert graph.node_kinds == [("O",), ("C",), ("O",)]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_kinds == [("double",)] * 4
    assert graph.is_undirected()


def test_bonds(read):
    assert set(read("c1ccccc1C#N").edge_kinds) == {("aromatic",), ("single",), ("triple",)}


@pytest.mark.parametrize(("smiles", "atoms"), [("C", ["C"]), ("[Na+].[Cl-]", ["Na", "Cl"])])
def test_without_bonds(read, smiles, atoms):
    graph = read(smiles)
    assert graph.edge_index.shape == (2, 0)
    assert graph.edge_kinds == []
    assert graph.node_kinds == [(atom,) for atom in atoms]


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("XX", "not SMILES"),
        ("C1CC", "not SMILES"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
        ("", "no SMILES"),
        ("  ", "no SMILES"),
        ("C" * 10_001, "longer than the 10000 characters"),
    ],
)
def test_what_is_no_molecule_says_why_and_nothing_on_stderr(read, capfd, smiles, reason):
    with pytest.raises(BadSmilesError, match=reason):
        read(smiles)
    assert capfd.readouterr().err == ""


def test_without_rdkit(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError, match=r"ifmixup\[chem\]"), smiles_reader():
        pass
