import math

import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.training.target import as_target, infer_task

NAN = math.nan


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        ([torch.tensor([0]), torch.tensor(3)], "classes"),
        ([torch.tensor([[1.0, NAN]]), torch.tensor([[0.0, 1.0]])], "labels"),
        ([torch.tensor([1.0]), torch.tensor([0.5])], "values"),
        ([torch.tensor([1.0, NAN]), None], "labels"),
        ([None, None], "classes"),
    ],
)
def test_the_task_is_what_y_looks_like(targets, task):
    assert infer_task(targets) == task


def test_classes():
    assert as_target(torch.tensor(2, dtype=torch.int32), "classes", 0).tolist() == [2]
    assert as_target(torch.tensor([[2]]), "classes", 0).dtype == torch.long


@pytest.mark.parametrize("y", [torch.tensor(1), torch.tensor([1.0]), torch.tensor([[1.0]])])
def test_rows(y):
    for task, dtype in (("labels", torch.float32), ("values", torch.float64)):
        row = as_target(y, task, 0)
        assert (row.tolist(), row.dtype) == ([[1.0]], dtype)


def test_a_nan_is_a_nan():
    odd = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    usual = torch.tensor([NAN])
    rows = [as_target(y, "labels", 0).view(torch.int32).tolist() for y in (odd, usual)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (torch.tensor([1, 0]), "classes", "Graph 7 has no single class number as y.*rows of float"),
        (torch.tensor([-1]), "classes", "Class numbers start at 0; graph 7 has -1"),
        (
            torch.tensor([[0.0, 2.0]]),
            "labels",
            r"Graph 7 has 2.0 in y; labels are 0 and 1, and NaN",
        ),
        (torch.tensor([math.inf]), "values", "Graph 7 has inf in y; values are finite numbers"),
        (torch.empty(0), "values", "Graph 7 has an empty y"),
    ],
)
def test_what_is_no_target(y, task, message):
    with pytest.raises(InputError, match=message):
        as_target(y, task, 7)
