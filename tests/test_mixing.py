import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.utils import to_undirected

from ifmixup import IfmixupError, mix, mix_batch, recover
from ifmixup.batch import from_batch
from ifmixup.errors import InputError
from ifmixup.graphs import Graphs, is_undirected
from ifmixup.mixing import check_features, check_mixable, mix_pairs
from ifmixup.recovery import recover_structure
from small_graphs import batch_of
from strategies import CLASSES, dense_edges, graphs, inner_ratios, padded, ratios


def triangle() -> Data:
    edges = [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    return Data(x=torch.eye(2)[[0, 0, 1]], edge_index=torch.tensor(edges), y=torch.tensor([0]))


def edge() -> Data:
    return Data(
        x=torch.eye(2)[[1, 1]], edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([2])
    )


def mixed_edges(data: Data) -> dict[tuple[int, int], float]:
    pairs = [tuple(pair) for pair in data.edge_index.T.tolist()]
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, data.edge_weight.tolist(), strict=True))


def test_three_nodes_with_two_by_hand():
    mixed = mix(triangle(), edge(), 0.75, num_classes=3)
    assert mixed.x.tolist() == [[0.75, 0.25], [0.75, 0.25], [0.0, 0.75]]  # node 2 met a dummy node
    once = dict.fromkeys([(0, 2), (1, 2), (2, 0), (2, 1)], 0.75)
    assert mixed_edges(mixed) == {(0, 1): 1.0, (1, 0): 1.0, **once}
    assert mixed.y.tolist() == [[0.75, 0.0, 0.25]]


def test_the_first_graph_is_padded_too():
    mixed = mix(edge(), triangle(), 0.75, num_classes=3)
    assert mixed.x.tolist() == [[0.25, 0.75], [0.25, 0.75], [0.0, 0.25]]
    assert mixed_edges(mixed)[(0, 2)] == 0.25


@given(graphs(), graphs(), ratios)
def test_mix_is_the_dense_formula(a, b, lam):
    mixed = mix(a, b, lam, num_classes=CLASSES)
    n = max(a.num_nodes, b.num_nodes)
    rest = 1 - lam
    torch.testing.assert_close(mixed.x, lam * padded(a.x, n) + rest * padded(b.x, n))
    torch.testing.assert_close(
        dense_edges(mixed, n), lam * dense_edges(a, n) + rest * dense_edges(b, n)
    )
    one_hot = torch.eye(CLASSES)
    torch.testing.assert_close(mixed.y, lam * one_hot[a.y] + rest * one_hot[b.y])
    assert (mixed.edge_weight > 0).all()


@given(graphs(weighted=True), graphs(weighted=True), inner_ratios)
def test_weights_are_mixed(a, b, lam):
    mixed = mix(a, b, lam, num_classes=CLASSES)
    n = max(a.num_nodes, b.num_nodes)
    expected = lam * dense_edges(a, n) + (1 - lam) * dense_edges(b, n)
    torch.testing.assert_close(dense_edges(mixed, n), expected)


def test_a_graph_without_weights_has_weight_one():
    a = edge()
    a.edge_weight = torch.tensor([0.5, 0.5])
    assert mixed_edges(mix(a, edge(), 0.25, num_classes=3)) == {(0, 1): 0.875, (1, 0): 0.875}


@given(graphs(), graphs())
def test_ratio_one_is_the_first_graph_and_zero_the_partner(a, b):
    n = max(a.num_nodes, b.num_nodes)
    for lam, graph in ((1.0, a), (0.0, b)):
        mixed = mix(a, b, lam, num_classes=CLASSES)
        assert torch.equal(mixed.x, padded(graph.x, n))
        assert torch.equal(dense_edges(mixed, n), dense_edges(graph, n))
        assert mixed.y.argmax(1) == graph.y


