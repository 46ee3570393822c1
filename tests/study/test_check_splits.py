import copy
from types import SimpleNamespace

import pytest

from ifmixup.errors import InputError
from ifmixup.study.check_splits import check_splits


class SixGraphs(SimpleNamespace):
    def __len__(self):
        return 6


DATA = SixGraphs(name="tiny", fingerprint="abc")
GOOD = {
    "dataset": "tiny",
    "data": "abc",
    "seed": 0,
    "folds": [
        {"repeat": 0, "fold": 0, "train": [2, 3, 4], "validation": [5], "test": [0, 1]},
        {"repeat": 0, "fold": 1, "train": [0, 1, 4], "validation": [5], "test": [2, 3]},
        {"repeat": 1, "fold": 0, "train": [2, 3, 4], "validation": [5], "test": [0, 1]},
    ],
}


def changed(place, **changes):
    values = copy.deepcopy(GOOD)
    target = values if place is None else values["folds"][place]
    target.update(changes)
    return values


def test_good_splits_pass():
    check_splits(GOOD, DATA, "s.json")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "s.json is no splits file: it must hold an object with dataset, data, seed, folds"),
        ({}, "'dataset' must be there and be a str"),
        (changed(None, seed="0"), "'seed' must be there and be a int"),
        (changed(None, folds={}), "'folds' must be there and be a list"),
        (changed(None, folds=[]), "has no folds"),
        (changed(None, folds=[3]), "entry 0 of 'folds' must be an object"),
        (changed(None, data="xyz"), "was made for other graphs: 'tiny' with fingerprint 'xyz'"),
        (changed(1, fold=-1), "entry 1 of 'folds': 'fold' must be a number from 0; got -1"),
        (changed(1, repeat=True), "entry 1 of 'folds': 'repeat' must be a number .* got True"),
        (changed(1, fold=0), "repeat 0, fold 0 is there twice"),
        (changed(1, test=[]), "repeat 0, fold 1: 'test' must be a list of at least one graph"),
        (changed(1, validation=None), "repeat 0, fold 1: 'validation' must be a list"),
        (changed(1, train=[0, 6]), "repeat 0, fold 1: 6 in 'train' is no graph .* 0 to 5"),
        (changed(1, train=[-1]), "repeat 0, fold 1: -1 in 'train' is no graph"),
        (changed(1, train=[1.0]), "repeat 0, fold 1: 1.0 in 'train' is no graph"),
        (changed(1, train=[2]), "repeat 0, fold 1: graph 2 is in 'train' and in 'test'"),
        (changed(1, train=[5]), "repeat 0, fold 1: graph 5 is in 'train' and in 'validation'"),
        (changed(1, train=[4, 4]), "repeat 0, fold 1: graph 4 is in 'train' and in 'train'"),
        (
            changed(1, train=[2], test=[3, 0]),
            "repeat 0, fold 1: test graph 0 is a test graph of fold 0",
        ),
    ],
)
def test_bad_splits_are_named(values, message):
    with pytest.raises(InputError, match=message):
        check_splits(values, DATA, "s.json")
