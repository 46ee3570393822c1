import numpy as np
import pytest
import torch

from ifmixup import augment
from ifmixup.errors import InputError
from ifmixup.training import Settings


def test_only_what_makes_a_difference_is_relevant():
    none = Settings().relevant()
    assert not {"alpha", "heads", "drop_ratio", "use_edge_attr", "pairing"} & none.keys()
    mixed = Settings(method="ifmixup", model="gat").relevant()
    assert mixed.keys() - none.keys() == {
        "alpha", "beta", "p", "ratio", "pairing", "shuffle_every", "heads",
    }  # fmt: skip
    assert Settings(method="drop_edge").relevant()["drop_ratio"] == 0.2
    assert Settings(alpha=1.0).relevant() == Settings().relevant()


def test_settings_come_back_from_what_is_relevant():
    settings = Settings(method="mixup_graph", model="gin", alpha=2.0, use_edge_attr=True)
    assert Settings.of(settings.relevant()) == settings


@pytest.mark.parametrize("method", augment.names())
def test_method_options_fit_the_method(method):
    augment.create(method, 2, **Settings(method=method).method_options())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "gatv3"}, r"Unknown model 'gatv3'. Did you mean 'gatv2'"),
        ({"method": "ifmixpu"}, r"Unknown method 'ifmixpu'. Did you mean 'ifmixup'"),
        ({"learning_rat": 1.0}, r"Unknown setting 'learning_rat'. Did you mean 'learning_rate'"),
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay at least 0"),
        ({"dropout": 1.5}, "dropout is 1.5"),
        ({"readout": "meen"}, r"Unknown readout 'meen'. Did you mean 'mean'"),
        ({"method": "ifmixup", "pairing": "selves"}, "Unknown pairing 'selves'"),
        ({"method": "drop_node", "drop_ratio": 2.0}, "drop_ratio must be in"),
        ({"model": "gat", "hidden": 7, "heads": 2}, "heads that divide hidden_channels"),
    ],
)
def test_what_makes_no_sense(values, message):
    with pytest.raises(InputError, match=message):
        Settings.of(values)


def test_making_settings_draws_nothing():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    Settings(model="gin", hidden=1_000_000)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_same_value_is_the_same_setting():
    assert Settings(dropout=0).relevant() == Settings(dropout=0.0).relevant()
    assert type(Settings(dropout=0).dropout) is float
    assert type(Settings(epochs=np.int64(2)).epochs) is int


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 2.5}, "epochs must be int; got 2.5"),
        ({"epochs": True}, "epochs must be int; got True"),
        ({"hidden": "8"}, "hidden must be int; got '8'"),
        ({"steps_per_epoch": 1.5}, "steps_per_epoch must be int or None; got 1.5"),
    ],
)
def test_types(values, message):
    with pytest.raises(InputError, match=message):
        Settings(**values)


@pytest.mark.parametrize("model", ["gcn", "gat", "gatv2"])
def test_a_model_that_reads_no_edge_attributes(model):
    with pytest.raises(InputError, match=f"{model}' does not read edge attributes.*gin does"):
        Settings(model=model, use_edge_attr=True)
    assert Settings(model="gin", use_edge_attr=True).relevant()["use_edge_attr"] is True