class TestNodeWeight:
    """How much of a node exists: Algorithm 1 on a column of ones, or on the input's own weights."""

    def test_three_nodes_with_two_by_hand(self):
        assert mix(triangle(), edge(), 0.75, num_classes=3).node_weight.tolist() == [1, 1, 0.75]
        assert mix(edge(), triangle(), 0.75, num_classes=3).node_weight.tolist() == [1, 1, 0.25]

    @given(graphs(), graphs(), ratios)
    def test_it_is_the_dense_formula(self, a, b, lam):
        mixed = mix(a, b, lam, num_classes=CLASSES)
        n = mixed.num_nodes
        ones = [padded(torch.ones(graph.num_nodes, 1), n).view(-1) for graph in (a, b)]
        torch.testing.assert_close(mixed.node_weight, lam * ones[0] + (1 - lam) * ones[1])
        assert mixed.node_weight[: min(a.num_nodes, b.num_nodes)].eq(1).all()  # to the last bit

    @given(graphs(), graphs())
    def test_ratio_one_is_the_first_graph_with_nodes_of_weight_zero(self, a, b):
        mixed = mix(a, b, 1.0, num_classes=CLASSES)
        n = a.num_nodes
        assert mixed.node_weight.tolist() == [1.0] * n + [0.0] * (mixed.num_nodes - n)
        assert torch.equal(mixed.x[:n], a.x)
        assert not mixed.x[n:].any()
        assert not mixed.edge_index.numel() or mixed.edge_index.max() < n

    def test_equal_sizes_give_ones_to_the_last_bit(self):
        lam = torch.rand(1000, generator=torch.Generator().manual_seed(0))
        batch = Batch.from_data_list([edge()] * 1000)
        assert mix_batch(batch, batch, lam, num_classes=3).node_weight.eq(1).all()

    def test_the_inputs_own_weights_are_mixed(self):
        a, b = triangle(), edge()
        a.node_weight = torch.tensor([1.0, 0.5, 0.0])
        mixed = mix(a, b, 0.75, num_classes=3)
        assert mixed.node_weight.tolist() == [1.0, 0.625, 0.0]  # those of b are 1
        swapped = mix(b, a, 0.25, num_classes=3)
        assert torch.equal(swapped.node_weight, mixed.node_weight)
        batch = mix_batch(as_batch(b), as_batch(a), torch.tensor([0.25]), num_classes=3)
        assert torch.equal(batch.node_weight, mixed.node_weight)

    def test_mixing_twice_is_mixing_three(self):
        twice = mix(mix(triangle(), edge(), 0.5, num_classes=3), edge(), 0.5, num_classes=3)
        assert twice.node_weight.tolist() == [1.0, 1.0, 0.25]

    def test_it_has_the_dtype_of_x(self):
        a, b = triangle(), edge()
        a.x, b.x, a.node_weight = a.x.double(), b.x.double(), torch.ones(3)
        assert mix(a, b, 0.3, num_classes=3).node_weight.dtype == torch.float64
        batch = mix_batch(as_batch(a), as_batch(b), torch.tensor([0.3]), num_classes=3)
        assert batch.node_weight.dtype == torch.float64

    def test_its_shape(self):
        a = with_(triangle(), node_weight=torch.ones(3, 1))
        with pytest.raises(
            InputError, match=r"node_weight must have the shape \[N\]; got \[3, 1\]"
        ):
            mix(a, edge(), 0.5, num_classes=3)


@given(graphs(), graphs(), ratios)
def test_swapping_the_pair_and_the_ratio_gives_the_same_graph(a, b, lam):
    one, other = mix(a, b, lam, num_classes=CLASSES), mix(b, a, 1 - lam, num_classes=CLASSES)
    torch.testing.assert_close(one.x, other.x)
    torch.testing.assert_close(one.y, other.y)
    n = one.num_nodes
    torch.testing.assert_close(dense_edges(one, n), dense_edges(other, n))


@given(graphs(), graphs(), inner_ratios, st.randoms(use_true_random=False))
def test_node_permutation_commutes(a, b, lam, random):
    small, large = sorted((a.num_nodes, b.num_nodes))
    order = list(range(small))
    random.shuffle(order)

    def permuted(graph):
        full = torch.tensor(order + list(range(small, graph.num_nodes)))
        return permuted_nodes(graph, full)

    mixed = permuted_nodes(
        mix(a, b, lam, num_classes=CLASSES), torch.tensor(order + list(range(small, large)))
    )
    other = mix(permuted(a), permuted(b), lam, num_classes=CLASSES)
    assert torch.equal(mixed.x, other.x)
    assert torch.equal(dense_edges(mixed, large), dense_edges(other, large))


