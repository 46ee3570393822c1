import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.labels import label_rows


@pytest.mark.parametrize(
    "y", [torch.tensor([2, 0]), torch.tensor([[2], [0]]), torch.tensor([2, 0]).int()]
)
def test_class_numbers_become_rows(y):
    rows = label_rows(y, 2, 3, torch.float64)
    assert rows.dtype == torch.float64
    assert rows.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_float_labels_are_left_alone():
    y = torch.tensor([[0.5, float("nan")], [1.0, 0.0]])
    assert label_rows(y, 2, None, torch.float16) is y


def test_several_float_values_of_a_graph_need_a_row():
    with pytest.raises(InputError, match=r"6 rows for 2 graphs.*\[1, T\]"):
        label_rows(torch.zeros(6), 2, None, torch.float32)


def test_integer_rows_are_no_class_numbers():
    with pytest.raises(InputError, match=r"4 integers for 2 graphs.*\.float\(\)"):
        label_rows(torch.zeros(2, 2, dtype=torch.long), 2, 2, torch.float32)
