import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.data.targets import guess, number_targets, read_targets
from ifmixup.errors import DatasetError, InputError

NAN = float("nan")


def column(*cells):
    return [[cell] for cell in cells]


@pytest.mark.parametrize(
    ("cells", "names", "y"),
    [
        (["yes", "no", " yes "], ["no", "yes"], [1, 0, 1]),
        (["10", "9", "9.0"], ["9", "10"], [1, 0, 0]),
        (["-1", "1", ""], ["-1", "1"], [0, 1, -1]),
        (["b", "", "NaN", "a"], ["a", "b"], [1, -1, -1, 0]),
        (["x", "1", "1.0"], ["1", "x"], [1, 0, 0]),
    ],
)
def test_classes(cells, names, y):
    found = read_targets(column(*cells), ["label"])
    assert (found.task, found.names, found.y.tolist()) == ("classes", names, y)
    assert found.y.dtype == torch.int64


def test_many_whole_numbers_are_values_unless_the_user_says_so():
    cells = column(*(str(i) for i in range(21)))
    assert read_targets(cells, ["n"]).task == "values"
    assert read_targets(cells[:20], ["n"]).task == "classes"
    found = read_targets(cells, ["n"], task="classes")
    assert found.names == [str(i) for i in range(21)]


def test_values():
    found = read_targets(column("0.5", "", "-1e3"), ["energy"])
    assert (found.task, found.names) == ("values", ["energy"])
    assert found.y.dtype == torch.float32
    assert found.y.shape == (3, 1)
    assert found.y[[0, 2]].tolist() == [[0.5], [-1000]]
    assert bool(found.y[1].isnan())


def test_labels():
    found = read_targets([["1", ""], ["0.0", "1"]], ["a", "b"])
    assert (found.task, found.names) == ("labels", ["a", "b"])
    assert found.y.nan_to_num(-1).tolist() == [[1, -1], [0, 1]]
    assert read_targets([["1", "2"], ["0", ""]], ["a", "b"]).task == "values"
    assert read_targets(column("1", "0"), ["a"], task="labels").y.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("cells", "task", "message"),
    [
        ([["1", "x"], ["0", "1"]], None, r"Column 'b', line 7: 'x' is no number. Several columns"),
        ([["1", "x"], ["0", "1"]], "classes", r"'x' is no number. Several columns"),
        ([["1", "2"], ["0", "1"]], "labels", r"'b', line 7: 2 does not fit the task 'labels'"),
        ([["1", "2"], ["0", "1"]], "classes", r"one column of classes, but 2 were given: a, b"),
        ([["1", "1e99"], ["0", "1"]], None, r"'b', line 7: 1e\+99 does not fit the task 'values'"),
        ([["1", "inf"], ["0", "1"]], None, r"'inf' is no number"),
        ([["", ""], ["", "nan"]], None, r"a, b: there is no label in any row"),
    ],
)
def test_cells_that_do_not_fit(cells, task, message):
    with pytest.raises(DatasetError, match=message):
        read_targets(cells, ["a", "b"], task, lines=[7, 9])


def test_text_is_no_value():
    with pytest.raises(DatasetError, match=r"row 1: 'x' is no number\. The task 'values' can only"):
        read_targets(column("1", "x"), ["a"], "values")


def test_a_task_that_is_none():
    with pytest.raises(InputError, match="Unknown task 'class'"):
        read_targets(column("a", "b"), ["a"], "class")
    with pytest.raises(InputError, match="Unknown task 'class'"):
        read_targets(column("1", "2"), ["a"], "class")


def test_a_column_of_names_is_no_column_of_classes():
    with pytest.raises(DatasetError, match="'name' has 1001 different values, too many"):
        read_targets(column(*(f"m{i}" for i in range(1001))), ["name"])
    with pytest.raises(DatasetError, match="'id' has 1001 different values"):
        read_targets(column(*(str(i) for i in range(1001))), ["id"], "classes")


@pytest.mark.parametrize("missing", ["NA", "n/a", "null", "None", ""])
def test_what_stands_for_a_missing_label(missing):
    found = read_targets(column("1.5", missing, "2.5"), ["y"])
    assert found.task == "values"
    assert found.y[:, 0].isnan().tolist() == [False, True, False]
    assert read_targets(column("0", "1", missing), ["y"]).names == ["0", "1"]


def test_a_slip_in_a_column_of_values_does_not_make_classes_of_it():
    cells = [f"{i}.5" for i in range(30)]
    with pytest.raises(DatasetError, match="line 32: 'inf' is no number, but nearly all others"):
        read_targets(column(*cells, "inf"), ["y"], lines=range(2, 33))
    assert read_targets(column(*cells, "inf"), ["y"], "classes").task == "classes"


def test_numbers():
    numbers = torch.tensor([[2.0], [NAN], [-1.5]], dtype=torch.float64)
    assert guess(numbers) == "values"
    assert number_targets(numbers, ["y"], "classes").names == ["-1.5", "2"]
    assert number_targets(numbers, ["y"], "classes").y.tolist() == [1, -1, 0]


@given(st.lists(st.sampled_from(["a", "b", "c", "1", "2.0", "", "nan"]), min_size=1, max_size=8))
def test_classes_say_what_the_cells_said(cells):
    plain = {"2.0": "2", "nan": ""}
    try:
        found = read_targets(column(*cells), ["label"])
    except DatasetError:
        assert not set(cells) - {"", "nan"}
        return
    assert found.names == sorted(found.names)
    for cell, y in zip(cells, found.y.tolist(), strict=True):
        assert plain.get(cell, cell) == ("" if y < 0 else found.names[y])