def permuted_nodes(graph: Data, order: torch.Tensor) -> Data:
    out = graph.clone()
    out.x, out.edge_index = graph.x[order], order.argsort()[graph.edge_index]
    return out


@given(st.lists(st.tuples(graphs(), graphs(), ratios), min_size=1, max_size=5))
def test_a_batch_is_mixed_as_its_pairs_are(pairs):
    a, b = (Batch.from_data_list([pair[side] for pair in pairs]) for side in (0, 1))
    lam = torch.tensor([pair[2] for pair in pairs])
    batch = mix_batch(a, b, lam, num_classes=CLASSES)
    loose = mix_batch(a, b, lam, num_classes=CLASSES, coalesce=False)
    assert torch.equal(batch.x, loose.x)
    assert torch.equal(batch.batch, Batch.from_data_list(batch.to_data_list()).batch)
    for i, (one, other, ratio) in enumerate(pairs):
        expected = mix(one, other, ratio, num_classes=CLASSES)
        for key in ("x", "node_weight", "edge_index", "edge_weight", "y"):
            assert torch.equal(batch[i][key], expected[key]), key
        n = expected.num_nodes
        assert torch.equal(dense_edges(loose[i], n), dense_edges(expected, n))


def loose_pairs(pairs: list[tuple[Data, Data, float]]) -> Graphs:
    """The pairs mixed, with the edges of both graphs side by side."""
    pool = from_batch(Batch.from_data_list([graph for pair in pairs for graph in pair[:2]]))
    first = 2 * torch.arange(len(pairs))
    lam = torch.tensor([pair[2] for pair in pairs])
    return mix_pairs(
        check_mixable(pool, num_classes=CLASSES), first, first + 1, lam, coalesce=False
    )


def test_edges_side_by_side_by_hand():
    mixed = loose_pairs([(triangle(), edge(), 0.75)])
    assert mixed.edge_index.tolist() == [[0, 0, 0, 1, 1, 1, 2, 2], [1, 2, 1, 0, 2, 0, 0, 1]]
    weights = [0.75, 0.75, 0.25, 0.75, 0.75, 0.25, 0.75, 0.75]
    assert mixed.edges["edge_weight"].tolist() == weights
    assert is_undirected(mixed)


@given(st.lists(st.tuples(graphs(), graphs(), ratios), min_size=1, max_size=4))
def test_edges_side_by_side_are_sorted_by_source(pairs):
    mixed = loose_pairs(pairs)
    assert (mixed.edge_index[0].diff() >= 0).all()
    # which the edges of each graph are too, as those of a batch
    assert torch.equal(mixed.edge_graph, mixed.node_graph[mixed.edge_index[0]])
    assert torch.equal(mixed.edge_graph, mixed.node_graph[mixed.edge_index[1]])


@pytest.mark.parametrize("edge_attr", [False, True])
@given(data=st.data())
def test_mirrored_graphs_give_mirrored_mixtures(edge_attr, data):
    some = graphs(weighted=True, edge_attr=edge_attr)
    pairs = data.draw(st.lists(st.tuples(some, some, ratios), min_size=1, max_size=4))
    mixed = loose_pairs([(undirected(a), undirected(b), lam) for a, b, lam in pairs])
    assert is_undirected(mixed)


def undirected(graph: Data) -> Data:
    names = [name for name in ("edge_weight", "edge_attr") if name in graph]
    values = [graph[name] for name in names]
    edge_index, values = to_undirected(graph.edge_index, values, graph.num_nodes, reduce="add")
    changed = dict(zip(names, values, strict=True))
    return Data(**{**graph.to_dict(), "edge_index": edge_index, **changed})


