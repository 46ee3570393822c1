import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.data.targets import as_target, infer_task, number_targets, read_targets
from ifmixup.errors import DatasetError, InputError

NAN = math.nan


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


def test_whole_numbers_that_may_be_classes_or_values_are_asked_about():
    cells = column(*(str(i) for i in range(101)))
    assert read_targets(cells, ["n"]).task == "values"
    assert read_targets(cells[:20], ["n"]).task == "classes"
    assert read_targets(cells[1:21], ["n"]).task == "classes"
    assert read_targets(column("7", "3", "7"), ["n"]).task == "classes"
    for several in (cells[:21], cells[:100], cells[2:5], column("0", "1", "3")):
        with pytest.raises(DatasetError, match=r"'n' holds \d+ different whole numbers"):
            read_targets(several, ["n"])
        assert read_targets(several, ["n"], task="values").task == "values"
    found = read_targets(cells[:21], ["n"], task="classes")
    assert found.names == [str(i) for i in range(21)]


def test_the_question_says_what_was_found_and_what_decides():
    cells = column(*(str(7 * (i % 88)) for i in range(642)))
    with pytest.raises(DatasetError) as caught:
        read_targets(cells, ["counts"])
    assert str(caught.value) == (
        "'counts' holds 88 different whole numbers (0, 7, 14, ..., 609) in 642 rows. Are they "
        "classes or values? Say which: task='values' (--task values) predicts a number, "
        "task='classes' (--task classes) one of 88 classes."
    )


def test_integers_of_graphs_are_classes_where_they_count_from_0_or_are_few():
    def rows(*numbers):
        return [torch.tensor([number]) for number in numbers]

    assert infer_task(rows(*range(88))) == "classes"
    assert infer_task(rows(-1, 5, 30)) == "classes"
    with pytest.raises(DatasetError, match="'size' holds 88 different whole numbers"):
        infer_task(rows(*range(10, 98)), name="size")


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
        ([["1", "x"], ["0", "1"]], None, r"'b', line 7: 'x' is not a number\. Several columns"),
        ([["1", "x"], ["0", "1"]], "classes", r"'x' is not a number. Several columns"),
        ([["1", "2"], ["0", "1"]], "labels", r"'b', line 7: 2 does not fit the task 'labels'"),
        ([["1", "2"], ["0", "1"]], "classes", r"one column of classes, but 2 were given: a, b"),
        ([["1", "1e99"], ["0", "1"]], None, r"'b', line 7: 1e\+99 does not fit the task 'values'"),
        ([["1", "inf"], ["0", "1"]], None, r"'inf' is not a number"),
        ([["", ""], ["", "nan"]], None, r"a, b: there is no label in any row"),
    ],
)
def test_cells_that_do_not_fit(cells, task, message):
    with pytest.raises(DatasetError, match=message):
        read_targets(cells, ["a", "b"], task, lines=[7, 9])


def test_text_is_no_value():
    with pytest.raises(DatasetError, match=r"row 1: 'x' is not a number\. The task 'values'"):
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
    with pytest.raises(DatasetError, match="line 32: 'inf' is not a number, but nearly all others"):
        read_targets(column(*cells, "inf"), ["y"], lines=range(2, 33))
    assert read_targets(column(*cells, "inf"), ["y"], "classes").task == "classes"


def test_numbers():
    numbers = torch.tensor([[2.0], [NAN], [-1.5]], dtype=torch.float64)
    assert infer_task(numbers, from_text=True) == "values"
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


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        ([torch.tensor([0]), torch.tensor(3)], "classes"),
        ([torch.tensor([[1.0, NAN]]), torch.tensor([[0.0, 1.0]])], "labels"),
        ([torch.tensor([1.0]), torch.tensor([0.5])], "values"),
        ([torch.tensor([1.0, NAN]), None], "labels"),
        ([None, None], "classes"),
        ([torch.tensor([[1, 0]]), torch.tensor([[0, 1]])], "labels"),
        ([torch.tensor([[1, 0]]), torch.tensor([[0, 7]])], "values"),
        ([torch.tensor([True]), torch.tensor([False])], "classes"),
        (torch.tensor([[0.0], [1.0]]), "labels"),
        (torch.tensor([[0], [30]]), "classes"),
    ],
)
def test_the_task_is_what_y_looks_like(targets, task):
    assert infer_task(targets) == task


@pytest.mark.parametrize(
    ("numbers", "task"),
    [
        ([[0.0], [1.0], [NAN]], "classes"),
        ([[float(i)] for i in range(20)], "classes"),
        ([[float(i)] for i in range(101)], "values"),
        ([[0.5], [1.0]], "values"),
        ([[0.0, 1.0], [1.0, NAN]], "labels"),
        ([[0.0, 2.0]], "values"),
    ],
)
def test_text_does_not_tell_integers_from_floats(numbers, task):
    assert infer_task(torch.tensor(numbers), from_text=True) == task


def test_a_class_is_one_number():
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
