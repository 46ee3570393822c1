"""NodeSam: one node split and two merged, against sets of edges; what is drawn, by frequency."""

import os
from collections import Counter
from math import sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_undirected

from ifmixup.augment import NodeSam
from ifmixup.augment.nodesam import BOTH, MOVES, STAYS, SplitMergePlan, _draw_merged
from ifmixup.batch import from_batch
from ifmixup.data import load
from ifmixup.graphs import select
from strategies import graphs


def sam(seed: int = 0, **options) -> NodeSam:
    return NodeSam(generator=torch.Generator().manual_seed(seed), **options)


def undirected(n: int, *pairs: tuple[int, int]) -> Data:
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return Data(x=torch.eye(n), edge_index=to_undirected(edges, num_nodes=n))


def plan_of(node: int, half: list[int], merged: tuple[int, int]) -> SplitMergePlan:
    return SplitMergePlan(torch.tensor([node]), torch.tensor(half), torch.tensor([merged]))


def split_then_merge(data: Data, node: int, half: list[int], merged: tuple[int, int]):
    """The same with sets: the edges, and the two nodes that each node's features come from."""
    n = data.num_nodes
    edges = set()
    for i, j in data.edge_index.T.tolist():
        other = j if i == node else i
        side = half[other] if (i == node) != (j == node) else STAYS
        if side in (STAYS, BOTH):
            edges.add((i, j))
        if side in (MOVES, BOTH):
            edges.add((n if i == node else i, n if j == node else j))
    edges |= {(node, n), (n, node)}
    winner, loser = merged
    place = {n: loser if loser < n else winner, loser: winner}
    made_of = {i: (i, i) for i in range(n)}
    if loser < n:
        made_of[loser] = (node, node)
        place[n] = loser
    made_of[winner] = (winner, loser if loser < n else node)
    kept = set()
    for i, j in edges:
        if {i, j} != {winner, loser}:
            kept.add((place.get(i, i), place.get(j, j)))
    return kept, made_of


class TestSplitAndMerge:
    def test_by_hand(self):
        """A triangle 0 1 2 with a tail 2 – 3; 2 is split, and its half is merged with 3.

        0 stays with 2, 1 goes to both halves and 3 to the new one, which takes the place of 3.
        """
        data = undirected(4, (0, 1), (0, 2), (1, 2), (2, 3))
        out = sam().augment(data, plan_of(2, [STAYS, BOTH, 0, MOVES], (0, 3)))
        # split: 0-1 0-2 1-2 1-4 2-4 3-4; then 3 becomes 0 and 4 becomes 3
        expected = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        assert [e for e in map(tuple, out.edge_index.T.tolist()) if e[0] < e[1]] == expected
        assert out.x.tolist() == [[0.5, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]

    def test_splitting_and_merging_the_halves_again_changes_nothing(self):
        data = undirected(4, (0, 1), (0, 2), (1, 2), (2, 3))
        for half in ([0, 1, 0, 1], [2, 2, 0, 0], [1, 1, 1, 1]):
            out = sam().augment(data, plan_of(2, half, (2, 4)))
            assert torch.equal(out.edge_index, data.edge_index)
            assert torch.equal(out.x, data.x)

    def test_common_neighbours_become_one(self):
        data = undirected(3, (0, 1), (0, 2), (1, 2))
        out = sam().augment(data, plan_of(0, [0, 0, 0], (1, 2)))  # 0 - 3 is the new edge
        assert out.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]

    @settings(max_examples=100)
    @given(
        data=st.lists(graphs(max_nodes=7), min_size=1, max_size=4),
        seed=st.integers(0, 10_000),
    )
    def test_any_graph_against_sets(self, data, seed):
        method = sam(seed)
        batch = Batch.from_data_list([Data(x=g.x, edge_index=g.edge_index) for g in data])
        plan = method.plan(batch)
        out = method.augment(batch, plan)
        assert torch.equal(out.ptr, batch.ptr)  # as many nodes, in every graph
        for g, graph in enumerate(data):
            first, count = int(batch.ptr[g]), graph.num_nodes
            merged = [
                count if each >= batch.num_nodes else each - first
                for each in plan.merged[g].tolist()
            ]
            edges, made_of = split_then_merge(
                graph,
                int(plan.node[g]) - first,
                plan.half[first : first + count].tolist(),
                tuple(merged),
            )
            assert sorted(edges) == list(map(tuple, out[g].edge_index.T.tolist()))
            expected = [(graph.x[i] + graph.x[j]) / 2 for i, j in map(made_of.get, range(count))]
            assert torch.equal(out[g].x, torch.stack(expected))

    def test_other_attributes(self):
        data = undirected(3, (0, 1), (1, 2))
        data.edge_attr = torch.tensor([1, 1, 2, 2])
        data.atom = torch.tensor([6, 7, 8])
        # 1 is split; 2 goes to the new half, which stays, in the place of 1 after 0 and 1 merge
        out = sam().augment(data, plan_of(1, [0, 0, 1], (0, 1)))
        assert out.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
        assert out.edge_attr.tolist() == [1, 1, 2, 2]  # the new edge has what 0 - 1 had
        assert out.atom.tolist() == [6, 7, 8]
        alone = Data(x=torch.ones(1, 1), edge_index=torch.zeros(2, 0).long())
        alone.edge_weight, alone.edge_attr = torch.zeros(0), torch.zeros(0, 2)
        out = sam()(Batch.from_data_list([alone]))
        assert out.num_edges == 0
        assert out.edge_attr.shape == (0, 2)


