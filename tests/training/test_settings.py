import subprocess
import sys

import numpy as np
import pytest

from ifmixup.errors import InputError
from ifmixup.training.settings import Settings, setting_types


def test_the_defaults_are_the_papers_and_torchs():
    settings = Settings()
    assert (settings.epochs, settings.learning_rate, settings.halve_every) == (350, 0.01, 50)
    assert settings.weight_decay == 0.01
    assert settings.use_edge_attr is None


def test_a_mapping_and_back():
    settings = Settings(epochs=3, steps_per_epoch=50, label_smoothing=0.1, recompute_bn=True)
    assert Settings.of(settings.to_dict()) == settings
    assert list(settings.to_dict()) == list(setting_types())
    assert Settings.of({"epochs": 3}) == Settings(epochs=3)
    assert settings.with_(epochs=4) == Settings.of({**settings.to_dict(), "epochs": 4})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train_share": 0.0}, "train_share must be above 0 and at most 1; got 0.0"),
        ({"label_noise": 1.0}, "label_noise must be at least 0 and below 1; got 1.0"),
        ({"learning_rat": 1.0}, r"Unknown setting 'learning_rat'. Did you mean 'learning_rate'"),
        ({"num_layers": 3}, "Unknown setting 'num_layers'"),  # an option of a model
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"batch_size": -1}, "batch_size must be at least 1; got -1"),
        ({"halve_every": 0}, "halve_every must be at least 1"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be float; got nan"),
        ({"learning_rate": float("inf")}, "learning_rate must be float; got inf"),
        ({"weight_decay": -1.0}, "weight_decay at least 0"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1; got 1.0"),
        ({"label_smoothing": -0.1}, "label_smoothing must be at least 0"),
    ],
)
def test_what_makes_no_sense(values, message):
    with pytest.raises(InputError, match=message):
        Settings.of(values)


def test_the_same_value_is_the_same_setting():
    assert Settings(learning_rate=1).to_dict() == Settings(learning_rate=1.0).to_dict()
    assert type(Settings(learning_rate=1).learning_rate) is float
    assert type(Settings(epochs=np.int64(2)).epochs) is int
    assert type(Settings(weight_decay=np.float32(0.5)).weight_decay) is float


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 2.5}, "epochs must be int; got 2.5"),
        ({"epochs": True}, "epochs must be int; got True"),
        ({"batch_size": "8"}, "batch_size must be int; got '8'"),
        ({"steps_per_epoch": 1.5}, "steps_per_epoch must be int or None; got 1.5"),
        ({"recompute_bn": 1}, "recompute_bn must be bool; got 1"),
        ({"use_edge_attr": "yes"}, "use_edge_attr must be bool or None; got 'yes'"),
        ({"learning_rate": "much"}, "learning_rate must be float; got 'much'"),
    ],
)
def test_types(values, message):
    with pytest.raises(InputError, match=message):
        Settings(**values)


def test_settings_need_no_torch():
    script = "import ifmixup.training.settings, sys; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout == "False\n", found.stderr