@given(graphs(edge_attr=True), graphs(edge_attr=True), inner_ratios)
def test_edge_attributes_mix_like_features(a, b, lam):
    mixed = mix(a, b, lam, num_classes=CLASSES)
    n = mixed.num_nodes

    def dense(graph):
        # the mean over repeated edges, zero where there is no edge
        total, count = torch.zeros(n, n, 2), torch.zeros(n, n, 1)
        index = tuple(graph.edge_index)
        total.index_put_(index, graph.edge_attr, accumulate=True)
        count.index_put_(index, torch.ones(1), accumulate=True)
        return total / count.clamp(min=1)

    torch.testing.assert_close(dense(mixed), lam * dense(a) + (1 - lam) * dense(b))
    # A model may not be linear in edge attributes: an edge occurs once whatever was asked for.
    loose = mix_batch(
        *map(as_batch, (a, b)), torch.tensor([lam]), num_classes=CLASSES, coalesce=False
    )
    assert torch.equal(loose.edge_index, mixed.edge_index)
    assert torch.equal(loose.edge_attr, mixed.edge_attr)


def as_batch(graph: Data) -> Batch:
    return Batch.from_data_list([graph])


def test_an_edge_of_one_graph_keeps_its_share_of_attributes():
    a, b = triangle(), edge()
    a.edge_attr, b.edge_attr = torch.full((6,), 2.0), torch.full((2,), 4.0)
    mixed = mix(a, b, 0.75, num_classes=3)
    attr = dict(zip(map(tuple, mixed.edge_index.T.tolist()), mixed.edge_attr.tolist(), strict=True))
    assert attr[(0, 1)] == 0.75 * 2 + 0.25 * 4
    assert attr[(0, 2)] == 0.75 * 2


def test_other_float_node_attributes_interpolate_and_graph_attributes_stay_behind():
    a, b = triangle(), edge()
    a.pos, b.pos = torch.ones(3, 2), torch.full((2, 2), 3.0)
    a.name = b.name = "a molecule"
    mixed = mix(a, b, 0.5, num_classes=3)
    assert mixed.pos.tolist() == [[2, 2], [2, 2], [0.5, 0.5]]
    assert "name" not in mixed


def test_integer_attributes_are_refused_by_name_or_dropped():
    a, b = triangle(), edge()
    a.ring, b.ring = torch.tensor([1, 1, 1]), torch.tensor([0, 0])
    with pytest.raises(ValueError, match=r"'ring' is torch.int64.*One-hot.*drop=\['ring'\]"):
        mix(a, b, 0.5, num_classes=3)
    assert "ring" not in mix(a, b, 0.5, num_classes=3, drop=["ring"])


@pytest.mark.parametrize(
    ("y_a", "y_b", "expected"),
    [
        (torch.tensor([[1.0, math.nan]]), torch.tensor([[0.0, 1.0]]), [[0.75, 1.0]]),
        (torch.tensor([[math.nan, 2.0]]), torch.tensor([[math.nan] * 2]), [[math.nan, 2.0]]),
        (torch.tensor([2.0]), torch.tensor([4.0]), [2.5]),
        (torch.tensor(2.0), torch.tensor(4.0), [2.5]),
        (torch.tensor([0]), torch.tensor([[0.5, 0.5, 0.0]]), [[0.875, 0.125, 0.0]]),
        (torch.tensor([[1]]), torch.tensor(2), [[0.0, 0.75, 0.25]]),
        (torch.tensor([2.0, 4.0]), torch.tensor([4.0, 0.0]), [[2.5, 3.0]]),
    ],
)
def test_labels(y_a, y_b, expected):
    a, b = triangle(), edge()
    a.y, b.y = y_a, y_b
    y = mix(a, b, 0.75, num_classes=3).y
    torch.testing.assert_close(y, torch.tensor(expected), equal_nan=True)