class TestDrawing:
    def test_a_neighbour_in_a_triangle_goes_to_both_halves_as_often_as_published(self):
        """In the complete graph of 4 nodes c = 1, n = (√31 − 1) / 2 and k = 3."""
        data = [undirected(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))] * 4000
        plan = sam().plan(Batch.from_data_list(data))
        half = plan.half.view(-1, 4)
        others = torch.ones_like(half, dtype=torch.bool)
        others[torch.arange(4000), plan.node % 4] = False
        drawn = half[others]
        p = (sqrt(31) - 1) / 2 / 3
        assert (drawn == BOTH).float().mean().item() == pytest.approx(p, abs=0.015)  # 4 σ
        moves = (drawn == MOVES).float().mean().item()
        assert moves == pytest.approx((1 - p) / 2, abs=0.013)

    def test_without_triangles_or_adjustment_a_coin_decides(self):
        ring = undirected(4, (0, 1), (1, 2), (2, 3), (0, 3))
        full = undirected(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
        for plan in (
            sam().plan(Batch.from_data_list([ring] * 500)),
            sam(adjustment=False).plan(Batch.from_data_list([full] * 500)),
        ):
            assert set(plan.half.tolist()) == {STAYS, MOVES}

    def test_every_node_is_split_and_every_edge_merged_as_often(self):
        """The path 0 – 1 – 2 has 3 edges after the split, whatever the coins say."""
        count = 9000
        plan = sam().plan(Batch.from_data_list([undirected(3, (0, 1), (1, 2))] * count))
        node = plan.node - 3 * torch.arange(count)
        for each in range(3):
            assert abs(int((node == each).sum()) - 3000) < 4 * sqrt(count * 2 / 9)
        halves = (plan.merged[:, 1] >= 3 * count) & (plan.merged[:, 0] == plan.node)
        assert abs(int(halves.sum()) - 3000) < 4 * sqrt(count * 2 / 9)
        ends = plan.merged - 3 * torch.arange(count).unsqueeze(1)
        new = plan.merged[:, 1] >= 3 * count
        whole = [tuple(e) for e, n in zip(ends.tolist(), new.tolist(), strict=True) if not n]
        assert set(Counter(whole)) == {(0, 1), (1, 2)}

    def test_the_copies_of_an_edge_that_both_halves_have_count_too(self):
        """A triangle: 0 is split, and both 1 and 2 go to both halves: 6 edges, all as likely."""
        data = Batch.from_data_list([undirected(3, (0, 1), (0, 2), (1, 2))])
        whole = from_batch(data)
        draws = torch.linspace(0, 1, 12001)[:-1]
        many = select(whole, torch.zeros(12000, dtype=torch.long))
        start = 3 * torch.arange(12000)
        merged = _draw_merged(many, start, torch.full((36000,), BOTH), draws)
        local = torch.where(merged >= 36000, 3, merged - start.unsqueeze(1))
        found = Counter(map(tuple, local.tolist()))
        pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        assert found.keys() == set(pairs)
        assert all(abs(each - 2000) <= 3 for each in found.values())


@pytest.mark.parametrize(
    "name",
    ["MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "NCI1", "NCI109", "IMDB-BINARY", "IMDB-MULTI"],
)
def test_the_number_of_edges_stays_on_average(name):
    """Within 1 % of the edges; a mean outside would pass with a probability of 0.1 % at most."""
    if name != "MUTAG" and not os.environ.get("IFMIXUP_DATA"):
        pytest.skip(f"{name} is not bundled: point IFMIXUP_DATA at a folder of TU zips")
    data = [Data(x=graph.x, edge_index=graph.edge_index) for graph in load(name)]
    method, repeats = sam(), 60_000 // len(data)
    whole = method._prepare(from_batch(Batch.from_data_list(data)))
    changes = []
    for _ in range(repeats):
        out = method.change(whole, method.draw(whole))
        assert torch.equal(out.node_ptr, whole.node_ptr)  # the number of nodes stays exactly
        changes.append((out.edge_counts - whole.edge_counts).float() / 2)
    change = torch.stack(changes)
    # The graphs are given; only the draws are random.
    error = 3.1 * sqrt(float(change.var(0).mean()) / change.numel())
    edges = float(whole.edge_counts.float().mean()) / 2
    assert abs(float(change.mean())) + error < 0.01 * edges
