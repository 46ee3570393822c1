"""Splits that users bring, as a file and in Python."""

import copy
import json

import numpy as np
import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.study.split_files import as_splits, load_splits
from packed_graphs import dataset, with_rows

ONE = {"train": [0, 1, 4, 5], "val": [2], "test": [3, 7]}


def written(path, values):
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize("name", ["val", "valid", "validation"])
def test_one_split_of_others(tmp_path, name):
    values = {"train": [5, 0, 1, 4], name: [2], "test": [7, 3]}
    (fold,) = load_splits(written(tmp_path / "s.json", values), dataset(4, 4)).folds
    assert (fold.repeat, fold.fold) == (0, 0)
    assert (fold.train, fold.validation, fold.test) == ((0, 1, 4, 5), (2,), (3, 7))


def test_five_seeds_on_one_split(tmp_path):
    splits = load_splits(written(tmp_path / "s.json", ONE), dataset(4, 4), repeats=5)
    assert [(each.repeat, each.fold) for each in splits.folds] == [(r, 0) for r in range(5)]
    assert splits.are_one


def test_a_list_is_folds_where_no_test_graph_is_there_twice(tmp_path):
    other = {"train": [3, 7, 4], "val": [2], "test": [0, 1]}
    splits = load_splits(written(tmp_path / "s.json", [ONE, other]), dataset(4, 4), repeats=2)
    assert [(f.repeat, f.fold) for f in splits.folds] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert splits.repeat_themselves
    assert splits.notes == ()


def test_a_list_of_splits_that_overlap_is_repeats(tmp_path):
    other = {"train": [0, 1, 4], "val": [2], "test": [7, 6]}
    splits = load_splits(written(tmp_path / "s.json", [ONE, other]), dataset(4, 4), repeats=2)
    assert [(f.repeat, f.fold) for f in splits.folds] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert "share test graphs, so they are treated as repeats" in splits.notes[0]


def test_without_validation_a_tenth_of_the_training_graphs_validates(tmp_path):
    data = dataset(20, 20)
    values = {"train": list(range(30)), "test": list(range(30, 40))}
    splits = load_splits(written(tmp_path / "s.json", values), data)
    (fold,) = splits.folds
    assert len(fold.validation) == 3  # of 20 and 10
    assert sorted(fold.train + fold.validation) == list(range(30))
    assert (
        "a tenth of the training graphs, drawn with the seed 0, is used for validation"
        in splits.notes[0]
    )
    few = {"train": [0], "test": [1]}
    with pytest.raises(InputError, match="too few to train on to take a tenth"):
        as_splits(few, data)


def test_lists_arrays_and_tensors_in_python():
    kinds = {"train": torch.tensor([0, 1, 4, 5]), "val": np.array([2]), "test": range(3, 4)}
    (fold,) = as_splits(kinds, dataset(4, 4)).folds
    assert (fold.train, fold.validation, fold.test) == ((0, 1, 4, 5), (2,), (3,))


def test_a_file_counts_the_rows_of_the_source(tmp_path):
    # rows 1 and 4 of ten were skipped
    data = with_rows(dataset(4, 4), index=[0, 2, 3, 5, 6, 7, 8, 9], total=10)
    path = written(tmp_path / "s.json", {"train": [0, 1, 2, 6], "val": [4, 3], "test": [8, 9]})
    splits = load_splits(path, data)
    assert splits.folds[0].train == (0, 1, 4)
    assert (splits.folds[0].validation, splits.folds[0].test) == ((2,), (6, 7))
    assert splits.notes == (f"2 rows in {path} were skipped when reading, and are left out.",)
    one = load_splits(written(path, {**ONE, "train": [0, 1, 5]}), data)
    assert f"1 row in {path} was skipped when reading, and is left out." in one.notes
    with pytest.raises(InputError, match=r"10 in 'test' is not a row of the .* 0 to 9"):
        load_splits(written(path, {**ONE, "test": [10]}), data)
    # in Python the indices are those of the dataset
    assert as_splits(ONE, data).folds[0].test == (3, 7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "is not a split: got .*Expected"),
        (7, "is not a split: got 7"),
        ([7], "is not a split: got 7"),
        ({}, "'train' must be a list of at least one graph"),
        ({"train": [0, 1]}, "'test' must be a list of at least one graph"),
        ({**ONE, "tset": [3]}, "Unknown part in .*'tset'. Did you mean 'test'"),
        ({**ONE, "valid": [6]}, "validation graphs under two names"),
        ({**ONE, "test": "3"}, "'test' must be a list of indices; got '3'"),
        ({**ONE, "test": [8]}, "8 in 'test' is not a graph of the dataset; .* 0 to 7"),
        ({**ONE, "test": [-1]}, "-1 in 'test' is not a graph"),
        ({**ONE, "test": [True]}, "True in 'test' is not a graph"),
        ({**ONE, "test": [3.0]}, "3.0 in 'test' is not a graph"),
        ({**ONE, "test": [3, 2]}, "graph 2 is in 'validation' and in 'test'"),
        ([ONE, {**ONE, "test": [4]}], "split 1: graph 4 is in 'train' and in 'test'"),
    ],
)
def test_bad_files_are_named(tmp_path, values, message):
    path = written(tmp_path / "s.json", values)
    with pytest.raises(InputError, match=message) as error:
        load_splits(path, dataset(4, 4))
    assert str(path) in str(error.value)


