import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ifmixup.data.user_targets import labels_of, number_classes, values_of
from ifmixup.errors import InputError

GRAPHS = [Data(y=torch.tensor([n])) for n in (3, 1)]


def test_classes_are_numbered_in_their_order():
    classes, numbers = number_classes(["b", "a", "b"])
    assert (classes.tolist(), numbers.tolist()) == (["a", "b"], [1, 0, 1])
    classes, numbers = number_classes([("x", 1), "b", 2])
    assert classes.tolist() == [2, "b", ("x", 1)]
    assert numbers.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [(["b", "a"], "U"), ([2, 1], "i"), ([2.0, 1.0], "f"), ([True, False], "b"), ([1, "a"], "O")],
)
def test_classes_are_arrays_of_their_kind(labels, dtype):
    assert number_classes(labels)[0].dtype.kind == dtype


def test_one_class_is_none():
    with pytest.raises(InputError, match="y has 1 class: 'a'"):
        number_classes(["a", "a"])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (None, [3, 1]),
        (["a", "b"], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([np.int64(4), np.str_("a")], [4, "a"]),
        (torch.tensor([4, 5]), [4, 5]),
        (np.array([1.0, 0.0]), [1.0, 0.0]),
    ],
)
def test_labels_are_plain_values(y, expected):
    found = labels_of(GRAPHS, y)
    assert found == expected
    assert [type(each) for each in found] == [type(each) for each in expected]


def test_a_graph_may_name_its_class():
    assert labels_of([Data(y="toxic"), Data(y=torch.tensor(2.0))], None) == ["toxic", 2.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"], "Got 2 graphs but 1 classes in y"),
        (["a", None], "The class of graph 1 is None"),
        ([1.0, float("inf")], "graph 1 is inf: y contains NaN or infinity"),
        ([0.5, 1.0], r"graph 0 is 0\.5\. Unknown label type: continuous"),
        ([[1], [2]], r"not hashable: \[1\]"),
    ],
)
def test_what_is_no_class(y, message):
    with pytest.raises(InputError, match=message):
        labels_of(GRAPHS, y)


@pytest.mark.parametrize(
    "each", [lambda n: torch.tensor([n]), torch.tensor, lambda n: np.array([[n]])]
)
def test_tensors_of_one_value_are_that_value(each):
    # Tensors are equal to nothing but themselves: as they are, each graph would be a class.
    graphs = [Data() for _ in range(3)]
    assert labels_of(graphs, [each(n) for n in (3, 1, 3)]) == [3, 1, 3]


@pytest.mark.parametrize("y", [torch.tensor([1, 0]), np.array([1, 0]), torch.tensor([])])
def test_rows_are_no_class(y):
    with pytest.raises(InputError, match="Graph 1 has a y of shape"):
        labels_of(GRAPHS, [torch.tensor(1), y])


MEASURED = [Data(y=torch.tensor([[1.5]])), Data(y=torch.tensor([2]))]


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
    found = values_of(MEASURED, y)
    assert found.dtype == np.float64
    assert found.tolist() == expected


def test_what_is_missing_stays_missing():
    assert math.isnan(values_of(MEASURED, [1.0, float("nan")])[1])


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
        values_of(MEASURED, y)


def test_graphs_without_values():
    with pytest.raises(InputError, match="graph 1 has no y"):
        values_of([MEASURED[0], Data(x=torch.ones(1, 1))], None)
    with pytest.raises(InputError, match=r"different lengths: \[1, 2\]"):
        values_of([MEASURED[0], Data(y=torch.ones(1, 2))], None)
