"""SMILES to graphs: atoms are nodes, bonds are edges in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch_geometric.data import Data

from ifmixup.data.dataset import NoGraphError
from ifmixup.data.encoder import FeatureEncoder
from ifmixup.errors import import_extra, unknown_name

MAX_SMILES = 10_000  # characters

FEATURES = ("standard", "element")
"""What is read of atoms and bonds: all of the columns below, or elements and orders only."""

ATOM_COLUMNS = (
    "element", "degree", "charge", "hydrogens", "chirality", "hybridisation", "aromatic", "ring",
    "mass",
)  # fmt: skip
BOND_COLUMNS = ("bond", "stereo", "conjugated", "ring")

_NUMBERS = [str(i) for i in range(32)]  # a text is made once
_YES_NO = ("no", "yes")


def check_features(features: str | None, encoder: FeatureEncoder | None = None) -> str:
    """``features`` if there are such; by default what a given ``encoder`` was learned on, else
    the standard ones.
    """
    if features is not None and features not in FEATURES:
        raise unknown_name("features", str(features), FEATURES)
    if features is None and encoder is not None:
        return "element" if [column.name for column in encoder.nodes] == ["element"] else "standard"
    return features or "standard"


def column_names(features: str) -> tuple[Sequence[str], Sequence[str]]:
    """The names of the columns of nodes and of edges."""
    if features == "element":
        return ATOM_COLUMNS[:1], BOND_COLUMNS[:1]
    return ATOM_COLUMNS, BOND_COLUMNS


@contextmanager
def smiles_reader(features: str = "standard") -> Iterator[Callable[[str], Data]]:
    """A function from SMILES to graphs; RDKit's messages to stderr are silent meanwhile.

    The ``standard`` features are those of the field. Of an atom: element, degree (hydrogens
    included), formal charge, number of hydrogens, chirality, hybridisation, whether it is aromatic
    and in a ring (categories), and its mass in units of 100 u (a number). Of a bond: its order
    (single, double, triple, aromatic, ...), stereo, whether it is conjugated and in a ring.

    With ``element`` a node has the symbol of its element and nothing else, and an edge the order of
    its bond: with one category per node the features are linearly independent and mixing is
    lossless. Hydrogens are nodes only where the SMILES writes them as atoms.
    """
    check_features(features)
    chem = import_extra("rdkit.Chem", "chem")
    base = import_extra("rdkit.rdBase", "chem")
    with base.BlockLogs():
        yield lambda smiles: _graph(_molecule(chem, smiles), features)


def _molecule(chem: Any, smiles: str) -> Any:
    if len(smiles) > MAX_SMILES:
        raise NoGraphError(f"longer than the {MAX_SMILES} characters allowed")
    if not smiles.strip():
        raise NoGraphError("no SMILES")
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise NoGraphError(_problem(chem, smiles))
    if not molecule.GetNumAtoms():
        raise NoGraphError("a molecule without atoms")
    return molecule


def _graph(molecule: Any, features: str) -> Data:
    # By number: RDKit's own iterators are Python code, and slower.
    atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]
    standard = features == "standard"
    ends, bonds = [], []
    for i in range(molecule.GetNumBonds()):
        bond = molecule.GetBondWithIdx(i)
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += [(one, other), (other, one)]
        bonds += [_bond(bond) if standard else (_order(bond),)] * 2
    graph = Data(
        edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).t().contiguous(),
        num_nodes=len(atoms),
        node_kinds=[_atom(atom) if standard else (atom.GetSymbol(),) for atom in atoms],
        edge_kinds=bonds,
    )
    if standard:
        graph.x = torch.tensor([[atom.GetMass() / 100] for atom in atoms])
    return graph


def _atom(atom: Any) -> tuple[str, ...]:
    """The categories of an atom, in the order of :data:`ATOM_COLUMNS`."""
    return (
        atom.GetSymbol(),
        _number(atom.GetTotalDegree()),
        _number(atom.GetFormalCharge()),
        _number(atom.GetTotalNumHs()),
        atom.GetChiralTag().name.removeprefix("CHI_").lower(),
        atom.GetHybridization().name.lower(),
        _YES_NO[atom.GetIsAromatic()],
        _YES_NO[atom.IsInRing()],
    )


def _bond(bond: Any) -> tuple[str, ...]:
    """The categories of a bond, in the order of :data:`BOND_COLUMNS`."""
    stereo = bond.GetStereo().name.removeprefix("STEREO").lower()
    return _order(bond), stereo, _YES_NO[bond.GetIsConjugated()], _YES_NO[bond.IsInRing()]


def _order(bond: Any) -> str:
    name: str = bond.GetBondType().name
    return name.lower()


def _number(value: int) -> str:
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else str(value)


def _problem(chem: Any, smiles: str) -> str:
    """Why RDKit refuses a SMILES."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return "not SMILES"
    problems = chem.DetectChemistryProblems(molecule)
    return problems[0].Message().strip() if problems else "RDKit cannot make a molecule of it"