def test_without_labels_there_is_no_label():
    a, b = triangle(), edge()
    del a.y, b.y
    assert mix(a, b, 0.5).y is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_dtype_is_kept(dtype):
    a, b = triangle(), edge()
    a.x, b.x = a.x.to(dtype), b.x.to(dtype)
    mixed = mix(a, b, 0.75, num_classes=3)
    assert (mixed.x.dtype, mixed.edge_weight.dtype, mixed.y.dtype) == (dtype,) * 3
    assert mixed.x[0].tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(not present, reason=f"there is no {name} device here"),
        )
        for name, present in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
        )
    ],
)
def test_device_is_kept(device):
    a, b = triangle().to(device), edge().to(device)
    mixed = mix(a, b, 0.75, num_classes=3)
    expected = mix(triangle(), edge(), 0.75, num_classes=3)
    for key in ("x", "edge_index", "edge_weight", "y"):
        assert mixed[key].device.type == device
        torch.testing.assert_close(mixed[key].cpu(), expected[key])


def test_no_tensor_is_made_on_the_default_device():
    """A tensor without a device is on meta here, and computing with it and others fails."""
    a, b, lam = as_batch(triangle()), as_batch(edge()), torch.tensor([0.75])
    with torch.device("meta"):
        batch = mix_batch(a, b, lam, num_classes=3)
        loose = mix_batch(a, b, lam, num_classes=3, coalesce=False)
        single = mix(a[0], b[0], 0.75, num_classes=3)
        recover(single)
        recover_structure(batch[0])
    for mixed in (batch, loose, single):
        tensors = [value for _, value in mixed if isinstance(value, torch.Tensor)]
        assert {value.device.type for value in tensors} == {"cpu"}


def test_the_input_is_not_changed():
    a, b = Batch.from_data_list([triangle(), edge()]), Batch.from_data_list([edge(), triangle()])
    before = [(dict(batch.clone().to_dict()), list(batch.keys())) for batch in (a, b)]
    mix_batch(a, b, torch.tensor([0.3, 1.0]), num_classes=3, drop=["y"])
    for batch, (values, keys) in zip((a, b), before, strict=True):
        assert list(batch.keys()) == keys
        assert all(torch.equal(batch[key], values[key]) for key in keys)


def test_weights_of_a_common_edge_sum_to_exactly_one_in_float32():
    generator = torch.Generator().manual_seed(0)
    lam = torch.rand(1000, generator=generator)
    batch = Batch.from_data_list([edge()] * 1000)
    assert mix_batch(batch, batch, lam, num_classes=3).edge_weight.eq(1).all()


def with_(graph: Data, **changes) -> Data:
    for key, value in changes.items():
        graph[key] = value
    return graph


HETERO = HeteroData()


@pytest.mark.parametrize(
    ("a", "kind", "message"),
    [
        (
            with_(triangle(), x=torch.ones(3, 5)),
            ValueError,
            r"'x' has a different width.*\[5\] and \[2\]",
        ),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3), ValueError, "no node features x"),
        (Data(x=torch.ones(0, 2)), ValueError, "has no nodes"),
        (
            with_(triangle(), x=torch.ones(3, 2).long()),
            ValueError,
            "must be floats.*int64.*One-hot",
        ),
        (with_(triangle(), x=torch.ones(3)), ValueError, r"shape \[N, d\]"),
        (
            with_(triangle(), edge_index=torch.tensor([[0], [3]])),
            ValueError,
            "numbered from 0 to 2",
        ),
        (with_(triangle(), edge_index=torch.tensor([[-1], [0]])), ValueError, "from -1 to 0"),
        (with_(triangle(), edge_index=torch.ones(3, 2).long()), ValueError, r"shape \[2, E\]"),
        (with_(triangle(), y=torch.tensor([3])), ValueError, "label 3 is out of range.*0 to 2"),
        (with_(triangle(), y=torch.tensor([-1])), ValueError, "label -1 is out of range"),
        (with_(triangle(), y=torch.tensor([1, 0])), ValueError, "2 integers for 1 graphs"),
        (with_(triangle(), y=None), ValueError, "Only one of the two graphs has 'y'"),
        (with_(triangle(), y=torch.ones(1, 2)), ValueError, "'y' has a different width"),
        (with_(triangle(), x=torch.full((3, 2), math.nan)), ValueError, "'x' of graph 0.*finite"),
        (with_(triangle(), edge_weight=torch.tensor([1.0] * 5 + [math.inf])), ValueError, "finite"),
        (with_(triangle(), edge_weight=torch.ones(6, 1)), ValueError, r"shape \[E\]; got \[6, 1\]"),
        (with_(triangle(), edge_attr=torch.ones(6, 2)), ValueError, "Only one.*has 'edge_attr'"),
        (
            with_(triangle(), edge_weight=torch.ones(5)),
            ValueError,
            "edge_weight has 5 rows, but .* 6",
        ),
        (
            with_(triangle(), edge_attr=torch.ones(3, 1)),
            ValueError,
            "edge_attr has 3 rows, but .* 6",
        ),
        (Data(x=torch.ones(2, 2), adj_t=torch.eye(2)), ValueError, "sparse matrix.*ToSparseTensor"),
        (HETERO, TypeError, "HeteroData.*to_homogeneous"),
        ("a graph", TypeError, "Expected a PyG Data.*str"),
    ],
)
def test_bad_graphs(a, kind, message):
    with pytest.raises(kind, match=message) as error:
        mix(a, edge(), 0.5, num_classes=3)
    assert isinstance(error.value, IfmixupError)


