import time

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data import load
from ifmixup.graphs import Graphs, permute_nodes, pointers
from ifmixup.study.choose_split import choose_splits
from ifmixup.study.leaks import graph_hash, leaks
from ifmixup.study.split_files import as_splits
from ifmixup.training.packed import pack


def ring(order, x=None, attributes=None, weight=None, y=0):
    """A ring through the nodes in an order."""
    here = torch.tensor(order)
    there = here.roll(-1)
    size = len(order)
    found = Data(
        x=torch.eye(size, 6) if x is None else x,
        edge_index=torch.stack([torch.cat([here, there]), torch.cat([there, here])]),
        y=torch.tensor([y]),
    )
    if attributes is not None:
        found.edge_attr = torch.tensor(attributes * 2).view(-1, 1)
    if weight is not None:
        found.edge_weight = torch.tensor(weight * 2)
    return found


def hashes(*graphs):
    return graph_hash(pack(list(graphs)).graphs).tolist()


def test_the_order_of_nodes_makes_no_difference():
    mutag = pack(load("MUTAG")).graphs
    generator = torch.Generator().manual_seed(0)
    order = torch.cat(
        [
            start + torch.randperm(int(count), generator=generator)
            for start, count in zip(mutag.node_ptr, mutag.node_counts, strict=False)
        ]
    )
    assert torch.equal(graph_hash(mutag), graph_hash(permute_nodes(mutag, order)))
    assert graph_hash(mutag).unique().numel() == 188


def test_features_edges_attributes_and_weights_do():
    plain = torch.ones(5, 1)
    one, other = hashes(ring(range(5)), ring([0, 2, 1, 3, 4]))
    assert one != other  # other neighbours
    one, other = hashes(ring(range(5), plain), ring([0, 2, 1, 3, 4], plain))
    assert one == other  # the same ring
    one, other = hashes(ring(range(5), plain), ring(range(5), 2 * plain))
    assert one != other
    one, other = hashes(ring(range(5), plain), ring(range(5), -0.0 * plain + 1))
    assert one == other
    one, other = hashes(
        ring(range(4), plain[:4], [1.0, 2.0, 1.0, 2.0]),
        ring(range(4), plain[:4], [1.0, 1.0, 2.0, 2.0]),
    )
    assert one != other
    one, other = hashes(
        ring(range(4), plain[:4], weight=[0.5, 1.0, 0.5, 1.0]),
        ring(range(4), plain[:4], weight=[0.5, 0.5, 1.0, 1.0]),
    )
    assert one != other


def test_targets_do_not():
    one, other = hashes(ring(range(5), y=0), ring(range(5), y=1))
    assert one == other


def test_graphs_are_hashed_in_parts(monkeypatch):
    mutag = pack(load("MUTAG")).graphs
    whole = graph_hash(mutag)
    for size in (1, 100):
        monkeypatch.setattr("ifmixup.study.leaks._NODES_AT_ONCE", size)
        assert torch.equal(graph_hash(mutag), whole)


def test_the_same_graph_in_two_parts_is_counted():
    sizes = [3, 4, 5, 6, 3, 4]
    data = pack([ring(range(n), torch.ones(n, 1), y=i % 2) for i, n in enumerate(sizes)])
    splits = as_splits({"train": [0, 1], "val": [2], "test": [3, 4, 5]}, data)
    (said,) = leaks(data, splits)
    assert said == (
        "Leak: 2 of 3 test graphs (66.7 %, over one split) are also in the training or "
        "validation part, as the same graph (by its Weisfeiler-Leman hash)."
    )
    assert leaks(data, as_splits({"train": [0, 4, 1, 5], "val": [2], "test": [3]}, data)) == []
    both = [{"train": [0, 1], "val": [2], "test": [4]}, {"train": [2], "val": [4, 1], "test": [5]}]
    (said,) = leaks(data, as_splits(both, data, repeats=3))
    assert said.startswith("Leak: 2 of 2 test graphs (100.0 %, over 2 folds)")


@pytest.fixture
def molecules(tmp_path):
    # the first and the last three are the same three molecules; the stereo isomers are two
    smiles = ["c1ccccc1O", "CCO", "F[C@H](Cl)Br", "CCC", "CCN", "CCCC", "CNC", "CC", "CO", "CN"]
    smiles += ["F[C@@H](Cl)Br", "Oc1ccccc1", "OCC", "Br[C@H](F)Cl"]
    path = tmp_path / "m.csv"
    path.write_text("smiles,label\n" + "".join(f"{s},{i % 2}\n" for i, s in enumerate(smiles)))
    return pack(load(str(path)))


def test_the_same_molecule_however_it_is_written(molecules):
    split = {"train": list(range(8)), "val": [8, 9], "test": [10, 11, 12, 13]}
    splits = choose_splits(molecules, split)
    assert splits.notes == (
        "Leak: 3 of 4 test graphs (75.0 %, over one split) are also in the training or "
        "validation part, as the same molecule (by canonical SMILES).",
    )


def test_very_many_molecules_are_compared_as_graphs(molecules, monkeypatch):
    monkeypatch.setattr("ifmixup.study.leaks.MAX_SMILES", 5)
    split = {"train": list(range(8)), "val": [8, 9], "test": [11, 12]}
    (said,) = choose_splits(molecules, split).notes
    assert said.endswith("as the same graph (by its Weisfeiler-Leman hash).")


def test_it_is_quick():
    count, nodes = 20_000, 20
    node = torch.arange(count * nodes)
    there = node - node % nodes + (node + 1) % nodes
    graphs = Graphs(
        {"x": torch.rand(count * nodes, 10)},
        {"edge_index": torch.cat([torch.stack([node, there]), torch.stack([there, node])], 1)},
        {},
        pointers(torch.full((count,), nodes)),
        pointers(torch.full((count,), 2 * nodes)),
    )
    edges = graphs.edge_index[0].argsort(stable=True)
    graphs.edges["edge_index"] = graphs.edge_index[:, edges]
    start = time.process_time()
    assert graph_hash(graphs).unique().numel() == count
    assert time.process_time() - start < 2.4  # a million graphs: two minutes on a slow machine
