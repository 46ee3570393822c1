"""A molecule as a graph: atoms are nodes, bonds are edges in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch_geometric.data import Data

from ifmixup.errors import import_extra

MAX_SMILES = 10_000
"""The longest SMILES, in characters."""

NODE_NAMES = ("element",)
EDGE_NAMES = ("bond",)


class BadSmilesError(ValueError):
    """A text that is no molecule; the message says why."""


@contextmanager
def smiles_reader() -> Iterator[Callable[[str], Data]]:
    """A function from SMILES to graphs; RDKit's messages to stderr are silent meanwhile.

    A node carries the symbol of its element and nothing else: one category a node is what keeps
    the features linearly independent and mixing lossless. An edge carries the type of its bond.
    Hydrogens are there only where the SMILES writes them as atoms of their own.
    """
    chem = import_extra("rdkit.Chem", "chem")
    base = import_extra("rdkit.rdBase", "chem")
    with base.BlockLogs():
        yield lambda smiles: _graph(chem, smiles)


def _graph(chem: Any, smiles: str) -> Data:
    if len(smiles) > MAX_SMILES:
        raise BadSmilesError(f"longer than the {MAX_SMILES} characters allowed")
    if not smiles.strip():
        raise BadSmilesError("no SMILES")
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise BadSmilesError(_problem(chem, smiles))
    # By number: RDKit's own iterators are Python code, and slower.
    atoms = [(molecule.GetAtomWithIdx(i).GetSymbol(),) for i in range(molecule.GetNumAtoms())]
    if not atoms:
        raise BadSmilesError("a molecule without atoms")
    ends, kinds = [], []
    for i in range(molecule.GetNumBonds()):
        bond = molecule.GetBondWithIdx(i)
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += [(one, other), (other, one)]
        kinds += [(bond.GetBondType().name.lower(),)] * 2
    return Data(
        edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).t().contiguous(),
        num_nodes=len(atoms),
        node_kinds=atoms,
        edge_kinds=kinds,
    )


def _problem(chem: Any, smiles: str) -> str:
    """Why RDKit refuses a SMILES."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return "not SMILES"
    problems = chem.DetectChemistryProblems(molecule)
    return problems[0].Message().strip() if problems else "RDKit cannot make a molecule of it"