@pytest.mark.parametrize("lam", [-0.1, 1.1, math.nan, math.inf])
def test_ratio_out_of_range(lam):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]; got"):
        mix(triangle(), edge(), lam, num_classes=3)


def test_class_numbers_need_num_classes():
    with pytest.raises(ValueError, match="num_classes="):
        mix(triangle(), edge(), 0.5)


@pytest.mark.parametrize("lam", [torch.tensor([0.5]), torch.tensor(0.5), 0.5])
def test_one_ratio_per_pair_is_needed(lam):
    batch = Batch.from_data_list([triangle(), edge()])
    with pytest.raises(ValueError, match=r"one λ per pair, shape \[2\]"):
        mix_batch(batch, batch, lam, num_classes=3)


def test_batches_of_different_length():
    a, b = Batch.from_data_list([triangle(), edge()]), Batch.from_data_list([edge()])
    with pytest.raises(ValueError, match="2 graphs and the second 1"):
        mix_batch(a, b, torch.tensor([0.5]), num_classes=3)


def test_features_that_are_not_finite_are_named_with_their_index_in_the_batch():
    batch = Batch.from_data_list(
        [triangle(), with_(edge(), x=torch.tensor([[0, 1], [0, math.inf]]))]
    )
    with pytest.raises(ValueError, match="'x' of graph 1 in the batch"):
        mix_batch(batch, batch, torch.tensor([0.5, 0.5]), num_classes=3)


def test_large_but_finite_features_are_no_error():
    big = torch.finfo(torch.float32).max
    a = with_(edge(), x=torch.tensor([[big, big], [big, 0.0]]))
    assert mix(a, a, 0.5, num_classes=3).x[0, 0] == big


def test_different_devices():
    with pytest.raises(ValueError, match="different devices: cpu and meta"):
        mix(edge(), edge().to("meta"), 0.5, num_classes=3)


def test_numbers_of_32_bits_do_not_overflow():
    n = 60_000
    a = Data(x=torch.ones(n, 1), edge_index=torch.tensor([[n - 1, 5], [n - 2, n - 1]]).int())
    mixed = mix(a, a, 0.75)
    assert mixed.edge_index.tolist() == [[5, n - 1], [n - 1, n - 2]]


def test_an_edge_of_weight_zero_stays_whatever_the_other_pairs_are():
    a = with_(edge(), edge_weight=torch.tensor([0.0, 1.0]))
    batch = Batch.from_data_list([a, with_(edge(), edge_weight=torch.ones(2))])
    for shares in ([0.75, 0.75], [0.75, 1.0]):
        mixed = mix_batch(batch, batch, torch.tensor(shares), num_classes=3)
        assert mixed[0].edge_index.tolist() == mix(a, a, 0.75, num_classes=3).edge_index.tolist()


