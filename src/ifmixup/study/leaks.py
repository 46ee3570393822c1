"""The same molecule, or the same graph, in two parts of a fold: counted, and said."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ifmixup.errors import import_extra
from ifmixup.graphs import Graphs
from ifmixup.study.group_splits import molecules_of
from ifmixup.study.splits import Splits
from ifmixup.training.packed import PackedDataset

MAX_SMILES = 100_000  # molecules: about 20 s of RDKit; beyond, graphs are compared instead
_ROUNDS = 4
_NODES_AT_ONCE = 200_000  # numbers of so many nodes stay in the cache of a processor


def leaks(data: PackedDataset, splits: Splits) -> list[str]:
    """What to say of test graphs that are in another part of their fold too; often nothing.

    Molecules with SMILES are the same if their canonical SMILES are; other graphs if their
    :func:`graph_hash` is.
    """
    smiles = data.rows is not None and data.rows.smiles is not None and len(data) <= MAX_SMILES
    same = canonical_numbers(data) if smiles else graph_hash(data.graphs).cpu().numpy()
    _, number = np.unique(same, return_inverse=True)
    if number.max(initial=0) + 1 == len(data):
        return []
    what = "molecule (by canonical SMILES)" if smiles else "graph (by its Weisfeiler-Leman hash)"
    known = np.zeros(number.max() + 1, dtype=bool)
    counts = np.zeros(2, dtype=int)  # leaking, in all
    folds = {fold.fingerprint: fold for fold in splits.folds}.values()
    for fold in folds:
        known[:] = False
        known[number[list(fold.train)]] = True
        known[number[list(fold.validation)]] = True
        test = number[list(fold.test)]
        counts += (known[test].sum(), len(test))
    if not counts[0]:
        return []
    where = "one split" if len(folds) == 1 else f"{len(folds)} folds"
    return [
        f"Leak: {counts[0]} of {counts[1]} test graphs ({100 * counts[0] / counts[1]:.1f} %, over "
        f"{where}) are also in the training or validation part, as the same {what}."
    ]


def canonical_numbers(data: PackedDataset) -> np.ndarray:
    """A number for each molecule: the same for the same canonical SMILES, stereo included."""
    chem = import_extra("rdkit.Chem", "chem")
    with molecules_of(data) as molecules:
        texts = np.array([chem.MolToSmiles(each) for each in molecules], dtype=object)
    return np.unique(texts.astype(str), return_inverse=True)[1]


def graph_hash(graphs: Graphs) -> Tensor:
    r"""A number ``[B]`` for each graph, the same for graphs that differ only in the order of nodes.

    It is a hash of Weisfeiler-Leman colours: a node's colour starts as a hash of its features, and
    in each of four rounds becomes

    .. math:: c_i \leftarrow h\big(c_i + \textstyle\sum_j h(c_j + e_{ij})\big)

    over its neighbours, with a hash :math:`e_{ij}` of the edge's weight and attributes. The graph's
    is the sum of the colours. Sums are of 64-bit integers, and so the same in any order. Graphs
    that these colours cannot tell apart, such as some regular ones, count as the same.
    """
    ptr = graphs.node_ptr
    found = []
    first = 0
    while first < graphs.num_graphs:
        # The largest number of whole graphs below the limit, but at least one.
        limit = ptr[first] + _NODES_AT_ONCE
        last = max(first + 1, int(torch.searchsorted(ptr, limit, right=True)) - 1)
        found.append(_hash(graphs, first, last))
        first = last
    return torch.cat(found)


def _hash(graphs: Graphs, first: int, last: int) -> Tensor:
    """The hashes of the graphs from ``first`` to before ``last``."""
    nodes = slice(int(graphs.node_ptr[first]), int(graphs.node_ptr[last]))
    edges = slice(int(graphs.edge_ptr[first]), int(graphs.edge_ptr[last]))
    source, target = graphs.edge_index[:, edges] - nodes.start
    colour = hash_rows([value[nodes] for _, value in sorted(graphs.nodes.items())], target)
    edge = hash_rows([value[edges] for _, value in sorted(graphs.edge_attributes.items())], target)
    for _ in range(_ROUNDS):
        told = mix(colour[source] + edge)
        colour = mix(colour + torch.zeros_like(colour).index_add_(0, target, told))
    counts = graphs.node_counts[first:last]
    graph = torch.repeat_interleave(counts, output_size=nodes.stop - nodes.start)
    return mix(mix(counts).index_add_(0, graph, mix(colour)))


def hash_rows(levels: list[Tensor], like: Tensor) -> Tensor:
    """A hash for each row of some attributes of the same nodes or edges; 0 where there are none."""
    total = like.new_zeros(())
    for number, value in enumerate(levels):
        rows = value.reshape(len(value), -1)
        # -0.0 and 0.0 are the same number in other bits.
        bits = (rows.float() + 0.0).view(torch.int32).long()
        column = torch.arange(1, rows.size(1) + 1, device=rows.device)
        total = total + mix((bits * mix(column + 7919 * number)).sum(1) + number)
    return total


def mix(value: Tensor) -> Tensor:
    """Spread the bits of 64-bit integers (the finaliser of SplitMix64, with arithmetic shifts)."""
    value = (value ^ (value >> 30)) * -4658895280553007687
    value = (value ^ (value >> 27)) * -7723592293110705685
    return value ^ (value >> 31)
