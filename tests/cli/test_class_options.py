from collections.abc import Sequence
from typing import Literal

import pytest
from torch import nn

from ifmixup.cli.class_options import _row, options_help, split_options
from ifmixup.components import METHODS, MODELS, resolve_all
from ifmixup.errors import InputError


class Net(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        widths: Sequence[int] = (8, 8),
        bias: bool = True,
        act: Literal["relu", "tanh"] = "relu",
        scale: float = 1.0,
        limit: int | None = 3,
        anything=None,
        size: int | tuple[int, ...] = 2,
    ):
        super().__init__()


class Open(nn.Module):
    def __init__(self, in_channels, out_channels, **options):
        super().__init__()


def split(*words: str, models=("gin", Net), methods=("none", "ifmixup"), others=()) -> dict:
    chosen = [*resolve_all("model", models), *resolve_all("method", methods)]
    return split_options(words, chosen, others)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["--num-layers", "3"], {"num_layers": 3}),
        (["--num_layers=3"], {"num_layers": 3}),
        (["--alpha", "1", "--beta=2"], {"alpha": 1.0, "beta": 2.0}),
        (["--no-bias"], {"bias": False}),
        (["--bias"], {"bias": True}),
        (["--bias", "false"], {"bias": False}),
        (["--widths", "16", "32"], {"widths": (16, 32)}),
        (["--widths", "16"], {"widths": (16,)}),
        (["--widths=[16,32]"], {"widths": (16, 32)}),
        (["--act", "tanh", "--scale", "-0.5"], {"act": "tanh", "scale": -0.5}),
        (["--limit", "none"], {"limit": None}),
        (["--anything", "1", "x"], {"anything": (1, "x")}),
        (["--size", "3"], {"size": 3}),
        (["--size", "3", "4"], {"size": (3, 4)}),
    ],
)
def test_values(words, expected):
    found = split(*words)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(v) for v in expected.values()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--num-layer", "3"], r"Unknown option --num-layer\. Did you mean --num-layers\?"),
        (["--epoch", "3"], r"Did you mean --epochs\?"),
        (["--fold", "3"], r"Did you mean --folds\?"),
        (["--num-layers"], "--num-layers needs a value: --num-layers INT"),
        (["--act"], r"needs a value: --act \{relu,tanh\}"),
        (["--num-layers", "3", "--num_layers", "4"], "--num-layers was given twice"),
        (["--bias", "--no-bias"], "--bias was given twice"),
        (["--num-layers", "3", "MUTAG"], "takes one value; got 3 MUTAG. Put the SOURCE before"),
        (["--no-num-layers"], "--num-layers is not a yes-or-no option"),
        (["--no-bias", "3"], "--no-bias takes no value; got '3'"),
        (["--num-layers", "x"], "num_layers of gin must be int; got 'x'"),
        (["--act", "elu"], "act of Net must be 'relu' or 'tanh'; got 'elu'"),
        (["extra"], "Unexpected argument 'extra'"),
        (["-x", "3"], "Unknown option -x"),
        (["--drop-ratio", "0.3"], "is an option of drop_edge and drop_node, but gin, Net, "),
    ],
)
def test_what_does_not_fit(words, message):
    with pytest.raises(InputError, match=message):
        split(*words, others=["folds", "seed"])


def test_an_option_that_a_variant_sets():
    variants = ["gin", "gin3=gin(num_layers=3)"]
    assert split("--dropout", "0", models=variants) == {"dropout": 0.0}
    assert split("--num-layers", "4", models=variants) == {"num_layers": 4}  # of gin alone
    with pytest.raises(InputError, match="The variant 'gin3' sets num_layers itself"):
        split("--num-layers", "4", models=variants[1:])


def test_a_class_that_takes_anything():
    assert split("--what", "3", "--flag", "true", models=[Open]) == {"what": 3, "flag": True}
    with pytest.raises(InputError, match="--what needs a value"):
        split("--what", models=[Open])


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_help_has_the_options_of_every_class(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = options_help()
    words = " ".join(text.split())
    assert "--num-layers INT Number of layers (default: 5)." in words
    assert "--heads INT Number of attention heads (default: 1) [gat, gatv2]." in words
    assert "(default: 20.0) [ifmixup, mixup_graph]." in words
    assert "'gin3=gin(num_layers=3)'" in words
    assert "None" not in text
    assert max(map(len, text.splitlines())) <= columns


def test_every_option_is_described():
    for registry in (METHODS, MODELS):
        for name in registry.names():
            cls = registry.get(name)
            for option in registry.options(cls).values():
                text = _row(option, cls)[1]
                assert text[:1].isalpha(), f"{option.name} is not described by {name}"
