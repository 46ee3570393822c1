from dataclasses import replace

import pytest
import torch

from ifmixup.errors import InputError, StoreError
from ifmixup.study.split_files import load_splits
from ifmixup.study.splits import Splits, make_splits, own_splits
from ifmixup.training.packed import pack
from ifmixup.training.run_spec import Fold
from packed_graphs import dataset
from task_graphs import with_labels, with_values

EXPECTED_TEST = [(0, 4, 6, 9), (2, 3, 7, 8), (1, 5, 10, 11)]
EXPECTED_VALIDATION = [(1, 10), (4, 9), (4, 8)]


def test_every_graph_is_tested_once_a_repeat_and_in_one_part_a_fold():
    data = dataset(63, 125)  # as MUTAG
    splits = make_splits(data, folds=10, repeats=3, seed=5)
    assert [(each.repeat, each.fold) for each in splits.folds] == [
        (r, f) for r in range(3) for f in range(10)
    ]
    for repeat in range(3):
        tested = [g for f in splits.folds if f.repeat == repeat for g in f.test]
        assert sorted(tested) == list(range(188))
    for fold in splits.folds:
        assert sorted(fold.train + fold.validation + fold.test) == list(range(188))


def test_test_and_validation_are_stratified():
    data = dataset(60, 120)
    for fold in make_splits(data).folds:
        shares = [
            [sum(data.y[list(part)] == c).item() for c in (0, 1)]
            for part in (fold.train, fold.validation, fold.test)
        ]
        # Of 54 and 108 training graphs a tenth is 5 and 11.
        assert shares == [[49, 97], [5, 11], [6, 12]]


def test_a_small_class_is_validated_on_but_not_used_up():
    data = dataset(30, 4, 2)
    for fold in make_splits(data, folds=2).folds:
        found = {p: data.y[list(getattr(fold, p))].tolist() for p in ("train", "validation")}
        assert found["validation"] == [0, 0, 1]  # of 15, 2 and 1: tenths of 2, 1 and none
        assert found["train"] == [0] * 13 + [1, 2]


def test_seed_and_repeat_decide_the_folds_and_nothing_else():
    data = dataset(20, 20)
    one, again = make_splits(data, repeats=2, seed=1), make_splits(data, repeats=2, seed=1)
    torch.manual_seed(99)
    assert one == again
    assert make_splits(data, repeats=1, seed=1).folds == one.folds[:10]
    assert one.folds[0].test != one.folds[10].test
    assert make_splits(data, seed=2).folds[0].test != one.folds[0].test


def test_the_folds_are_those_of_every_other_machine():
    splits = make_splits(dataset(6, 6), folds=3, seed=0)
    assert [f.test for f in splits.folds] == EXPECTED_TEST
    assert [f.validation for f in splits.folds] == EXPECTED_VALIDATION


@pytest.mark.parametrize(
    ("counts", "folds", "message"),
    [
        ((20, 4), 10, "Class 1 of tiny has 4 graphs, but there are 10 folds.*Use at most 4 folds"),
        ((20, 1), 10, "Class 1 of tiny has 1 graph, .*Leave that class out"),
        ((20, 20), 0, "At least 1 fold and 1 repeat are needed; got 0 and 1"),
        ((20, 20), 2**63, "At most 100000 folds and repeats are possible; got 9223372036854775808"),
        ((20, 5), 1, "Class 1 of tiny has 5 graphs"),
        ((2, 2), 2, "too small for 2 folds"),
    ],
)
def test_too_few_graphs(counts, folds, message):
    with pytest.raises(InputError, match=message):
        make_splits(dataset(*counts), folds=folds)


def test_a_class_number_without_graphs_is_no_class():
    assert len(make_splits(dataset(10, 0, 10), folds=5).folds) == 5


def test_a_fold_by_its_number():
    folds = Fold(0, 1, (3, 0), (2,), (1,)), Fold(0, 2, (3,), (2,), (1,))
    splits = Splits("tiny", "abc", 0, folds)
    assert splits.fold(0, 1) is splits.folds[0]
    assert splits.test_ratio == pytest.approx((1 / 3 + 1 / 2) / 2)
    one = replace(splits, folds=folds[:1])
    assert one.are_one
    assert one.test_ratio == 0  # seeds on the same graphs are independent
    with pytest.raises(InputError, match=r"no repeat 1, fold 0. There are: \(0, 1\), \(0, 2\)"):
        splits.fold(1, 0)