def test_a_missing_label_without_a_share_is_no_matter():
    a, b = with_(edge(), y=torch.tensor([[1.0]])), with_(edge(), y=torch.tensor([[math.nan]]))
    assert mix(a, b, 1.0).y.tolist() == [[1.0]]
    pair = (Batch.from_data_list([a, a]), Batch.from_data_list([b, b]))
    mixed = mix_batch(*pair, torch.tensor([1.0, 0.5]))
    assert mixed.y.tolist() == [[1.0], [1.0]]
    assert mixed.y_weight.tolist() == [[1.0], [0.5]]
    assert mix(b, b, 0.5).y.isnan().all()


@pytest.mark.parametrize("lam", [None, "0.5"])
def test_a_ratio_is_a_number(lam):
    with pytest.raises(TypeError, match="λ must be a number"):
        mix(edge(), edge(), lam, num_classes=3)


def test_node_attributes_of_any_shape():
    a, b = triangle(), edge()
    a.frame, b.frame = torch.ones(3, 2, 2).transpose(1, 2), torch.zeros(2, 2, 2)
    a.charge, b.charge = torch.ones(3), torch.zeros(2)
    single = mix(a, b, 0.75, num_classes=3)
    batch = mix_batch(as_batch(a), as_batch(b), torch.tensor([0.75]), num_classes=3)
    assert torch.equal(single.frame, torch.full((3, 2, 2), 0.75))
    assert torch.equal(batch.frame, single.frame)
    assert torch.equal(batch.charge, single.charge)


def test_labels_of_mixable_graphs_are_rows_and_other_graph_attributes_go():
    batch = batch_of(2, 3)
    graphs = from_batch(batch)
    found = check_mixable(graphs, num_classes=4)
    assert set(found.graphs) == {"y"}
    assert found.graphs["y"].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert graphs.graphs["name"] == batch.name == ["path 2", "path 3"]  # the input is not changed
    assert graphs.graphs["y"].tolist() == batch.y.tolist() == [2, 3]


def test_what_is_dropped_is_not_checked():
    batch = batch_of(2, 3)
    batch.number = torch.arange(5)
    graphs = from_batch(batch)
    with pytest.raises(InputError, match=r"'number' is torch.int64"):
        check_mixable(graphs, num_classes=4)
    assert "number" not in check_mixable(graphs, ["number"], 4).nodes
    assert "y" not in check_mixable(graphs, ["number", "y"]).graphs
    assert "edge_attr" not in check_mixable(graphs, ["number", "edge_attr"], 4).edges
    assert set(graphs.nodes) == {"x", "number"}  # the input is not changed
    assert set(graphs.edges) == {"edge_index", "edge_attr"}
    assert set(graphs.graphs) == {"y", "name"}


def test_repeated_edges_count_once():
    batch = batch_of(2)
    batch.edge_index, batch.edge_attr = torch.tensor([[0, 0], [1, 1]]), torch.tensor([2.0, 4.0])
    graphs = from_batch(batch)
    found = check_mixable(graphs, num_classes=3)
    assert found.edge_index.tolist() == [[0], [1]]
    assert found.edges["edge_attr"].tolist() == [3.0]
    assert graphs.edge_index.tolist() == [[0, 0], [1, 1]]  # the input is not changed
    assert graphs.edges["edge_attr"].tolist() == [2.0, 4.0]


def test_edges_come_out_sorted():
    batch = batch_of(3)
    batch.edge_index = torch.tensor([[2, 0], [0, 1]])
    found = check_mixable(from_batch(batch), num_classes=4)
    assert found.edge_index.tolist() == [[0, 2], [1, 0]]
    assert found.edges["edge_attr"].tolist() == [11.0, 10.0]
    assert check_mixable(found).edge_index is found.edge_index  # what was found mixable stays so


def test_features_are_floats_in_rows():
    batch = batch_of(2)
    assert check_features(from_batch(batch)) is batch.x
    for wrong in (batch.x.long(), batch.x.view(-1), None):
        batch.x = wrong
        with pytest.raises(InputError, match="ode features x"):
            check_features(from_batch(batch))


def test_what_is_mixed_cannot_be_dropped():
    with pytest.raises(InputError, match="x and edge_index cannot be dropped"):
        check_mixable(from_batch(batch_of(2)), ["x"])
