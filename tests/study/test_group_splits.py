"""Whole scaffolds, whole groups, and a column with the parts."""

import pytest

from ifmixup.data import load
from ifmixup.errors import InputError
from ifmixup.study.choose_split import choose_splits
from ifmixup.study.group_splits import column_splits, group_splits, scaffolds
from ifmixup.training.packed import pack
from packed_graphs import dataset, with_rows

# Four of benzene (one written in another way), three of pyridine, two of cyclohexane, one of
# naphthalene, and two without a ring.
SMILES = (
    "c1ccccc1C", "c1ccncc1", "C1CCCCC1", "CCO", "C1=CC=CC=C1O", "Nc1ccccc1", "Cc1ccncc1",
    "c1ccc2ccccc2c1", "CC(C)=O", "c1ccccc1[C@H](F)Cl", "OC1CCCCC1", "Oc1ccncc1",
)  # fmt: skip
GROUPS = [0, 1, 2, 3, 0, 0, 1, 4, 3, 0, 2, 1]


@pytest.fixture
def molecules(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("smiles,label\n" + "".join(f"{s},{i % 2}\n" for i, s in enumerate(SMILES)))
    return pack(load(str(path)))


def parts_of(fold):
    return [fold.train, fold.validation, fold.test]


def whole(splits, groups):
    """Whether no group is in two parts of a fold, and each graph is in one."""
    for fold in splits.folds:
        assert sorted(i for part in parts_of(fold) for i in part) == list(range(len(groups)))
        owners = [{groups[i] for i in part} for part in parts_of(fold)]
        assert all(owners)
        assert sum(map(len, owners)) == len(set(groups))
    return True


def test_scaffolds_are_rings_without_what_hangs_on_them(molecules):
    found = scaffolds(molecules)
    numbers = dict(zip(found, GROUPS, strict=True))
    assert [numbers[text] for text in found] == GROUPS
    assert numbers[""] == 3  # all molecules without a ring are one group
    assert set(found) == {"c1ccccc1", "c1ccncc1", "C1CCCCC1", "", "c1ccc2ccccc2c1"}


def test_folds_of_whole_scaffolds(molecules):
    splits = choose_splits(molecules, "scaffold", folds=3, seed=5)
    assert whole(splits, GROUPS)
    # Sizes 4, 3, 2, 2, 1: the largest first, each to the smallest fold.
    assert [fold.test for fold in splits.folds] == [(0, 4, 5, 9), (1, 6, 7, 11), (2, 3, 8, 10)]
    assert choose_splits(molecules, "scaffold", folds=3, seed=6).folds == splits.folds
    assert splits.notes == ()


def test_one_split_of_scaffolds_is_80_10_10_with_small_groups_in_the_test(molecules):
    (fold,) = choose_splits(molecules, "scaffold", folds=1).folds
    assert whole(choose_splits(molecules, "scaffold", folds=1), GROUPS)
    # 9.6 graphs train at most: 4 + 3 + 2; up to 10.8 validate: the single one; the rest tests.
    assert [len(part) for part in parts_of(fold)] == [9, 1, 2]
    assert fold.validation == (7,)
    assert fold.test == (3, 8)


def test_groups_of_many_sizes_are_balanced():
    sizes = [40, 30, 9, 8, 7, 6, *[2] * 30, *[1] * 40]
    groups = [name for name, size in enumerate(sizes) for _ in range(size)]
    data = dataset(len(groups) // 2, len(groups) - len(groups) // 2)
    splits = group_splits(data, groups, folds=5, repeats=3)
    assert whole(splits, groups)
    assert [len(fold.test) for fold in splits.folds[:5]] == [40, 40, 40, 40, 40]
    for fold in splits.folds:
        assert len(fold.validation) == 16  # a tenth of 160
    # later repeats exchange groups of the same size
    assert len({fold.test for fold in splits.folds}) > 10
    assert not splits.repeat_themselves
    assert splits.folds == group_splits(data, groups, folds=5, repeats=3).folds


def test_repeats_of_groups_that_cannot_be_exchanged_share_their_folds():
    groups = [name for name, size in enumerate([7, 6, 5, 4]) for _ in range(size)]
    splits = group_splits(dataset(11, 11), groups, folds=2, repeats=2)
    assert splits.repeat_themselves


@pytest.mark.parametrize("sizes", [[10, 1, 1], [4, 4, 4], [1, 1, 10]])
def test_no_part_of_a_single_split_is_empty(sizes):
    groups = [name for name, size in enumerate(sizes) for _ in range(size)]
    assert whole(group_splits(dataset(6, 6), groups, folds=1), groups)


def test_too_few_groups():
    data = dataset(6, 6)
    with pytest.raises(InputError, match=r"has 2 groups; with 2 folds at least 3 are needed"):
        group_splits(data, [0, 1] * 6, folds=2)
    with pytest.raises(InputError, match=r"has 1 group; with 1 fold at least 3 are needed"):
        group_splits(data, [0] * 12, folds=1)


def test_a_column_of_groups():
    groups = ["a", "b", "c", "d", "e", "f"] * 3
    data = with_rows(dataset(9, 9), columns={"lab": groups})
    assert whole(choose_splits(data, "group:lab", folds=3), groups)
    empty = with_rows(dataset(9, 9), columns={"lab": ["", *groups[1:]]})
    with pytest.raises(InputError, match="1 of the 18 graphs have no group in the column 'lab': 0"):
        choose_splits(empty, "group:lab", folds=3)
    with pytest.raises(InputError, match=r"loaded without a column 'team'.*columns=\['team'\]"):
        choose_splits(data, "group:team", folds=3)


def test_a_column_with_the_parts_as_chemprop_writes_them():
    names = ["train", "train", "val", "test", "Train", "train", " valid", "validation", "", "test"]
    splits = column_splits(with_rows(dataset(5, 5), columns={"split": names}), "split", repeats=3)
    assert splits.are_one
    assert parts_of(splits.folds[0]) == [(0, 1, 4, 5), (2, 6, 7), (3, 9)]
    assert [fold.repeat for fold in splits.folds] == [0, 1, 2]
    assert splits.notes == ("1 of 10 graphs are not used: they have no part in 'split'.",)


def test_a_column_without_validation():
    data = with_rows(dataset(20, 20), columns={"split": ["train"] * 30 + ["test"] * 10})
    splits = column_splits(data, "split")
    assert len(splits.folds[0].validation) == 3
    assert "has no validation graphs" in splits.notes[0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train", "0", "test", "test"], r"'0' in the column 'split' \(graph 1\) is not a part"),
        (["train"] * 4, "No graph is in the part 'test'"),
        (["test"] * 4, "No graph is in the part 'train'"),
    ],
)
def test_columns_that_are_no_split(names, message):
    with pytest.raises(InputError, match=message):
        column_splits(with_rows(dataset(2, 2), columns={"split": names}), "split")


def test_scaffolds_need_smiles():
    with pytest.raises(InputError, match="tiny has no SMILES"):
        choose_splits(dataset(9, 9), "scaffold")
