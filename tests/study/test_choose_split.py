import json
from dataclasses import replace

import pytest
import torch

from ifmixup.errors import InputError
from ifmixup.study.choose_split import choose_splits, columns_of
from ifmixup.study.splits import make_splits, own_splits
from packed_graphs import dataset

OWN = {"train": torch.arange(14), "validation": torch.tensor([14]), "test": torch.arange(15, 20)}


def test_random_folds_unless_the_dataset_has_a_split_of_its_own():
    data = dataset(10, 10)
    assert choose_splits(data, folds=5, repeats=2, seed=3).folds == (
        make_splits(data, folds=5, repeats=2, seed=3).folds
    )
    own = replace(data, split=OWN)
    assert choose_splits(own, repeats=2).folds == own_splits(own, repeats=2).folds
    assert choose_splits(own, "random", folds=5).folds == make_splits(data, folds=5).folds


def test_files_mappings_lists_and_splits(tmp_path):
    data = dataset(10, 10)
    one = {"train": list(range(14)), "val": [14], "test": list(range(15, 20))}
    path = tmp_path / "s.json"
    path.write_text(json.dumps(one))
    expected = choose_splits(data, one).folds
    for split in (path, str(path), [one], choose_splits(data, one)):
        assert choose_splits(data, split).folds == expected


def test_the_columns_that_a_split_needs():
    assert columns_of("group:Murcko scaffold") == ("Murcko scaffold",)
    assert columns_of("column:split") == ("split",)
    for split in (None, "random", "scaffold", "C:\\splits.json", {"train": []}):
        assert columns_of(split) == ()
    with pytest.raises(InputError, match="column: needs the name of a column"):
        columns_of("column:")


def test_names_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"no split 'scafold', .* Did you mean 'scaffold'\?"):
        choose_splits(dataset(10, 10), "scafold")
    with pytest.raises(InputError, match=r"no split 'mine.json', and no file of that name. Use"):
        choose_splits(dataset(10, 10), "mine.json")
    with pytest.raises(InputError, match="cannot be read"):
        choose_splits(dataset(10, 10), tmp_path)
