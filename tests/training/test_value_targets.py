import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ifmixup.errors import InputError
from ifmixup.training.value_targets import values_of

GRAPHS = [Data(y=torch.tensor([[1.5]])), Data(y=torch.tensor([2]))]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (None, [1.5, 2.0]),
        ([1, 2], [1.0, 2.0]),
        (torch.tensor([1.0, 2.0]), [1.0, 2.0]),
        (np.array([[1], [2]]), [[1.0], [2.0]]),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_values_as_doubles(y, expected):
    found = values_of(GRAPHS, y)
    assert found.dtype == np.float64
    assert found.tolist() == expected


def test_what_is_missing_stays_missing():
    assert math.isnan(values_of(GRAPHS, [1.0, float("nan")])[1])


def test_rows_and_single_numbers_of_graphs():
    assert values_of([Data(y=torch.tensor([[1.0, 2.0]]))] * 2, None).tolist() == [[1, 2], [1, 2]]
    assert values_of([Data(y=3.5), Data(y=4)], None).tolist() == [3.5, 4]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0], r"shape \(1,\); for 2 graphs \(2,\) or \(2, T\) is needed"),
        (np.zeros((2, 1, 1)), r"shape \(2, 1, 1\)"),
        (["a", "b"], "y must be numbers"),
        ([1.0, float("inf")], "y contains infinity"),
        ([float("nan")] * 2, "All of y is missing"),
    ],
)
def test_what_is_no_value(y, message):
    with pytest.raises(InputError, match=message):
        values_of(GRAPHS, y)


def test_graphs_without_values():
    with pytest.raises(InputError, match="graph 1 has none of its own"):
        values_of([GRAPHS[0], Data(x=torch.ones(1, 1))], None)
    with pytest.raises(InputError, match=r"different lengths: \[1, 2\]"):
        values_of([GRAPHS[0], Data(y=torch.ones(1, 2))], None)
