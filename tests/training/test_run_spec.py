import json
from dataclasses import replace

import pytest

from ifmixup.components import resolve, with_options
from ifmixup.errors import InputError
from ifmixup.training.run_spec import Fold, RunSpec, digest, digest_of_lists, specs_on
from ifmixup.training.settings import Settings
from stored_runs import spec

GIN, MIXUP = resolve("model", "gin").spec, resolve("method", "ifmixup").spec
SPEC = RunSpec("MUTAG", "abc", "def", 7, 0, 3, Settings(), GIN, MIXUP)


def test_the_key_is_the_content():
    again = RunSpec.of(SPEC.to_dict())
    assert again == SPEC
    assert again.key == SPEC.key


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "other"},
        {"split": "other"},
        {"seed": 8},
        {"repeat": 1},
        {"fold": 4},
        {"settings": Settings(epochs=3)},
        {"model": resolve("model", "gcn").spec},  # with the same options, but another class
        {"model": with_options("gin", num_layers=3).spec},
        {"model": replace(GIN, source="digest")},
        {"method": with_options("ifmixup", alpha=1.0).spec},
        {"method": resolve("method", "none").spec},
        {"method": replace(MIXUP, source="digest")},
    ],
    ids=str,
)
def test_all_that_the_numbers_depend_on_counts(changes):
    assert replace(SPEC, **changes).key != SPEC.key


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "another name"},
        {"model": replace(GIN, name="mine")},
        {"method": with_options("ifmixup", name="wide").spec},
        {"model": replace(GIN, target="/home/me/nets.py:GIN")},
        {"method": replace(MIXUP, options=(*MIXUP.options, ("new", None)))},
    ],
    ids=str,
)
def test_names_paths_and_options_that_are_off_do_not_count(changes):
    assert replace(SPEC, **changes).key == SPEC.key


def test_the_key_does_not_change_from_version_to_version():
    assert digest({"b": 1.5, "a": [1, None, "ü"]}) == "78c2ae43f2e371b1327bd727"


def test_draws_depend_on_the_fold_and_not_on_model_method_or_settings():
    other = replace(SPEC, settings=Settings(epochs=1), model=resolve("model", "gat").spec)
    other = replace(other, method=resolve("method", "none").spec, split="other")
    assert other.run_seed == SPEC.run_seed
    assert replace(SPEC, fold=4).run_seed != SPEC.run_seed
    assert replace(SPEC, repeat=1).run_seed != SPEC.run_seed
    assert replace(SPEC, seed=8).run_seed != SPEC.run_seed
    assert 0 <= SPEC.run_seed < 2**62


def test_a_fold_is_the_same_in_any_order():
    fold = Fold(0, 1, (3, 0), (2,), (1,))
    assert fold == Fold(0, 1, (0, 3), (2,), (1,))
    assert fold.train == (0, 3)
    assert fold.indices("train").tolist() == [0, 3]
    assert fold.indices("validation").tolist() == [2]
    assert fold.fingerprint == digest([[0, 3], [2], [1]])
    assert Fold.of(fold.to_dict()) == fold


@pytest.mark.parametrize("count", [0, 1, 5, 65_536, 70_000])
def test_a_fold_is_hashed_in_parts(count):
    lists = [list(range(count)), [], [7]]
    assert digest_of_lists(lists) == digest(lists)


def test_without_validation_its_graphs_are_trained_on():
    fold = Fold(2, 1, (3, 0), (2,), (1,))
    assert fold.without_validation == Fold(2, 1, (0, 2, 3), (), (1,))
    assert fold.without_validation.fingerprint != fold.fingerprint
    # which graphs would have validated makes no difference any more: the runs are the same
    other = Fold(2, 1, (2, 3), (0,), (1,))
    assert other.without_validation.fingerprint == fold.without_validation.fingerprint
    assert fold.without_validation.indices("validation").numel() == 0


def test_a_spec_from_its_stored_json_is_the_spec():
    run = spec(3, dataset='a,"settings":{', model="gin", method="ifmixup", num_layers=3)
    text = json.dumps(run.to_dict(), separators=(",", ":"))
    assert RunSpec.of_json(text) == run
    assert RunSpec.of_json(text).key == run.key  # which is made of parts that runs share
    assert RunSpec.of_json(json.dumps(run.to_dict())) == run  # with spaces, as others write it
    for wrong in (text[:-1], text.replace('"seed"', '"sead"'), "[1]", '{"settings":1}'):
        with pytest.raises((ValueError, InputError)):
            RunSpec.of_json(wrong)


def test_keys_are_those_of_the_runs_that_are_stored():
    assert spec(1).key == "38286445430bd64ace4ec2ee"
    assert (
        spec(0, model="gin", method="ifmixup", repeat=2, num_layers=3).key
        == "dc8152b7e8c43c0dfe697328"
    )
    many = specs_on(
        [(0, 1, "s" * 24)],
        **{name: getattr(spec(1), name) for name in ("settings", "model", "method")},
        dataset="MUTAG",
        data="d" * 24,
        seed=0,
    )
    assert [each.key for each in many] == [spec(1).key]
