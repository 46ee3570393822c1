"""A pair in which one label is missing loses none: the rule of all methods that mix labels."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Batch, Data

from ifmixup.augment import create, names
from ifmixup.augment.method import loss_of_labels
from ifmixup.batch import from_batch
from ifmixup.mixing import mix, mix_labels
from ifmixup.nn import GIN
from ifmixup.nn.inputs import GraphsModel
from ifmixup.training.metrics import binary_cross_entropy, squared_error

NAN = math.nan


def drawn(seed, tasks=5, pairs=6):
    """Logits, the labels of both graphs with some missing, and λ."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.double)

    a, b = (uniform(pairs, tasks).round() for _ in "ab")
    for y in (a, b):
        y[uniform(pairs, tasks) < 0.4] = NAN
    return uniform(pairs, tasks) * 4 - 2, a, b, uniform(pairs)


def known(y):
    return {"y": y, "y_weight": (~y.isnan()).double()}


def brute_force(out, a, b, lam, loss):
    """Σ [λ m_A ℓ(z, y_A) + (1 − λ) m_B ℓ(z, y_B)] / Σ [λ m_A + (1 − λ) m_B], one by one."""
    total, weight = 0.0, 0.0
    for row in range(len(out)):
        for column in range(out.size(1)):
            for y, share in ((a, lam[row]), (b, 1 - lam[row])):
                if not y[row, column].isnan():
                    total = total + share * loss(out[row, column], y[row, column])
                    weight = weight + share
    return total / weight


@pytest.mark.parametrize("seed", range(5))
def test_labels_against_the_formula(seed):
    out, a, b, lam = drawn(seed)
    mixed = mix_labels(known(a), known(b), lam)
    expected = brute_force(out, a, b, lam, F.binary_cross_entropy_with_logits)
    found = binary_cross_entropy(out, mixed["y"], y_weight=mixed["y_weight"])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("seed", range(5))
def test_values_have_the_gradient_of_the_formula(seed):
    out, a, b, lam = drawn(seed)
    a, b = a * 3 + torch.rand(a.shape), b * 7 - 1
    one, other = out.clone().requires_grad_(), out.clone().requires_grad_()
    mixed = mix_labels(known(a), known(b), lam)
    squared_error(one, mixed["y"], y_weight=mixed["y_weight"]).backward()
    brute_force(other, a, b, lam, F.mse_loss).backward()
    torch.testing.assert_close(one.grad, other.grad)


def test_where_nothing_is_missing_nothing_changes():
    out, *_ = drawn(0)
    a, b = torch.rand(2, 6, 5)
    lam = torch.rand(6)
    mixed = mix_labels(
        {"y": a, "y_weight": torch.ones(6, 5)}, {"y": b, "y_weight": torch.ones(6, 5)}, lam
    )
    plain = mix_labels({"y": a}, {"y": b}, lam)
    assert torch.equal(mixed["y"], plain["y"])
    assert bool((mixed["y_weight"] == 1).all())
    for loss in (binary_cross_entropy, squared_error):
        weighted = loss(out.float(), mixed["y"], y_weight=mixed["y_weight"])
        assert torch.equal(weighted, loss(out.float(), plain["y"]))


@pytest.mark.parametrize(
    ("lam", "y", "weight"), [(1.0, [1, NAN, 0], [1, 0, 1]), (0.0, [NAN, 0, 1], [0, 1, 1])]
)
def test_a_share_of_nothing_gives_nothing(lam, y, weight):
    a, b = torch.tensor([[1, NAN, 0.0]]), torch.tensor([[NAN, 0, 1.0]])
    mixed = mix_labels(known(a), known(b), torch.tensor([lam]))
    torch.testing.assert_close(mixed["y"], torch.tensor([y]).double(), equal_nan=True)
    assert mixed["y_weight"].tolist() == [weight]


def test_mixing_twice_counts_each_label_by_its_share():
    def graph(*y):
        return Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0).long(), y=torch.tensor([y]))

    twice = mix(mix(graph(1.0, NAN), graph(NAN, 0.0), 0.5), graph(0.0, NAN), 0.75)
    torch.testing.assert_close(twice.y_weight, torch.tensor([[0.375 + 0.25, 0.375]]))
    torch.testing.assert_close(twice.y, torch.tensor([[0.375 / 0.625, 0.0]]))


def batch(tasks=3):
    ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for index in range(8):
        y = torch.rand(1, tasks, generator=generator).round()
        y[torch.rand(1, tasks, generator=generator) < 0.4] = NAN
        y[0, index % tasks] = index % 2
        edge_index = torch.cat([ring, ring.flip(0)], 1)
        x = torch.rand(4, 2, generator=generator)
        graphs.append(Data(x=x, edge_index=edge_index, y=y, edge_attr=torch.rand(8, 2)))
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("name", [name for name in names() if name != "g_mixup"])  # for classes
def test_no_method_loses_a_label(name):
    given = batch()
    total = (~given.y.isnan()).sum()
    method = create(name, generator=torch.Generator().manual_seed(1))
    graphs = method._prepare(from_batch(given))
    method.fit(graphs, seed=0)
    seen = []

    def criterion(out, y, y_weight=None):
        seen.append((y, y_weight))
        return binary_cross_entropy(out, y, y_weight=y_weight)

    criterion.reads_y_weight = True
    model = GraphsModel(GIN(2, 4, 2, 3))
    loss = method.loss(model, graphs, criterion)
    assert loss.isfinite()
    y, weight = seen[-1]
    # Partners are a permutation, or labels stay: what each graph knows counts once in all.
    if name != "graph_transplant":
        torch.testing.assert_close(weight.sum(), total.float(), atol=2.0, rtol=0.0)
    assert torch.equal(weight > 0, ~y.isnan())
    assert bool((weight <= 1).all())


def test_a_criterion_that_reads_no_weights_gets_none():
    rows = {"y": torch.zeros(2, 3), "y_weight": torch.zeros(2, 3)}
    assert loss_of_labels(lambda out, y: out.sum(), torch.ones(1), rows) == 1


def test_a_batch_of_a_loop_of_ones_own_has_the_weights():
    given = batch()
    mixed = create("ifmixup")(given)
    assert mixed.y_weight.shape == mixed.y.shape == given.y.shape
    assert mixed[0].y_weight.shape == (1, 3)
    again = create("ifmixup")(mixed)
    assert bool((again.y_weight > 0).sum() >= (mixed.y_weight > 0).sum())
    assert "y_weight" not in create("ifmixup", 2)(
        Batch.from_data_list(
            [
                Data(x=g.x, edge_index=g.edge_index, y=torch.tensor([0]))
                for g in given.to_data_list()
            ]
        )
    )
