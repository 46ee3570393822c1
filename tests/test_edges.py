import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.edges import (
    check_edge_index,
    check_edge_weight,
    edge_keys,
    edges_of_keys,
    merge_pair,
    shape_of,
    starts_of,
)
from ifmixup.errors import DatasetError, InputError

EDGES = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize("edges", [EDGES, EDGES.int(), EDGES.to(torch.uint8), EDGES[:, :0]])
def test_edges_that_are_right(edges):
    before = edges.clone()
    check_edge_index(edges, 3, where="Graph 7")
    check_edge_weight(torch.zeros(edges.size(1)), edges.size(1), where="Graph 7")
    assert torch.equal(edges, before)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (None, r"^Graph 7: edge_index must be integers of shape \[2, E\]; got NoneType\.$"),
        ([[0], [1]], "got list"),
        (EDGES[0], r"got int64 \[2\]"),
        (EDGES.t().repeat(2, 1), r"got int64 \[4, 2\]"),
        (EDGES.float(), r"got float32 \[2, 2\]"),
        (EDGES > 0, r"got bool \[2, 2\]"),
        (EDGES.to(torch.complex64), "got complex64"),
        (EDGES + 1, "names nodes from 1 to 3, but there are 3 nodes, numbered from 0 to 2"),
        (EDGES - 1, "names nodes from -1 to 1"),
    ],
)
def test_edges_that_are_wrong(edges, message):
    with pytest.raises(InputError, match=message):
        check_edge_index(edges, 3, where="Graph 7")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            torch.ones(3),
            r"^Graph 7: edge_weight must be floats of shape \[2\], one per edge; got f",
        ),
        (torch.ones(2, 1), r"got float32 \[2, 1\]"),
        (torch.ones(2).long(), r"got int64 \[2\]"),
        ([1.0, 1.0], "got list"),
        (torch.tensor([1, -0.5]), r"must be finite and not negative; edge 1 has -0\.5"),
        (torch.tensor([torch.nan, 1]), "edge 0 has nan"),
        (torch.tensor([1, torch.inf]), "edge 1 has inf"),
    ],
)
def test_weights_that_are_wrong(weights, message):
    with pytest.raises(InputError, match=message):
        check_edge_weight(weights, 2, where="Graph 7")


def test_shape():
    assert shape_of(torch.ones(5, 3)) == "float32 [5, 3]"


def test_keys_by_hand_and_back():
    one, other = torch.tensor([[0, 2, 1], [1, 0, 2]]), torch.tensor([[2], [2]])
    keys = edge_keys(3, one, other)
    assert keys.tolist() == [1, 6, 5, 8]
    assert torch.equal(edges_of_keys(keys, 3), torch.cat([one, other], 1))


def test_keys_of_large_graphs_do_not_overflow():
    n = 3_000_000_000
    edge = torch.tensor([[n - 1], [n - 2]])
    assert torch.equal(edges_of_keys(edge_keys(n, edge), n), edge)


@given(
    st.dictionaries(st.integers(0, 30), st.integers(1, 9), max_size=12),
    st.dictionaries(st.integers(0, 30), st.integers(1, 9), max_size=12),
)
def test_merging_adds_what_stands_twice(a, b):
    keys = torch.tensor([*a, *b], dtype=torch.long)
    values = torch.tensor([*a.values(), *b.values()], dtype=torch.float)
    merged, (total, rows) = merge_pair(keys, [values, values.view(-1, 1)])
    expected = {key: a.get(key, 0) + b.get(key, 0) for key in sorted(a | b)}
    assert dict(zip(merged.tolist(), total.tolist(), strict=True)) == expected
    assert merged.tolist() == list(expected)
    assert rows.shape == (len(expected), 1)


def test_where_each_node_begins():
    index = torch.tensor([0, 0, 2, 2, 2, 4])
    assert starts_of(index, 6).tolist() == [0, 2, 2, 5, 5, 6, 6]
    assert starts_of(index[:0], 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("edge_index", "message"),
    [
        ([[0], [1]], r"Graph 7: edge_index must be integers of shape \[2, E\]; got list"),
        (torch.tensor([[0], [3]]), "names nodes from 0 to 3, but there are 3 nodes.*0 to 2"),
        (torch.tensor([[-1], [0]]), "names nodes from -1 to 0"),
    ],
)
def test_edges_that_make_no_sense(edge_index, message):
    with pytest.raises(InputError, match=message):
        check_edge_index(edge_index, 3, where="Graph 7")
    with pytest.raises(DatasetError, match=message):
        check_edge_index(edge_index, 3, where="Graph 7", error=DatasetError)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_edges_of_any_integers(dtype):
    check_edge_index(torch.tensor([[0, 2], [1, 0]]).to(dtype), 3)
    check_edge_index(torch.empty(2, 0).to(dtype), 3)
