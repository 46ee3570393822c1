from dataclasses import replace

import pytest

from ifmixup.errors import InputError
from ifmixup.training import RunSpec, Settings
from ifmixup.training.run_spec import digest

SPEC = RunSpec("MUTAG", "abc", Settings(method="ifmixup"), "holdout", 0, 3, "def", 7)


def test_the_key_is_the_content():
    again = RunSpec.of(SPEC.to_dict())
    assert again == SPEC
    assert again.key == SPEC.key
    # a setting that ifmixup does not have changes nothing
    assert replace(SPEC, settings=Settings(method="ifmixup", drop_ratio=0.4)).key == SPEC.key


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "other"},
        {"data": "other"},
        {"protocol": "paper"},
        {"repeat": 1},
        {"fold": 4},
        {"split": "other"},
        {"seed": 8},
        {"settings": Settings(method="ifmixup", alpha=1.0)},
    ],
)
def test_everything_counts(changes):
    assert replace(SPEC, **changes).key != SPEC.key


def test_the_key_does_not_change_from_version_to_version():
    assert digest({"b": 1.5, "a": [1, None, "ü"]}) == "78c2ae43f2e371b1327bd727"


def test_draws_depend_on_the_fold_and_not_on_the_method():
    other = replace(SPEC, settings=Settings(model="gin"), protocol="paper")
    assert other.own_seed == SPEC.own_seed
    assert replace(SPEC, fold=4).own_seed != SPEC.own_seed
    assert replace(SPEC, repeat=1).own_seed != SPEC.own_seed
    assert replace(SPEC, seed=8).own_seed != SPEC.own_seed
    assert 0 <= SPEC.own_seed < 2**62


def test_protocols():
    with pytest.raises(InputError, match=r"Unknown protocol 'hold-out'. Did you mean 'holdout'"):
        replace(SPEC, protocol="hold-out")
