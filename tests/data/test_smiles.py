import sys

import pytest

from ifmixup.data.dataset import NoGraphError
from ifmixup.data.smiles import ATOM_COLUMNS, BOND_COLUMNS, column_names, smiles_reader
from ifmixup.errors import MissingExtraError


@pytest.fixture(scope="module")
def read():
    with smiles_reader("element") as reader:
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
    with pytest.raises(NoGraphError, match=reason):
        read(smiles)
    assert capfd.readouterr().err == ""


def test_without_rdkit(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError, match=r"ifmixup\[chem\]"), smiles_reader():
        pass


def test_standard_features_written_out():
    with smiles_reader() as read:
        alanine, ion, alkene = map(read, ("C[C@H](N)C(=O)O", "[NH4+]", "F/C=C/Cl"))
    # element, degree, charge, hydrogens, chirality, hybridisation, aromatic, ring
    assert alanine.node_kinds[1] == (
        "C", "4", "0", "1", "tetrahedral_ccw", "sp3", "no", "no"
    )  # fmt: skip
    assert alanine.node_kinds[4] == ("O", "1", "0", "0", "unspecified", "sp2", "no", "no")
    assert alanine.x.shape == (6, 1)
    assert alanine.x[0, 0].item() == pytest.approx(0.12011)
    assert ion.node_kinds == [("N", "4", "1", "4", "unspecified", "sp3", "no", "no")]
    # order, stereo, conjugated, ring; both directions
    assert alkene.edge_kinds[2:4] == [("double", "e", "no", "no")] * 2
    assert alkene.edge_kinds[0] == ("single", "none", "no", "no")


def test_rings_and_conjugation():
    with smiles_reader() as read:
        benzene, cyclohexane = map(read, ("c1ccccc1", "C1CCCCC1"))
    assert set(benzene.node_kinds) == {("C", "3", "0", "1", "unspecified", "sp2", "yes", "yes")}
    assert set(benzene.edge_kinds) == {("aromatic", "none", "yes", "yes")}
    assert set(cyclohexane.edge_kinds) == {("single", "none", "no", "yes")}


def test_the_names_of_the_columns_fit():
    for features in ("standard", "element"):
        with smiles_reader(features) as read:
            graph = read("CC")
        nodes, edges = column_names(features)
        numbers = 0 if "x" not in graph else graph.x.size(1)
        assert len(graph.node_kinds[0]) + numbers == len(nodes)
        assert len(graph.edge_kinds[0]) == len(edges)
    assert column_names("standard") == (ATOM_COLUMNS, BOND_COLUMNS)