def test_a_folder_keeps_every_choice_of_folds_once(tmp_path):
    data = dataset(12, 12)
    one, other = make_splits(data, folds=3), make_splits(data, folds=3, seed=1)
    paths = {splits.save_in(tmp_path / "new") for splits in (one, other, one)}
    assert len(paths) == 2
    assert {load_splits(path, data) for path in paths} == {one, other}


def test_saved_and_read_back(tmp_path):
    data = dataset(12, 12)
    splits = make_splits(data, folds=3, repeats=2, seed=7)
    path = tmp_path / "splits.json"
    path.write_text("something old")
    splits.save(path)
    assert load_splits(path, data) == splits
    assert [p.name for p in tmp_path.iterdir()] == ["splits.json"]
    text = path.read_text()
    assert text.startswith('{\n "dataset": "tiny",\n')
    assert len(text.splitlines()) == 5 + 6 * 4 + 2  # a line a list, for readers and for diff


def test_a_path_that_cannot_be_written(tmp_path):
    splits = make_splits(dataset(12, 12), folds=3)
    with pytest.raises(StoreError, match="cannot be written"):
        splits.save(tmp_path / "nowhere" / "splits.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        splits.save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("graphs", [with_labels, with_values])
def test_labels_and_values_are_cut_at_random(graphs):
    data = pack(graphs(50))
    splits = make_splits(data, folds=5, repeats=2)
    for repeat in range(2):
        tested = [g for f in splits.folds if f.repeat == repeat for g in f.test]
        assert sorted(tested) == list(range(50))
    for fold in splits.folds:
        assert [len(getattr(fold, p)) for p in ("train", "validation", "test")] == [36, 4, 10]
    assert splits.folds[0].test != tuple(range(10))
    assert splits == make_splits(data, folds=5, repeats=2)
    with pytest.raises(InputError, match=r"has 50 graphs, but there are 60 folds. Use at most 50"):
        make_splits(data, folds=60)


def parts(**indices):
    return {part: torch.tensor(value) for part, value in indices.items()}


def test_the_datasets_own_split_is_the_only_fold():
    data = replace(dataset(4, 4), split=parts(train=[0, 1, 5, 4], validation=[2], test=[3, 7]))
    splits = own_splits(data, repeats=2)
    assert [(each.repeat, each.fold) for each in splits.folds] == [(0, 0), (1, 0)]
    assert splits.folds[1] == Fold(1, 0, (0, 1, 4, 5), (2,), (3, 7))


def test_an_own_split_without_validation():
    data = replace(dataset(20, 20), split=parts(train=list(range(30)), test=list(range(30, 40))))
    (fold,) = own_splits(data).folds
    assert len(fold.validation) == 3  # of 20 and 10 training graphs a tenth
    assert sorted(fold.train + fold.validation) == list(range(30))
    assert own_splits(data).folds == (fold,)


def test_own_splits_that_cannot_be_used():
    with pytest.raises(InputError, match="tiny does not come with a split"):
        own_splits(dataset(4, 4))
    wrong = replace(dataset(4, 4), split=parts(train=[0, 1], validation=[1], test=[3]))
    with pytest.raises(InputError, match="graph 1 is in 'train' and in 'validation'"):
        own_splits(wrong)
    with pytest.raises(InputError, match="'test' must be a list of at least one graph"):
        own_splits(replace(dataset(4, 4), split=parts(train=[0, 1], validation=[2])))


def test_a_single_split_per_repeat_is_80_10_10():
    data = dataset(60, 40)
    splits = make_splits(data, folds=1, repeats=2)
    assert [(each.repeat, each.fold) for each in splits.folds] == [(0, 0), (1, 0)]
    for fold in splits.folds:
        assert [len(part) for part in (fold.train, fold.validation, fold.test)] == [80, 10, 10]
        assert sorted(fold.train + fold.validation + fold.test) == list(range(100))
        assert int(data.y[list(fold.test)].sum()) == 4
    assert not splits.repeat_themselves