def test_folds_of_others_are_put_in_order(tmp_path):
    data = dataset(3, 3)
    path = tmp_path / "splits.json"
    folds = [
        {"repeat": 0, "fold": 1, "train": [5, 3], "validation": [4], "test": [0, 1]},
        {"repeat": 0, "fold": 0, "train": [1, 0], "validation": [2], "test": [3]},
    ]
    head = {"dataset": "tiny", "data": data.fingerprint, "seed": 0}
    path.write_text(json.dumps({**head, "folds": folds}))
    splits = load_splits(path, data)
    assert [(each.repeat, each.fold) for each in splits.folds] == [(0, 0), (0, 1)]
    assert splits.fold(0, 1).train == (3, 5)


def test_files_that_cannot_be_read(tmp_path):
    data = dataset(3, 3)
    with pytest.raises(InputError, match="cannot be read"):
        load_splits(tmp_path / "none.json", data)
    for text in ("{", "[" * 100_000, "\xff"):
        (tmp_path / "bad.json").write_text(text, encoding="latin-1")
        with pytest.raises(InputError, match="are not JSON"):
            load_splits(tmp_path / "bad.json", data)


GOOD = {
    "dataset": "tiny",
    "data": "the fingerprint",
    "seed": 0,
    "folds": [
        {"repeat": 0, "fold": 0, "train": [2, 3, 4], "validation": [5], "test": [0, 1]},
        {"repeat": 0, "fold": 1, "train": [0, 1, 4], "validation": [5], "test": [2, 3]},
        {"repeat": 1, "fold": 0, "train": [2, 3, 4], "validation": [5], "test": [0, 1]},
    ],
}


def changed(index, **changes):
    values = copy.deepcopy(GOOD)
    target = values if index is None else values["folds"][index]
    target.update(changes)
    return values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (changed(None, folds={}), "'folds' must be a list of at least one fold"),
        (changed(None, folds=[]), "'folds' must be a list of at least one fold"),
        (changed(None, folds=[3]), "entry 0 of 'folds' must be an object"),
        (changed(1, fold=-1), "entry 1 of 'folds': 'fold' must be a number from 0; got -1"),
        (changed(1, repeat=True), "entry 1 of 'folds': 'repeat' must be a number .* got True"),
        (changed(1, fold=0), "repeat 0, fold 0 occurs twice"),
        (changed(1, test=[]), "repeat 0, fold 1: 'test' must be a list of at least one graph"),
        (changed(1, validation=None), "repeat 0, fold 1: 'validation' must be a list"),
        (changed(1, train=[0, 6]), "repeat 0, fold 1: 6 in 'train' is not a graph .* 0 to 5"),
        (changed(1, train=[-1]), "repeat 0, fold 1: -1 in 'train' is not a graph"),
        (changed(1, train=[1.0]), "repeat 0, fold 1: 1.0 in 'train' is not a graph"),
        (changed(1, train=[2]), "repeat 0, fold 1: graph 2 is in 'train' and in 'test'"),
        (changed(1, train=[5]), "repeat 0, fold 1: graph 5 is in 'train' and in 'validation'"),
        (changed(1, train=[4, 4]), "repeat 0, fold 1: graph 4 is in 'train' twice"),
        (
            changed(1, train=[2], test=[3, 0]),
            "repeat 0, fold 1: test graph 0 is a test graph of fold 0",
        ),
    ],
)
def test_bad_splits_are_named(tmp_path, values, message):
    data = dataset(3, 3)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(values).replace("the fingerprint", data.fingerprint))
    with pytest.raises(InputError, match=message) as error:
        load_splits(path, data)
    assert str(path) in str(error.value)


def test_a_file_of_ours_for_other_features_is_used_and_said(tmp_path):
    path = written(tmp_path / "s.json", changed(None, data="xyz", seed="?"))
    splits = load_splits(path, dataset(3, 3), repeats=2)
    assert "was made for other graphs" in splits.notes[0]
    assert [(f.repeat, f.fold) for f in splits.folds] == [
        (0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0),
    ]  # fmt: skip
