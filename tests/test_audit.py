import os

import pytest
import torch
from torch_geometric.data import Data

from ifmixup.audit import audit
from ifmixup.data import NAMES, load
from ifmixup.errors import DatasetError, InputError


def graph(x: list[list[float]], *edges: tuple[int, int]) -> Data:
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Data(x=torch.tensor(x).float(), edge_index=index)


A, B = graph([[1, 0], [0, 1]], (0, 1)), graph([[1, 0], [1, 0]], (1, 0))


def test_what_comes_back_is_counted():
    found = audit([A, B, A], 50)
    assert found.holds
    assert (found.pairs, found.recovered, found.coinciding) == (50, 50, 0)
    assert found.structures == 50
    assert 0 < found.identical < 50
    assert found.largest_error < 1e-7
    assert found.reasons == ()


def test_dependent_features_break_the_guarantee():
    found = audit([graph([[1.0]]), graph([[2.0]])], 5)
    assert not found.holds
    assert not found.independent
    assert "2 different feature rows are not linearly independent" in found.reasons[-1]
    assert found.structures == 5  # sizes, edges and λ come back all the same


def test_features_that_are_not_one_hot():
    a, b = graph([[1.0, 2.0], [3.0, 1.0]], (0, 1)), graph([[3.0, 1.0]])
    found = audit([a, b], 20)
    assert found.holds
    assert found.continuous == (0, 1)
    assert audit([A, B], 5).continuous == ()


def test_a_mixture_that_is_a_training_graph_is_found(monkeypatch):
    # Features 2, 4 and 3.5 are dependent: three quarters of 4 and a quarter of 2 are 3.5.
    monkeypatch.setattr("ifmixup.audit._draw_lam", lambda *_: 0.75)
    found = audit([graph([[2.0]]), graph([[4.0]]), graph([[3.5]])], 30)
    assert 0 < found.coinciding < 30
    assert "graphs 1 and 0 can make graph 2" in found.reasons
    assert not found.holds


def test_two_graphs_at_least():
    with pytest.raises(InputError, match="at least two graphs; got 1"):
        audit([A], 5)


def test_seed_decides():
    assert audit([A, B, A], 30, seed=1) == audit([A, B, A], 30, seed=1)
    assert audit([A, B, A], 30, seed=1).identical != audit([A, B, A], 30, seed=3).identical


@pytest.mark.parametrize("beta", [(1, 1), (2, 2), (20, 1)], ids=lambda beta: f"Beta{beta}")
@pytest.mark.parametrize("name", NAMES)
def test_ten_thousand_pairs_of_every_dataset_come_back(name, beta):
    if name != "MUTAG" and not os.environ.get("IFMIXUP_DATA"):
        pytest.skip(f"{name} is not bundled: point IFMIXUP_DATA at a folder of TU zips")
    try:
        dataset = load(name)
    except DatasetError as error:
        pytest.skip(f"{name} is not available: {error}")
    found = audit(dataset, 10_000, alpha=beta[0], beta=beta[1])
    assert found.holds, found.reasons
    assert (found.recovered, found.coinciding) == (10_000, 0)
    assert found.largest_error <= 1e-5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": 0}, "at least one pair; got 0"),
        ({"alpha": 0.0}, "alpha > 0 and beta > 0"),
        ({"alpha": 1e12, "beta": 1e12}, "only draws λ = 0.5"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        audit([A, B], **{"pairs": 3, **options})
